"""An answer or a rejection killed at every point: it reaches the agent, and it reaches it once."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from bot.database import Database
from makers.crash import PROJECT, CrashWorld, crash_points
from makers.house import furnish
from makers.world import model_section, model_server
from triggers.tables import Cause

pytestmark = pytest.mark.crash

CARRIED_OUT = crash_points(("cause.", "run.", "turn."))
ASK = {"calls": [{"name": "ask_user", "arguments": {"question": "Tea or coffee?"}}]}
SEND = {
    "calls": [
        {
            "name": "mail_send",
            "arguments": {"to": ["ada@x.example"], "subject": "Hello", "body": "Dear Ada."},
        }
    ]
}
DONE = {"text": "Very well.", "times": "forever"}
Make = Callable[[list[Any]], CrashWorld]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with ExitStack() as stack:

        def build(turns: list[Any]) -> CrashWorld:
            server = stack.enter_context(model_server(turns))
            home = tmp_path / "home"
            furnish(home)
            (home / "Mail" / "cur").mkdir(parents=True)
            (home / "config.toml").write_text(
                model_section(server.base_url)
                + '[outbox]\nscripts = true\n[mail.accounts.post]\nkind = "maildir"\n'
                f'address = "robin@ashford.example"\npath = "{home}/Mail"\n'
                'smtp = { host = "127.0.0.1", port = 9, tls = "none" }\n'
            )
            return CrashWorld(home=home, log=tmp_path / "points.log")

        yield build


def events(world: CrashWorld, session: str) -> list[dict[str, Any]]:
    return list(world.steward("sessions", "show", session, "--json").json["events"])


def up_until_idle(world: CrashWorld, die_at: str = "-") -> int:
    """`steward up` until it has carried something out (or died); gives its exit code."""
    with subprocess.Popen(
        [sys.executable, "-m", "makers.crash_child", die_at, str(world.log), "up"],
        env={
            **os.environ,
            "STEWARD_HOME": str(world.home),
            "PYTHONPATH": str(PROJECT / "tests"),
        },
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if line.rstrip().endswith(("answered", "interrupted; nothing reran")):
                child.send_signal(signal.SIGTERM)
        return child.wait(30)


@pytest.mark.parametrize("point", ["answer.stored", *CARRIED_OUT])
def test_an_answer_killed_there_is_kept_and_told_once(point: str, make: Make) -> None:
    """Q3, Q9"""
    world = make([ASK, DONE])
    session = world.steward("run", "Serve", "--json").json["session"]
    (question,) = world.steward("questions", "list", "--json").json
    killed = world.steward("questions", "answer", question["id"], "coffee", die_at=point)
    assert killed.was_killed, f"{point} was not reached: {killed.err}"
    late = world.steward("questions", "answer", question["id"], "tea")
    assert "was already answered by owner" in late.err
    resumed = world.steward("run", "And now?", "--resume", session, "--json")
    assert resumed.json["answer"] == "Very well.", resumed.err
    told = [e for e in events(world, session) if e["kind"] == "result"]
    assert [each["text"] for each in told] == ["coffee"]


def make_due(world: CrashWorld) -> None:
    database = Database(world.home / "steward.db")
    with database.effect() as session:
        session.execute(update(Cause).values(not_before=datetime(2026, 1, 1, tzinfo=UTC)))
    database.close()


@pytest.mark.parametrize("point", ["rejection.stored", *CARRIED_OUT])
def test_a_rejection_killed_there_reaches_its_agent_once(point: str, make: Make) -> None:
    """O12"""
    world = make([SEND, DONE])
    report = world.steward("run", "Write", "--json").json
    reject = ("outbox", "reject", *report["staged"], "--reason", "REASON-ONE")
    if point == "rejection.stored":
        assert world.steward(*reject, die_at=point).was_killed
    else:
        assert world.steward(*reject).code == 0
        make_due(world)
        assert up_until_idle(world, die_at=point) == -signal.SIGKILL
    world.steward("run", "And now?", "--resume", report["session"])
    told = [
        each["text"]
        for each in events(world, report["session"])
        if each["kind"] == "prompt" and "REASON-ONE" in each["text"]
    ]
    assert len(told) == 1


def test_a_rejection_after_a_run_that_died_is_told_as_well(make: Make) -> None:
    """O12: it is not added to words that the dead run may have told already."""
    again = {"calls": [{**SEND["calls"][0], "arguments": {**SEND["calls"][0]["arguments"]}}]}  # type: ignore[dict-item]
    again["calls"][0]["arguments"]["subject"] = "Again"
    world = make([{"calls": [*SEND["calls"], *again["calls"]]}, DONE])
    report = world.steward("run", "Write", "--json").json
    first, second = report["staged"]
    world.steward("outbox", "reject", first, "--reason", "REASON-ONE")
    make_due(world)
    assert up_until_idle(world, die_at="run.begun") == -signal.SIGKILL
    assert world.steward("outbox", "reject", second, "--reason", "REASON-TWO").code == 0
    world.steward("run", "And now?", "--resume", report["session"])
    said = "\n".join(
        each["text"] for each in events(world, report["session"]) if each["kind"] == "prompt"
    )
    assert (said.count("REASON-ONE"), said.count("REASON-TWO")) == (1, 1)
