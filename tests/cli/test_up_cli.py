"""`steward up`: what waits and names no process is carried out, and SIGTERM drains."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from bot.database import Database
from makers.world import World
from triggers.tables import Cause, CauseKind

Scripted = Callable[..., World]
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
SEND = {
    "name": "mail_send",
    "arguments": {"to": ["ada@x.example"], "subject": "Lunch", "body": "Dear Ada."},
}


def make_due(world: World) -> None:
    """The half minute in which rejections are gathered has passed."""
    database = Database(world.home / "steward.db")
    with database.effect() as session:
        waiting = update(Cause).where(Cause.kind == CauseKind.DECISION)  # type: ignore[arg-type]
        session.execute(waiting.values(not_before=LONG_AGO))
    database.close()


@pytest.fixture
def up(world: World) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Start `steward up` in a child; it is gone when the test ends."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        started.append(world.child("up"))
        return started[-1]

    yield start
    for child in started:
        child.kill()
        child.communicate()


def lines_until(child: subprocess.Popen[str], word: str) -> str:
    """What it said until a line with the word, the line included."""
    assert child.stderr is not None
    said = []
    for line in child.stderr:
        said.append(line)
        if word in line:
            return "".join(said)
    raise AssertionError("".join(said))


def test_a_rejection_starts_one_unattended_run_that_hears_the_reason(
    scripted: Scripted, up: Callable[[], subprocess.Popen[str]]
) -> None:
    """O12: several rejections within half a minute are one run."""
    world = scripted(
        [
            {"calls": [SEND, {**SEND, "arguments": {**SEND["arguments"], "subject": "2"}}]},  # type: ignore[dict-item]
            {"text": "Two drafts wait."},
            {"text": "Then I shall not write."},
        ]
    )
    report = world.steward("run", "Write to ada@x.example twice", "--json").json
    world.steward("outbox", "reject", *report["staged"], "--reason", "Ada is on leave")
    make_due(world)
    child = up()
    lines_until(child, "answered")
    child.send_signal(signal.SIGTERM)
    assert child.wait(20) == 0
    shown = world.steward("sessions", "show", report["session"], "--json").json
    prompts = [event for event in shown["events"] if event["kind"] == "prompt"]
    assert len(prompts) == 2
    assert prompts[1]["text"].count("Ada is on leave") == 2
    assert "Nobody is present now" in prompts[1]["text"]
    assert {"origin": "verdict", "text": "Ada is on leave", "source": ""} in prompts[1]["spans"]


def due_rejection(scripted: Scripted, answer: dict[str, Any]) -> tuple[World, str]:
    """A world whose next unattended run hears a rejection and is answered so; and its session."""
    world = scripted([{"calls": [SEND]}, {"text": "A draft waits."}, answer])
    report = world.steward("run", "Write to ada@x.example", "--json").json
    world.steward("outbox", "reject", *report["staged"], "--reason", "no")
    make_due(world)
    world.asked.clear()
    return world, str(report["session"])


def test_the_run_in_flight_is_finished_before_it_goes_down(
    scripted: Scripted, up: Callable[[], subprocess.Popen[str]], tmp_path: Path
) -> None:
    """R2"""
    slow: dict[str, Any] = {"text": "Done.", "fault": {"kind": "slow", "seconds": 1.5}}
    world, session = due_rejection(scripted, slow)
    child = up()
    assert world.asked.wait(20)
    child.send_signal(signal.SIGTERM)
    assert child.wait(20) == 0
    shown = world.steward("sessions", "show", session, "--json").json
    assert shown["events"][-1]["stop_cause"] == "answered"


def test_a_second_signal_leaves_at_once(
    scripted: Scripted, up: Callable[[], subprocess.Popen[str]]
) -> None:
    """R2: while the first still waits for a run that goes on for half a minute."""
    slow: dict[str, Any] = {"text": "Late.", "fault": {"kind": "slow", "seconds": 30}}
    world, _ = due_rejection(scripted, slow)
    child = up()
    assert world.asked.wait(20)
    child.send_signal(signal.SIGTERM)
    lines_until(child, "once more to leave at once")
    assert child.poll() is None
    child.send_signal(signal.SIGTERM)
    assert child.wait(10) == 128 + signal.SIGTERM


def test_after_three_rounds_of_rejections_nothing_more_starts(
    scripted: Scripted, up: Callable[[], subprocess.Popen[str]]
) -> None:
    """O12: the fourth is left as a note for the owner's next prompt."""
    rounds = [
        turn
        for n in range(4)
        for turn in (
            {"calls": [{**SEND, "arguments": {**SEND["arguments"], "subject": f"Try {n}"}}]},  # type: ignore[dict-item]
            {"text": "A draft waits."},
        )
    ]
    world = scripted([*rounds, {"text": "I stop."}])
    report = world.steward("run", "Write to ada@x.example", "--json").json
    child = up()
    for n in range(3):
        told = world.steward("outbox", "reject", pending(world), "--reason", f"no {n}")
        assert "hears why when 'steward up' runs" in told.out
        make_due(world)
        lines_until(child, "answered")
    told = world.steward("outbox", "reject", pending(world), "--reason", "no 3")
    assert "hears why with its session's next prompt" in told.out
    child.send_signal(signal.SIGTERM)
    assert child.wait(20) == 0
    world.steward("run", "Leave it", "--resume", report["session"])
    shown = world.steward("sessions", "show", report["session"], "--json").json
    prompts = [event["text"] for event in shown["events"] if event["kind"] == "prompt"]
    assert len(prompts) == 5
    assert ["no 0" in prompts[1], "no 1" in prompts[2], "no 2" in prompts[3]] == [True] * 3
    assert "no 3" in str(shown["events"])


def pending(world: World) -> str:
    """The one draft that waits."""
    (row,) = world.steward("outbox", "list", "--status", "pending", "--json").json
    return str(row["id"])
