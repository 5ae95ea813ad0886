"""`[outbox] direct` with a real mail server: a person's yes in the run is the release."""

import os
from pathlib import Path

from makers.mail import smtp_process
from makers.terminal import Terminal
from makers.world import World, mail_section, model_section, model_server

SEND = {
    "calls": [
        {
            "name": "mail_send",
            "arguments": {"to": ["ada@x.example"], "subject": "Lunch", "body": "Dear Ada."},
        }
    ]
}


def test_the_yes_of_the_person_at_the_terminal_is_the_release(world: World, tmp_path: Path) -> None:
    """O8: there is a draft and an attempt, a copy in Sent, and the session is told once."""
    with (
        smtp_process(tmp_path / "smtp") as server,
        model_server([SEND, {"text": "It went."}]) as model,
    ):
        smtp = f'{{ host = "127.0.0.1", port = {server.port}, tls = "none" }}'
        world.configure(
            model_section(model.base_url),
            mail_section(world, smtp),
            '[outbox]\ndirect = ["mail_send"]\n',
        )
        environ = {**os.environ, "STEWARD_HOME": str(world.home)}
        with Terminal("run", "Write a line", environ=environ, cwd=tmp_path) as terminal:
            terminal.answer([("Run mail_send?", "y")])
            assert terminal.end() == 0
        assert [mail["to"] for mail in server.accepted()] == [["ada@x.example"]]
    (row,) = world.steward("outbox", "list", "--json").json
    assert (row["status"], row["decided_by"]) == ("sent", "owner")
    shown = world.steward("outbox", "show", row["id"], "--json").json
    assert [attempt["outcome"] for attempt in shown["attempts"]] == ["sent"]
    assert list((world.sent / "cur").iterdir())
    (session,) = world.steward("sessions", "list", "--json").json
    events = world.steward("sessions", "show", session["id"], "--json").json["events"]
    kinds = [event["kind"] for event in events]
    assert "note" not in kinds
    (result,) = [event for event in events if event["kind"] == "result"]
    assert f"draft {row['id']} was sent" in result["text"]


def test_a_file_that_nobody_has_read_is_not_sent_by_that_yes(world: World, tmp_path: Path) -> None:
    """O11: the call names the file, and the person at the terminal saw only its name."""
    arguments = {**SEND["calls"][0]["arguments"], "attachments": ["found.bin"]}  # type: ignore[dict-item]
    turn = {"calls": [{"name": "mail_send", "arguments": arguments}]}
    with (
        smtp_process(tmp_path / "smtp") as server,
        model_server([turn, {"text": "It waits."}]) as model,
    ):
        smtp = f'{{ host = "127.0.0.1", port = {server.port}, tls = "none" }}'
        world.configure(
            model_section(model.base_url),
            mail_section(world, smtp),
            '[outbox]\ndirect = ["mail_send"]\n',
        )
        world.work.mkdir(parents=True, exist_ok=True)
        (world.work / "found.bin").write_bytes(b"\x00\x01\x02")
        environ = {**os.environ, "STEWARD_HOME": str(world.home)}
        with Terminal("run", "Write to ada@x.example", environ=environ, cwd=tmp_path) as terminal:
            terminal.answer([("Run mail_send?", "y")])
            assert terminal.end() == 0
        assert server.accepted() == []
    (row,) = world.steward("outbox", "list", "--json").json
    assert row["status"] == "pending"
    assert "opaque" in {mark["code"] for mark in row["marks"]}
