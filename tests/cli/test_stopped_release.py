"""Ctrl-C while a draft goes out: the owner hears what became of it."""

import os
import time
from pathlib import Path

import pytest

from makers.mail import FakeSmtp, smtp_process
from makers.terminal import PATIENCE_SECONDS, Terminal
from makers.world import World, mail_section, model_section, model_server

SEND = {
    "calls": [
        {
            "name": "mail_send",
            "arguments": {"to": ["ada@x.example"], "subject": "Lunch", "body": "Dear Ada."},
        }
    ]
}


def reached(server: FakeSmtp, event: str) -> None:
    """The mail server has come that far."""
    until = time.monotonic() + PATIENCE_SECONDS
    while event not in (each["event"] for each in server.events()):
        assert time.monotonic() < until, f"never {event}"
        os.sched_yield()


@pytest.mark.parametrize(
    ("fault", "event", "said", "status"),
    [
        ("silent-rcpt", "silent", "was not sent, and waits", "pending"),
        ("silent-after-dot", "accepted", "may or may not have gone out", "uncertain"),
    ],
    ids=["before the point of no return", "after it"],
)
def test_a_stopped_release_says_what_became_of_the_draft(
    world: World, tmp_path: Path, fault: str, event: str, said: str, status: str
) -> None:
    """O7, O8"""
    with (
        smtp_process(tmp_path / "smtp", fault) as server,
        model_server([SEND, {"text": "A draft waits."}]) as model,
    ):
        smtp = f'{{ host = "127.0.0.1", port = {server.port}, tls = "none" }}'
        world.configure(model_section(model.base_url), mail_section(world, smtp))
        (draft_id,) = world.steward("run", "Write to ada@x.example", "--json").json["staged"]
        environ = {**os.environ, "STEWARD_HOME": str(world.home)}
        words = ("outbox", "approve", draft_id, "--yes")
        with Terminal(*words, environ=environ, cwd=tmp_path) as terminal:
            reached(server, event)
            terminal.interrupt()
            assert terminal.end() == 130
        assert f"stopped; draft {draft_id} {said}" in terminal.seen
        (row,) = world.steward("outbox", "list", "--json").json
        assert row["status"] == status
