"""Questions: asked of whoever is present, parked where nobody is, answered once from anywhere."""

import asyncio
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.database import Database
from bot.tables import EventKind
from makers.gate import (
    BOTH,
    MAIL_READ,
    NOON,
    PRIVATE,
    SESSION,
    UNTRUSTED,
    PersonDoor,
    call,
    make_asked,
    make_bench,
    make_spec,
    sender,
)
from makers.house import make_database
from outbox import questions
from outbox.approval import NobodyDoor, YesDoor
from outbox.ask_tool import AskArgs
from outbox.errors import Ambiguous, NotAllowed, NotFound, Stale
from outbox.questions import Settled
from outbox.settings import GateSettings, OutboxSettings
from outbox.states import Decider
from outbox.tables import QuestionStatus
from tools.ids import new_id
from tools.taint import CLEAN, Taint, taint_from_json

OWNER = Decider(by="owner", via="terminal")
PHONE = Decider(by="owner", via="slack")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Database]:
    database = make_database(tmp_path)
    yield database
    database.close()


def park(store: Database, question_id: str, *, turn: str = "t1", taint: Taint = CLEAN) -> str:
    with store.effect() as session:
        asked = make_asked(question_id)
        questions.park(session, asked, turn_key=turn, taint=taint, now=NOON)
    return question_id


def answer(store: Database, question_id: str, text: str, by: Decider = OWNER) -> Settled:
    with store.effect() as session:
        return questions.answer(session, question_id, text, decider=by, now=NOON)


def abandon(store: Database, question_id: str) -> Settled:
    with store.effect() as session:
        return questions.abandon(session, question_id, decider=OWNER, now=NOON)


def close_calls(store: Database) -> dict[str, str]:
    """The calls that are closed now, and what each is told."""
    with store.effect() as session:
        rows = questions.close_calls(session, SESSION)
        return {row.id: questions.call_result(row).text for row in rows}


# Asking


@pytest.mark.parametrize(
    ("said", "typed"),
    [("tea", False), ("Neither, I am asleep", True), ("  Tea  ", False)],
)
async def test_a_present_owners_answer_is_the_result_word_for_word(
    tmp_path: Path, said: str, typed: bool
) -> None:
    """Q1: also outside the options; a tapped option was worded by the model, not by the owner."""
    door = PersonDoor(answers=[said])
    bench = make_bench(tmp_path, door=door)
    outcome = await bench.one(call("ask_user", question=" Tea? ", options=["tea", " no ", "tea"]))
    assert outcome.result.text == said
    assert outcome.result.typed_by_owner is typed
    assert door.questions == [("Tea?", ("tea", "no"))]
    assert bench.questions() == []
    assert bench.event("ask_user").data["typed_by_owner"] is typed
    bench.store.close()


@pytest.mark.parametrize("question", ["", "  \n\t "])
async def test_an_empty_question_disturbs_nobody(tmp_path: Path, question: str) -> None:
    """Q1: the model is told to write one."""
    door = PersonDoor()
    bench = make_bench(tmp_path, door=door)
    outcome = await bench.one(call("ask_user", question=question))
    assert outcome.result.is_error
    assert "empty" in outcome.result.text
    assert (door.questions, bench.questions()) == ([], [])
    bench.store.close()


async def test_two_questions_of_one_turn_are_asked_one_after_the_other(tmp_path: Path) -> None:
    """Two prompts on one terminal at once would mix their answers up."""

    class OneAtATime(PersonDoor):
        busy = False

        async def ask(self, question, options):
            assert not self.busy
            self.busy = True
            try:
                await asyncio.sleep(0)  # whoever else would ask has its chance now
                return await super().ask(question, options)
            finally:
                self.busy = False

    bench = make_bench(tmp_path, door=OneAtATime(answers=["one", "two"]))
    turn = await bench.turn(
        call("ask_user", "a", question="1?"), call("ask_user", "b", question="2?")
    )
    assert [outcome.result.text for outcome in turn.outcomes] == ["one", "two"]
    bench.store.close()


@pytest.mark.parametrize(
    "door",
    [
        NobodyDoor("trigger"),
        YesDoor(NobodyDoor("script")),
        PersonDoor(answers=[None]),
        PersonDoor(answers=["  "]),
    ],
    ids=["nobody", "standing-yes", "not-now", "blank"],
)
async def test_a_question_that_finds_nobody_is_parked(tmp_path: Path, door) -> None:
    """Q2: question and parked call stand together; a standing yes is no answer."""
    bench = make_bench(tmp_path, door=door)
    turn = await bench.turn(call("ask_user", question="Tea?", options=["tea"]), taint=PRIVATE)
    (outcome,) = turn.outcomes
    (row,) = bench.questions()
    assert outcome.question_id == outcome.result.parked == row.id
    assert (row.question, row.options, row.status) == ("Tea?", ["tea"], QuestionStatus.OPEN)
    assert (row.surface, row.call_id) == (door.name, "ask_user")
    assert (row.session_id, row.agent, row.producer) == (SESSION, "assistant", "run")
    assert row.workspace == str(bench.parts.facts.root)
    assert taint_from_json(row.taint) == PRIVATE
    assert bench.events() == [(EventKind.PARKED, "ask_user")]
    assert bench.event("ask_user", EventKind.PARKED).data["question_id"] == row.id
    bench.store.close()


async def test_a_parked_turn_keeps_its_other_work(tmp_path: Path) -> None:
    """Q2, Q5: the siblings have run or are staged, once, and stand in the transcript."""
    settings = GateSettings(outbox=OutboxSettings(tools=("send",)))
    bench = make_bench(tmp_path, [make_spec("mail", MAIL_READ), sender()], settings=settings)
    turn = await bench.turn(call("ask_user", question="Send it?"), call("send"), call("mail"))
    asked, sent, read = turn.outcomes
    assert asked.question_id is not None
    assert [draft.id for draft in bench.drafts()] == [sent.draft_id]
    assert bench.ran == ["mail"]
    assert read.result.is_error is False
    assert {name for kind, name in bench.events() if kind is EventKind.RESULT} == {"send", "mail"}
    (row,) = bench.questions()
    assert taint_from_json(row.taint).flags() == {"private": True, "untrusted": True}
    bench.store.close()


async def test_questions_of_one_turn_share_a_key_and_two_turns_do_not(tmp_path: Path) -> None:
    """Q4: so that a session resumes when its turn is answered."""
    bench = make_bench(tmp_path)
    await bench.turn(call("ask_user", "a", question="1?"), call("ask_user", "b", question="2?"))
    await bench.turn(call("ask_user", "c", question="3?"))
    keys = {row.call_id: row.turn_key for row in bench.questions()}
    assert keys["a"] == keys["b"] != keys["c"]
    bench.store.close()


async def test_a_question_that_cannot_be_stored_is_not_parked(tmp_path: Path) -> None:
    """Q8: the model is told that nobody will see it; no half of it is left."""
    make_database(tmp_path).close()
    impatient = Database(tmp_path / "home" / "steward.db", busy_timeout_seconds=0.05)
    bench = make_bench(tmp_path, database=impatient)
    other = sqlite3.connect(impatient.path, isolation_level=None)

    def let_go(text: str) -> tuple[str, int]:
        if other.in_transaction:
            other.execute("ROLLBACK")
        return text, 0

    bench.parts = replace(bench.parts, redact=let_go)
    other.execute("BEGIN IMMEDIATE")
    outcome = await bench.one(call("ask_user", question="Tea?"))
    other.close()
    assert outcome.question_id is None
    assert outcome.result.is_error
    assert "nobody will see it" in outcome.result.text
    assert bench.events() == [(EventKind.RESULT, "ask_user")]
    assert bench.questions() == []
    bench.store.close()


# Settling


def test_an_answer_is_kept_as_typed_and_resumes_the_session(store: Database) -> None:
    """Q1, Q9: from another surface, and the call gets it word for word."""
    park(store, "q1")
    settled = answer(store, "q1", "  Tea,\nwith milk ", PHONE)
    assert (settled.resumes, settled.late, settled.still_open) == (True, False, ())
    with store.read() as session:
        row = questions.find(session, "q1")
    assert (row.answer, row.answered_by, row.answered_via) == (
        "  Tea,\nwith milk ",
        "owner",
        "slack",
    )
    assert close_calls(store) == {"q1": "  Tea,\nwith milk "}


def test_the_first_answer_wins_and_the_loser_is_told_who(store: Database) -> None:
    """Q3: whichever surface is late, with what the first one did."""
    park(store, "q1")
    answer(store, "q1", "tea", PHONE)
    told = "question q1 was already answered by owner (slack) at 2026-11-30T12:00:00+00:00"
    for late in (lambda: answer(store, "q1", "coffee"), lambda: abandon(store, "q1")):
        with pytest.raises(Stale) as error:
            late()
        assert str(error.value) == f"{told}; nothing was changed"
    assert close_calls(store) == {"q1": "tea"}


def test_many_answers_at_once_resume_the_session_once(store: Database) -> None:
    """Q3: from eight threads, one wins."""
    for number in range(5):
        park(store, f"q{number}", turn=f"t{number}")

    def attempt(text: str) -> list[bool]:
        won = []
        for number in range(5):
            try:
                won.append(answer(store, f"q{number}", text).resumes)
            except Stale:
                won.append(False)
        return won

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(attempt, [f"answer {n}" for n in range(8)]))
    assert [sum(row) for row in zip(*results, strict=True)] == [1] * 5


def test_half_an_answer_waits_for_the_other_half(store: Database) -> None:
    """Q4: the half is kept and the other one named."""
    park(store, "q1")
    park(store, "q2")
    park(store, "q3", turn="t2")
    half = answer(store, "q1", "tea")
    assert half.resumes is False
    assert [row.id for row in half.still_open] == ["q2"]
    whole = answer(store, "q2", "milk")
    assert (whole.resumes, whole.still_open) == (True, ())


def test_halves_answered_at_once_resume_once(store: Database) -> None:
    """Q4: neither believes that the other is missing."""
    for number in range(6):
        park(store, f"a{number}", turn=f"t{number}")
        park(store, f"b{number}", turn=f"t{number}")

    def attempt(half: str) -> list[bool]:
        return [answer(store, f"{half}{number}", "yes").resumes for number in range(6)]

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(attempt, ["a", "b"])
    assert [a + b for a, b in zip(first, second, strict=True)] == [1] * 6


def test_an_abandoned_question_has_no_answer(store: Database) -> None:
    """Q8: none is made up, nothing starts, and the call is told so when the owner next writes."""
    park(store, "q1")
    settled = abandon(store, "q1")
    assert settled.question.answer is None
    assert settled.resumes is False
    assert close_calls(store) == {
        "q1": "the owner abandoned the question; no answer was given. Do not ask it again"
    }


@pytest.mark.parametrize("order", [("answer", "abandon"), ("abandon", "answer")])
def test_an_abandoned_half_lets_the_answered_half_go_on(store: Database, order) -> None:
    """Q4, Q8: in either order the session resumes once, with what there is."""
    park(store, "q1")
    park(store, "q2")
    act = {"answer": lambda: answer(store, "q1", "tea"), "abandon": lambda: abandon(store, "q2")}
    assert [act[each]().resumes for each in order] == [False, True]
    assert close_calls(store) == {"q1": "tea", "q2": questions.ABANDONED}


def test_other_words_close_the_call_and_the_answer_comes_as_a_message(store: Database) -> None:
    """DESIGN section 10: still unanswered, then late; the session never waits for it."""
    park(store, "q1")
    park(store, "q2")
    answer(store, "q1", "tea")
    assert close_calls(store) == {
        "q1": "tea",
        "q2": "still unanswered (question q2); the owner wrote something else meanwhile",
    }
    assert close_calls(store) == {}
    late = answer(store, "q2", "milk")
    assert (late.resumes, late.late, late.still_open) == (True, True, ())


def test_a_late_question_that_is_abandoned_starts_nothing(store: Database) -> None:
    """Q8: its call has long been closed."""
    park(store, "q1")
    close_calls(store)
    settled = abandon(store, "q1")
    assert (settled.resumes, settled.late) == (False, True)


def test_late_answers_need_not_wait_for_each_other(store: Database) -> None:
    """Each is a message of its own."""
    park(store, "q1")
    park(store, "q2")
    close_calls(store)
    assert answer(store, "q1", "tea").resumes
    assert answer(store, "q2", "milk").resumes


@pytest.mark.parametrize("text", ["", "   \n"])
def test_an_empty_answer_leaves_the_question_open(store: Database, text: str) -> None:
    """Enter on an empty line must not answer anything."""
    park(store, "q1")
    with pytest.raises(NotAllowed, match="stays open"):
        answer(store, "q1", text)
    assert answer(store, "q1", "tea").resumes


# Showing


@pytest.mark.parametrize(
    ("taint", "warns", "confirms"),
    [(CLEAN, False, False), (PRIVATE, True, False), (UNTRUSTED, True, True), (BOTH, True, True)],
    ids=["clean", "private", "untrusted", "both"],
)
def test_a_question_from_a_tainted_conversation_warns(
    store: Database, taint: Taint, warns: bool, confirms: bool
) -> None:
    """Q7: and asks once more where an injection may have worded it, naming what came in."""
    park(store, "q1", taint=taint)
    with store.read() as session:
        row = questions.find(session, "q1")
    text = questions.warning(row)
    assert (text is not None) is warns
    assert questions.needs_confirmation(row) is confirms
    if confirms:
        assert text is not None
        assert "http_fetch in turn 2" in text
        assert "never a password" in text


def test_a_question_without_a_record_of_taint_asks_for_confirmation(store: Database) -> None:
    """L7: unknown is armed."""
    park(store, "q1")
    with store.read() as session:
        row = questions.find(session, "q1")
        row.taint = None
        assert questions.needs_confirmation(row)
        session.rollback()


def test_an_id_is_found_by_its_head_or_tail_and_ambiguity_is_an_error(store: Database) -> None:
    """O2: as typed by a person, in any case."""
    for each in ("0abc1111", "0abd2222", "0abd3333"):
        park(store, each)
    with store.read() as session:
        assert questions.find(session, "0abc").id == "0abc1111"
        assert questions.find(session, "2222").id == "0abd2222"
        assert questions.find(session, " 0ABD3333 ").id == "0abd3333"
        with pytest.raises(
            Ambiguous, match="fits several questions: 0abd2222, 0abd3333; type more"
        ):
            questions.find(session, "0abd")
        for nothing in ("zzz", "", "%", "_abc", "0abc%"):
            with pytest.raises(NotFound):
                questions.find(session, nothing)


def test_the_list_pages_by_key_newest_first(store: Database) -> None:
    """The open ones, or all."""
    ids = [park(store, new_id(NOON + timedelta(minutes=n)), turn=f"t{n}") for n in range(5)]
    answer(store, ids[1], "tea")
    with store.read() as session:
        first = questions.list_page(session, every=False, limit=2)
        rest = questions.list_page(session, every=False, limit=9, after=first[-1].id)
        every = questions.list_page(session, every=True, limit=9)
    assert [row.id for row in first] == [ids[4], ids[3]]
    assert [row.id for row in rest] == [ids[2], ids[0]]
    assert [row.id for row in every] == ids[::-1]


def test_a_question_as_json_has_the_fields_of_the_contract(store: Database) -> None:
    """DESIGN section 15, whole."""
    park(store, "q1", taint=UNTRUSTED)
    answer(store, "q1", "tea", PHONE)
    with store.read() as session:
        shown = questions.as_json(questions.find(session, "q1"))
    assert shown == {
        "id": "q1",
        "status": "answered",
        "question": "Tea or coffee?",
        "options": ["tea", "coffee"],
        "session": SESSION,
        "agent": "assistant",
        "surface": "terminal",
        "taint": {"private": False, "untrusted": True},
        "asked_at": "2026-11-30T12:00:00+00:00",
        "answered_at": "2026-11-30T12:00:00+00:00",
        "answered_by": "owner",
        "answer": "tea",
    }


def test_every_argument_of_ask_user_has_an_example() -> None:
    """DESIGN section 4: the model is shown a concrete one."""
    for name, field in AskArgs.model_fields.items():
        assert field.description is not None, name
        assert "e.g. " in field.description, name
