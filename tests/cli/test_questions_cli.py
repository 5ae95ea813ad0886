"""Questions on the command line: parked, answered once, gone on from, or closed without an answer."""

from collections.abc import Callable

import pytest

from makers.world import World

Scripted = Callable[..., World]
READ_MAIL = {
    "calls": [{"name": "mail_get_thread", "arguments": {"message_id": "<lunch@evil.example>"}}]
}


def ask(question: str, options: list[str] | None = None) -> dict[str, object]:
    return {"name": "ask_user", "arguments": {"question": question, "options": options or []}}


ASK = {"text": "One thing first.", "calls": [ask("Which floor?", ["first", "second"])]}
DONE = {"text": "Second floor it is."}
SEND = {
    "name": "mail_send",
    "arguments": {"to": ["ada@x.example"], "subject": "Floor", "body": "Dear Ada."},
}


def open_question(world: World) -> str:
    (row,) = world.steward("questions", "list", "--json").json
    return str(row["id"])


def result_of(world: World, session: str, tool: str) -> dict[str, object]:
    shown = world.steward("sessions", "show", session, "--json").json
    found = [e for e in shown["events"] if e["kind"] == "result" and e["tool"] == tool]
    assert len(found) == 1
    return dict(found[0])


def test_a_question_that_finds_nobody_ends_the_run_and_keeps_its_work(scripted: Scripted) -> None:
    """Q2: exit code 5, and the partial text is kept."""
    world = scripted([ASK, DONE])
    parked = world.steward("run", "Choose", "--json", code=5).json
    assert (parked["stop_cause"], parked["answer"]) == ("parked", "One thing first.")
    assert parked["parked"] == [open_question(world)]


def test_the_answer_is_the_result_of_the_very_call_and_the_run_goes_on(
    scripted: Scripted,
) -> None:
    """Q6, Q9: from another process, in the recorded session."""
    world = scripted([ASK, DONE])
    session = world.steward("run", "Choose", "--json", code=5).json["session"]
    report = world.steward(
        "questions", "answer", open_question(world)[-6:], "second", "--json"
    ).json
    assert (report["session"], report["answer"]) == (session, "Second floor it is.")
    assert result_of(world, session, "ask_user")["text"] == "second"
    (answered,) = world.steward("questions", "list", "--all", "--json").json
    assert (answered["status"], answered["answer"]) == ("answered", "second")


def test_an_answer_outside_the_options_is_returned_as_typed(scripted: Scripted) -> None:
    """Q1"""
    world = scripted([ASK, DONE])
    session = world.steward("run", "Choose", "--json", code=5).json["session"]
    world.steward("questions", "answer", open_question(world), "the", "attic")
    result = result_of(world, session, "ask_user")
    assert (result["text"], result["typed_by_owner"]) == ("the attic", True)


def test_an_option_can_be_chosen_by_its_number(scripted: Scripted) -> None:
    world = scripted([ASK, DONE])
    session = world.steward("run", "Choose", "--json", code=5).json["session"]
    answered = world.steward("questions", "answer", open_question(world), "2")
    assert "answered: second" in answered.err
    result = result_of(world, session, "ask_user")
    assert (result["text"], result["typed_by_owner"]) == ("second", False)


def test_the_first_answer_wins_and_the_second_is_told_who(scripted: Scripted) -> None:
    """Q3"""
    world = scripted([ASK, DONE])
    world.steward("run", "Choose", code=5)
    question = open_question(world)
    world.steward("questions", "answer", question, "first")
    late = world.steward("questions", "answer", question, "second", code=1)
    assert f"question {question} was already answered by owner (cli) at" in late.err
    (kept,) = world.steward("questions", "list", "--all", "--json").json
    assert kept["answer"] == "first"


def test_half_an_answer_is_kept_and_the_other_half_asked_for(scripted: Scripted) -> None:
    """Q4"""
    world = scripted([{"calls": [ask("Which floor?"), ask("Which day?")]}, DONE])
    world.steward("run", "Choose", code=5)
    day, floor = (row["id"] for row in world.steward("questions", "list", "--json").json)
    half = world.steward("questions", "answer", floor, "second")
    assert half.out == ""
    assert f"the run goes on when these are answered too: {day}" in half.err
    whole = world.steward("questions", "answer", day, "Monday", "--json").json
    assert whole["answer"] == "Second floor it is."


def test_a_send_beside_a_question_is_not_repeated_after_the_answer(scripted: Scripted) -> None:
    """Q5"""
    world = scripted([{"calls": [SEND, ask("Which floor?")]}, DONE])
    world.steward("run", "Choose", code=5)
    world.steward("questions", "answer", open_question(world), "first")
    drafts = world.steward("outbox", "list", "--json").json
    assert len(drafts) == 1


def test_a_resumed_run_may_park_again(scripted: Scripted) -> None:
    """Q6"""
    world = scripted([ASK, ASK, DONE])
    world.steward("run", "Choose", code=5)
    world.steward("questions", "answer", open_question(world), "first", code=5)
    assert world.steward("questions", "answer", open_question(world), "second").out


def test_an_answer_that_comes_after_other_words_is_the_owners_message(
    scripted: Scripted,
) -> None:
    """Q2, Q9: the session stayed usable, and the late answer names its question."""
    world = scripted([ASK, {"text": "Noted."}, DONE])
    session = world.steward("run", "Choose", "--json", code=5).json["session"]
    question = open_question(world)
    world.steward("run", "Never mind the floor for now", "--resume", session)
    closed = result_of(world, session, "ask_user")
    assert closed["text"] == (
        f"still unanswered (question {question}); the owner wrote something else meanwhile"
    )
    report = world.steward("questions", "answer", question, "the attic", "--json").json
    assert report["answer"] == "Second floor it is."
    shown = world.steward("sessions", "show", session, "--json").json
    last = [e for e in shown["events"] if e["kind"] == "prompt"][-1]
    assert question in last["text"]
    assert {"origin": "owner", "text": "the attic", "source": ""} in last["spans"]


def test_a_late_answer_reaches_the_agent_though_another_question_is_parked(
    scripted: Scripted,
) -> None:
    """Q9"""
    world = scripted([ASK, {"calls": [ask("Which day?")]}, DONE])
    session = world.steward("run", "Choose", "--json", code=5).json["session"]
    floor = open_question(world)
    world.steward("run", "Choose a day too", "--resume", session, code=5)
    report = world.steward("questions", "answer", floor, "the attic", "--json").json
    assert report["answer"] == "Second floor it is."
    shown = world.steward("sessions", "show", session, "--json").json
    said = [e["text"] for e in shown["events"] if e["kind"] == "prompt"]
    assert "the attic" in said[-1]
    (day,) = world.steward("questions", "list", "--json").json
    assert day["question"] == "Which day?"


def test_an_answer_that_met_no_model_is_tried_again(scripted: Scripted) -> None:
    """Q9: the answer is kept, and the run that asked goes on once a model answers."""
    down = {"fault": {"kind": "unauthorized"}}
    world = scripted([ASK, down, DONE])
    session = world.steward("run", "Choose", "--json", code=5).json["session"]
    failed = world.steward("questions", "answer", open_question(world), "second", code=1)
    assert "nothing is lost: 'steward up' tries again at" in failed.err
    (listed,) = world.steward("sessions", "list", "--json").json
    assert listed["state"] == "queued"
    report = world.steward("run", "Go on", "--resume", session, "--json").json
    assert report["answer"] == "Second floor it is."
    assert result_of(world, session, "ask_user")["text"] == "second"


def test_a_resumed_run_is_told_the_time_and_what_happened_meanwhile(
    scripted: Scripted,
) -> None:
    world = scripted([{"calls": [SEND, ask("Which floor?")]}, DONE])
    world.steward("run", "Choose", code=5)
    (draft,) = world.steward("outbox", "list", "--json").json
    world.steward("outbox", "approve", draft["id"], "--yes", code=None)
    report = world.steward("questions", "answer", open_question(world), "first", "--json").json
    shown = world.steward("sessions", "show", report["session"], "--json").json
    (told,) = [event["text"] for event in shown["events"] if event["kind"] == "nudge"]
    assert "Nobody is present now" in told
    assert told.startswith("[")


def test_a_question_from_a_tainted_conversation_warns_and_wants_a_confirmation(
    scripted: Scripted,
) -> None:
    """Q7"""
    world = scripted([READ_MAIL, ASK, DONE])
    world.steward("run", "Choose", code=5)
    question = open_question(world)
    shown = world.steward("questions", "show", question)
    assert "It may be their question" in shown.out
    for words in (["first"], ["first", "--yes"]):
        unread = world.steward("questions", "answer", question, *words, code=2)
        assert f"steward questions show {question}" in unread.err
        assert "needs a terminal, unless [outbox] scripts = true" in unread.err
        assert open_question(world) == question


@pytest.mark.parametrize("yes", [[], ["--yes"]], ids=["plain", "yes"])
def test_where_scripts_are_allowed_a_tainted_question_is_answered_under_the_warning(
    scripted: Scripted, yes: list[str]
) -> None:
    """Q7"""
    world = scripted([READ_MAIL, ASK, DONE], "[outbox]\nscripts = true")
    world.steward("run", "Choose", code=5)
    answered = world.steward("questions", "answer", open_question(world), "first", *yes)
    assert "It may be their question" in answered.err
    assert "answered: first" in answered.err


def test_an_options_own_text_is_that_option_whatever_its_number(scripted: Scripted) -> None:
    """Q1"""
    world = scripted([{"calls": [ask("How many?", ["2", "1"])]}, DONE])
    session = world.steward("run", "Choose", "--json", code=5).json["session"]
    shown = world.steward("questions", "show", open_question(world)).out
    assert "- 2\n" in shown
    answered = world.steward("questions", "answer", open_question(world), "1")
    assert "answered: 1" in answered.err
    assert result_of(world, session, "ask_user")["text"] == "1"


def test_abandoning_stores_no_answer_and_starts_nothing(scripted: Scripted) -> None:
    """Q8"""
    world = scripted([ASK, {"text": "Then I leave it."}])
    session = world.steward("run", "Choose", "--json", code=5).json["session"]
    question = open_question(world)
    closed = world.steward("questions", "abandon", question)
    assert "nothing was started" in closed.err
    (row,) = world.steward("questions", "list", "--all", "--json").json
    assert (row["status"], row["answer"]) == ("abandoned", None)
    world.steward("run", "Go on", "--resume", session)
    assert "the owner abandoned the question" in str(result_of(world, session, "ask_user")["text"])


def test_an_empty_question_disturbs_nobody(scripted: Scripted) -> None:
    """Q1"""
    world = scripted([{"calls": [ask("  ")]}, DONE])
    world.steward("run", "Choose")
    assert world.steward("questions", "list", "--all", "--json").json == []


def test_an_answer_given_while_the_session_is_busy_waits_for_its_turn(
    scripted: Scripted,
) -> None:
    """Q3: another process runs the session; then it goes on once, from the answer."""
    slow = {"text": "I thought.", "fault": {"kind": "slow", "seconds": 2}}
    world = scripted([ASK, slow, DONE])
    session = world.steward("run", "Choose", "--json", code=5).json["session"]
    world.asked.clear()
    child = world.child("run", "Think first", "--resume", session)
    try:
        assert world.asked.wait(20)
        assert child.poll() is None
        report = world.steward("questions", "answer", open_question(world), "second", "--json").json
        assert child.wait(20) == 0
    finally:
        child.kill()
        child.communicate()
    assert report["answer"] == "Second floor it is."
    shown = world.steward("sessions", "show", session, "--json").json
    told = [e["text"] for e in shown["events"] if e["kind"] in ("prompt", "assistant")]
    assert [text.splitlines()[-1] for text in told[1:]] == [
        "One thing first.",
        "Think first",
        "I thought.",
        "second",
        "Second floor it is.",
    ]
