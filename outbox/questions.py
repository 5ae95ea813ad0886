"""What a run could not decide: parked with the call that asked, answered once, from any surface.

Why a call and a question have separate lives: the session stays usable while a question waits.
When other words come first its call is closed as still unanswered (`call_closed`), and the answer
comes later as the owner's message.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from sqlalchemy import CursorResult, update
from sqlmodel import Session, col, select

from outbox.errors import NotAllowed, NotFound, Stale
from outbox.handles import Kind, find_by_handle
from outbox.identifiers import Identifier, extract, mailto_address
from outbox.states import Decider
from outbox.tables import Question, QuestionStatus
from tools.result import ToolResult
from tools.taint import Taint, taint_from_json

KIND = Kind(one="question", several="questions", lister="steward questions list --all")

ABANDONED = "the owner abandoned the question; no answer was given. Do not ask it again"
STILL_UNANSWERED = "still unanswered (question {id}); the owner wrote something else meanwhile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question before it is stored. `workspace` is where its run works, and will go on."""

    id: str
    question: str
    options: tuple[str, ...]
    session_id: str
    agent: str
    producer: str
    surface: str
    call_id: str
    workspace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A question that was just answered or abandoned, and what follows for its session.

    `resumes`: the caller makes the session's cause in this same transaction; nobody else will.
    `late`: the asking call was closed meanwhile, so the answer travels as the owner's message that
    names this question; else it is the result of the call, with those of the whole turn.
    `still_open`: questions of the same turn that must be answered before the session resumes.
    """

    question: Question
    resumes: bool
    late: bool
    still_open: tuple[Question, ...]


def park(session: Session, asked: Asked, *, turn_key: str, taint: Taint, now: datetime) -> None:
    """The question is stored, open; `turn_key` is shared by all questions of one turn."""
    session.add(
        Question(
            id=asked.id,
            status=QuestionStatus.OPEN,
            question=asked.question,
            options=list(asked.options),
            session_id=asked.session_id,
            agent=asked.agent,
            producer=asked.producer,
            surface=asked.surface,
            call_id=asked.call_id,
            turn_key=turn_key,
            workspace=asked.workspace,
            taint=taint.as_json(),
            asked_at=now,
        )
    )
    session.flush()


def find(session: Session, handle: str) -> Question:
    """The question whose id is, begins with or ends in the handle.

    Raises: NotFound; Ambiguous naming the ids that fit.
    """
    return find_by_handle(session, Question, handle, KIND)


def list_page(
    session: Session, *, every: bool, limit: int, after: str | None = None
) -> Sequence[Question]:
    """Questions, newest first, the open ones only unless `every`; `after` is the last id seen."""
    wanted = select(Question).order_by(col(Question.id).desc()).limit(limit)
    if not every:
        wanted = wanted.where(col(Question.status) == QuestionStatus.OPEN)
    if after is not None:
        wanted = wanted.where(col(Question.id) < after)
    return session.exec(wanted).all()


def of_turn(session: Session, turn_key: str) -> Sequence[Question]:
    """The questions of one turn, in the order they were asked."""
    mine = select(Question).where(col(Question.turn_key) == turn_key)
    return session.exec(mine.order_by(col(Question.id))).all()


def answer(
    session: Session, question_id: str, text: str, *, decider: Decider, now: datetime
) -> Settled:
    """The answer is stored, exactly as typed, if the question was still open.

    Raises: NotFound; Stale naming who was first, when; NotAllowed for an answer without words.
    """
    if not text.strip():
        raise NotAllowed(
            f"an empty answer answers nothing; question {question_id} stays open "
            f"('steward questions abandon {question_id}' closes it without an answer)"
        )
    values = {"status": QuestionStatus.ANSWERED, "answer": text}
    return _settle(session, question_id, {**values, **_decided(decider, now)})


def abandon(session: Session, question_id: str, *, decider: Decider, now: datetime) -> Settled:
    """The question is closed without an answer; none is ever made up.

    The session resumes only where another question of the turn has an answer to go on with. If
    none has, nothing starts, and the calls are closed when the owner next writes.

    Raises: NotFound; Stale naming who was first, when.
    """
    values = {"status": QuestionStatus.ABANDONED}
    return _settle(session, question_id, {**values, **_decided(decider, now)})


def _decided(decider: Decider, now: datetime) -> dict[str, Any]:
    return {"answered_at": now, "answered_by": decider.by, "answered_via": decider.via}


def _settle(session: Session, question_id: str, values: Mapping[str, Any]) -> Settled:
    row = _locked(session, question_id)
    is_open = (col(Question.id) == question_id, col(Question.status) == QuestionStatus.OPEN)
    changed = session.execute(update(Question).where(*is_open).values(**values))
    session.refresh(row)
    if not cast("CursorResult[Any]", changed).rowcount:
        raise Stale(_was_first(row))
    siblings = of_turn(session, row.turn_key)
    waiting = tuple(other for other in siblings if other.status is QuestionStatus.OPEN)
    if row.call_closed:
        resumes, waiting = row.status is QuestionStatus.ANSWERED, ()
    else:
        has_answer = any(other.status is QuestionStatus.ANSWERED for other in siblings)
        resumes = not waiting and has_answer
    return Settled(question=row, resumes=resumes, late=row.call_closed, still_open=waiting)


def _locked(session: Session, question_id: str) -> Question:
    """The question, its turn's rows locked where the database locks rows.

    Why: two halves answered at the same instant must not both believe the other is missing.
    """
    row = session.get(Question, question_id)
    if row is None:
        raise NotFound(f"no question {question_id}; 'steward questions' lists the open ones")
    turn = select(Question).where(col(Question.turn_key) == row.turn_key)
    fresh = turn.order_by(col(Question.id)).with_for_update()
    session.exec(fresh.execution_options(populate_existing=True)).all()
    return row


def _was_first(row: Question) -> str:
    assert row.answered_at is not None
    when = row.answered_at.isoformat(timespec="seconds")
    return (
        f"question {row.id} was already {row.status.value} by {row.answered_by} "
        f"({row.answered_via}) at {when}; nothing was changed"
    )


def close_calls(session: Session, session_id: str) -> tuple[Question, ...]:
    """The questions whose calls still lacked a result; from now on they have one (`call_result`).

    Called where those results are written: when the session resumes, and when other words come
    first.
    """
    mine = (col(Question.session_id) == session_id, col(Question.call_closed).is_(False))
    rows = session.exec(select(Question).where(*mine).order_by(col(Question.id))).all()
    session.execute(update(Question).where(*mine).values(call_closed=True))
    for row in rows:
        session.refresh(row)
    return tuple(rows)


def call_result(row: Question) -> ToolResult:
    """What the asking call is told: the answer word for word, or that there is none.

    A tapped (or repeated) option was worded by the model, so only other text is the owner's own,
    and only where it names nothing that the question or an option named. What is named is compared
    as identifiers, because `desk@x` is the option `Desk@x`.
    """
    match row.status:
        case QuestionStatus.ANSWERED:
            assert row.answer is not None
            return answered(row.answer, row.question, row.options)
        case QuestionStatus.ABANDONED:
            return ToolResult.error(ABANDONED)
        case QuestionStatus.OPEN:
            return ToolResult.error(STILL_UNANSWERED.format(id=row.id))


def answered(text: str, question: str, options: Sequence[str]) -> ToolResult:
    """An answer as a tool result, verbatim."""
    return replace(ToolResult.ok(text), typed_by_owner=not _repeats(text, question, options))


def _repeats(text: str, question: str, options: Sequence[str]) -> bool:
    """True for an option however it is spelled, and for words that name anything the model named.

    Why the whole answer: its origin is one, so what he adds beside a repeated name waits too.
    """
    if _spelling(text) in map(_spelling, options):
        return True
    by_model = {each for asked in (question, *options) for each in _named(asked, rejoin=True)}
    return not by_model.isdisjoint(_named(text))


def _named(text: str, *, rejoin: bool = False) -> Iterator[Identifier]:
    for found in extract(text, rejoin=rejoin):
        yield mailto_address(found) or found


def _spelling(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def warning(row: Question) -> str | None:
    """What stands above the question where its conversation was tainted."""
    taint = taint_from_json(row.taint)
    if taint.is_untrusted:
        by = ", ".join(str(source) for source in taint.untrusted[:3])
        return (
            "This question comes from a conversation that holds text of others "
            f"({by}). It may be their question: answer nothing you would not tell them, "
            "never a password or a code."
        )
    if taint.is_private:
        return "This question comes from a conversation that has read private data."
    return None


def needs_confirmation(row: Question) -> bool:
    """True where a surface asks once more, under the warning, before it takes an answer."""
    return taint_from_json(row.taint).is_untrusted


def as_json(row: Question) -> dict[str, Any]:
    """The question as every `--json` output shows it (DESIGN section 15)."""
    return {
        "id": row.id,
        "status": row.status.value,
        "question": row.question,
        "options": row.options,
        "session": row.session_id,
        "agent": row.agent,
        "surface": row.surface,
        "taint": taint_from_json(row.taint).flags(),
        "asked_at": row.asked_at.isoformat(),
        "answered_at": row.answered_at.isoformat() if row.answered_at else None,
        "answered_by": row.answered_by,
        "answer": row.answer,
    }
