"""Sitting at the terminal: what is asked, what Enter means, and what Ctrl-C leaves behind."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from makers.terminal import Terminal
from makers.world import World

Scripted = Callable[..., World]
CONTENT = "line one\nline two\nand the last line"
WRITE = {"calls": [{"name": "fs_write", "arguments": {"path": "made.txt", "content": CONTENT}}]}
ASK = {"calls": [{"name": "ask_user", "arguments": {"question": "Tea?", "options": ["yes", "no"]}}]}
READ_MAIL = {
    "calls": [{"name": "mail_get_thread", "arguments": {"message_id": "<lunch@evil.example>"}}]
}
SLOW = {"text": "Late.", "fault": {"kind": "slow", "seconds": 30}}
SEND = {
    "calls": [
        {
            "name": "mail_send",
            "arguments": {"to": ["ada@x.example"], "subject": "Lunch", "body": "Dear Ada."},
        }
    ]
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A workspace that is not steward's own, so that a write there is asked about."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def at_terminal(world: World, *words: str) -> Terminal:
    environ = {**os.environ, "STEWARD_HOME": str(world.home)}
    return Terminal(*words, environ=environ, cwd=world.home.parent)


def test_enter_is_no_and_the_whole_content_was_shown_before(
    scripted: Scripted, project: Path
) -> None:
    """L29, L22"""
    world = scripted([WRITE, {"text": "Then I leave it."}])
    with at_terminal(world, "run", "Write", "--workspace", str(project)) as terminal:
        shown = terminal.expect("Run fs_write? [y/N, or why not]")
        terminal.type("\n")
        assert terminal.end() == 0
    assert all(f"│ {line}\n" in shown for line in CONTENT.splitlines())
    assert "fs_write was refused (by you)" in terminal.seen
    assert list(project.iterdir()) == []


def test_a_yes_runs_it_and_a_reason_reaches_the_model(scripted: Scripted, project: Path) -> None:
    """L22"""
    world = scripted([WRITE, WRITE, {"text": "Done."}])
    with at_terminal(world, "run", "Write", "--workspace", str(project)) as terminal:
        terminal.answer([("Run fs_write?", "not in this folder"), ("Run fs_write?", "y")])
        assert terminal.end() == 0
    assert (project / "made.txt").read_text() == CONTENT
    (session,) = world.steward("sessions", "list", "--json").json
    shown = world.steward("sessions", "show", session["id"], "--json").json
    refused, made = [event for event in shown["events"] if event["kind"] == "result"]
    assert "the owner said no" in refused["text"]
    assert "not in this folder" in refused["text"]
    assert not made["is_error"]


def test_the_end_of_input_is_no(scripted: Scripted, project: Path) -> None:
    """L29"""
    world = scripted([WRITE, {"text": "Then I leave it."}])
    with at_terminal(world, "run", "Write", "--workspace", str(project)) as terminal:
        terminal.expect("Run fs_write?")
        terminal.type("\x04")
        assert terminal.end() == 0
    assert list(project.iterdir()) == []


def test_ctrl_c_reaches_a_waiting_approver(scripted: Scripted, project: Path) -> None:
    """L18"""
    world = scripted([WRITE, {"text": "Never said."}])
    with at_terminal(world, "run", "Write", "--workspace", str(project)) as terminal:
        terminal.expect("Run fs_write?")
        terminal.interrupt()
        assert terminal.end() == 130
    assert list(project.iterdir()) == []


def test_somebody_at_the_terminal_is_asked_there_and_nothing_is_parked(
    scripted: Scripted,
) -> None:
    """Q1"""
    world = scripted([ASK, {"text": "With milk, then."}])
    with at_terminal(world, "run", "Serve") as terminal:
        terminal.answer([("Your answer", "only with milk")])
        assert terminal.end() == 0
    assert "With milk, then." in terminal.seen
    assert world.steward("questions", "list", "--all", "--json").json == []


def test_not_now_parks_the_question(scripted: Scripted) -> None:
    world = scripted([ASK])
    with at_terminal(world, "run", "Serve") as terminal:
        terminal.answer([("Your answer", "")])
        assert terminal.end() == 5
    assert len(world.steward("questions", "list", "--json").json) == 1


def test_a_chat_remembers_its_session_and_a_new_one_knows_nothing(scripted: Scripted) -> None:
    world = scripted([{"text": "One."}, {"text": "Two."}, {"text": "Three."}])
    with at_terminal(world, "chat") as terminal:
        terminal.answer([("you> ", "first"), ("you> ", "second"), ("you> ", "/new")])
        terminal.answer([("you> ", "third"), ("you> ", "/quit")])
        assert terminal.end() == 0
    older, newer = reversed(world.steward("sessions", "list", "--json").json)
    prompts = [
        [
            event["spans"][0]["text"]
            for event in world.steward("sessions", "show", each["id"], "--json").json["events"]
            if event["kind"] == "prompt"
        ]
        for each in (older, newer)
    ]
    assert prompts == [["first", "second"], ["third"]]


def test_ctrl_c_in_a_chat_stops_the_answer_and_the_chat_goes_on(scripted: Scripted) -> None:
    """L18"""
    world = scripted([SLOW, {"text": "Here again."}])
    with at_terminal(world, "chat") as terminal:
        terminal.answer([("you> ", "think hard")])
        assert world.asked.wait(20)
        terminal.interrupt()
        terminal.answer([("you> ", "still there?")])
        terminal.expect("Here again.")
        terminal.answer([("you> ", "/quit")])
        assert terminal.end() == 0


def test_review_shows_each_draft_whole_and_takes_one_decision_for_each(
    scripted: Scripted,
) -> None:
    """O2: Enter skips, and nothing but a named choice decides."""
    world = scripted([SEND, {"text": "Staged."}])
    world.steward("run", "Write to ada@x.example")
    with at_terminal(world, "outbox", "review") as terminal:
        shown = terminal.expect("[a]pprove, [r]eject, [e]dit, [s]kip, [q]uit:")
        terminal.type("\n")
        assert terminal.end() == 0
    assert "ada@x.example" in shown
    assert "Dear Ada." in shown
    with at_terminal(world, "outbox", "review") as terminal:
        terminal.answer([("[q]uit:", "r"), ("Reason", "not today")])
        assert terminal.end() == 0
    (draft,) = world.steward("outbox", "list", "--json").json
    assert (draft["status"], draft["reason"]) == ("rejected", "not today")


def test_an_approval_asks_twice_where_a_mark_demands_it(scripted: Scripted) -> None:
    """O11"""
    world = scripted([SEND, {"text": "Staged."}])
    world.steward("run", "Write to my sister")
    (draft,) = world.steward("outbox", "list", "--json").json
    with at_terminal(world, "outbox", "approve", draft["id"]) as terminal:
        terminal.answer([("Send exactly this? [y/N]", "y")])
        terminal.answer([("It is marked unowned. Really send it? [y/N]", "")])
        assert terminal.end() == 1
    assert "was not sent; it waits" in terminal.seen


def test_what_was_typed_before_the_call_was_shown_does_not_run_it(
    scripted: Scripted, project: Path
) -> None:
    """L29"""
    world = scripted([WRITE, {"text": "Then I leave it."}])
    with at_terminal(world, "run", "Write", "--workspace", str(project)) as terminal:
        terminal.type("y\n")
        assert world.asked.wait(20)
        terminal.answer([("Run fs_write?", "")])
        assert terminal.end() == 0
    assert list(project.iterdir()) == []


def test_a_paste_answers_one_question_and_what_is_left_of_it_nothing(
    scripted: Scripted, project: Path
) -> None:
    """L29: neither the next question nor the next prompt."""
    world = scripted([WRITE, WRITE, {"text": "Then I leave it."}])
    with at_terminal(world, "chat", "--workspace", str(project)) as terminal:
        terminal.answer(
            [("you> ", "Write"), ("Run fs_write?", "not here\ny\ny"), ("Run fs_write?", "n\ny")]
        )
        terminal.expect("Then I leave it.")
        terminal.answer([("you> ", "/quit")])
        assert terminal.end() == 0
    assert list(project.iterdir()) == []
    (session,) = world.steward("sessions", "list", "--json").json
    shown = world.steward("sessions", "show", session["id"], "--json").json
    assert [e["kind"] for e in shown["events"]].count("prompt") == 1


@pytest.mark.parametrize(
    ("act", "early", "prompt"),
    [
        pytest.param("approve", "y\n", "Send exactly this?", id="approve"),
        pytest.param("review", "a\ny\n", "[q]uit:", id="review"),
    ],
)
def test_what_was_typed_before_a_draft_was_shown_does_not_release_it(
    scripted: Scripted, act: str, early: str, prompt: str
) -> None:
    """O17"""
    world = scripted([SEND, {"text": "Staged."}])
    (draft_id,) = world.steward("run", "Write to ada@x.example", "--json").json["staged"]
    words = [draft_id] if act == "approve" else []
    with at_terminal(world, "outbox", act, *words) as terminal:
        terminal.type(early)
        terminal.answer([(prompt, "")])
        terminal.end()
    (draft,) = world.steward("outbox", "list", "--json").json
    assert (draft["status"], draft["error"]) == ("pending", None)
    assert world.steward("outbox", "show", draft_id, "--json").json["attempts"] == []


def test_an_answer_is_given_only_by_who_has_read_whose_question_it_may_be(
    scripted: Scripted,
) -> None:
    """Q7: a yes typed before the question stood there is none."""
    world = scripted([READ_MAIL, ASK])
    world.steward("run", "Serve", code=5)
    (question,) = world.steward("questions", "list", "--json").json
    with at_terminal(world, "questions", "answer", question["id"], "yes") as terminal:
        terminal.type("y\n")
        shown = terminal.expect("Give this answer? [y/N]")
        terminal.type("\n")
        assert terminal.end() == 2
    assert "It may be their question" in shown
    (still,) = world.steward("questions", "list", "--json").json
    assert still["status"] == "open"


def test_the_answer_that_was_kept_is_printed(scripted: Scripted) -> None:
    """Q1: by its number, and where options are numbers themselves by its text."""
    numbers = {
        "calls": [{"name": "ask_user", "arguments": {"question": "?", "options": ["2", "1"]}}]
    }
    world = scripted([ASK, numbers, {"text": "Done."}])
    with at_terminal(world, "run", "Serve") as terminal:
        terminal.answer([("Your answer", "2")])
        terminal.expect("answered: no")
        terminal.answer([("Your answer", "1")])
        terminal.expect("answered: 1")
        assert terminal.end() == 0
    (session,) = world.steward("sessions", "list", "--json").json
    shown = world.steward("sessions", "show", session["id"], "--json").json
    kept = [event["text"] for event in shown["events"] if event["kind"] == "result"]
    assert kept == ["no", "1"]


def test_an_editor_changes_the_text_and_the_original_stays(
    scripted: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O3"""
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/Dear/Hello/ "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    world = scripted([SEND, {"text": "Staged."}])
    world.steward("run", "Write to ada@x.example")
    (draft,) = world.steward("outbox", "list", "--json").json
    with at_terminal(world, "outbox", "edit", draft["id"]) as terminal:
        assert terminal.end() == 0
    (edited,) = world.steward("outbox", "list", "--json").json
    assert edited["args"]["body"] == "Hello Ada.\n"
    assert edited["args_before"]["body"] == "Dear Ada.\n"


def test_an_address_the_owner_types_in_the_editor_is_owned(
    scripted: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O11: newly typed in that very edit."""
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/ada@x/dora@x/ "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    world = scripted([SEND, {"text": "Staged."}])
    (draft_id,) = world.steward("run", "Write to my sister", "--json").json["staged"]
    with at_terminal(world, "outbox", "edit", draft_id, "--json") as terminal:
        assert terminal.end() == 0
    shown = world.steward("outbox", "show", draft_id, "--json").json
    assert (shown["args"]["to"], shown["marks"]) == (["dora@x.example"], [])
