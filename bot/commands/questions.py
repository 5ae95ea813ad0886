"""Questions as a person asks for them: listed, shown, answered once, or closed without an answer."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from bot.commands.run import report
from bot.service import Posture
from bot.wiring import House
from outbox import questions
from outbox.questions import Settled
from outbox.states import Decider
from outbox.tables import Question
from tools.crashpoint import crash_point
from tools.ids import new_id
from triggers import mailbox
from triggers.mailbox import NewCause
from triggers.tables import CauseKind

WAIT_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What an answer led to. `cause_id` is the run that goes on, where one does."""

    question: Mapping[str, Any]
    still_open: tuple[str, ...]
    cause_id: str | None


def list_questions(
    house: House, *, every: bool, limit: int, after: str | None
) -> list[dict[str, Any]]:
    """Open questions, or all, newest first."""
    with house.store.read() as session:
        last = questions.find(session, after).id if after else None
        rows = questions.list_page(session, every=every, limit=limit, after=last)
        return [questions.as_json(row) for row in rows]


def show_question(house: House, handle: str) -> tuple[Question, dict[str, Any]]:
    """One question, as stored and as `--json` shows it. Raises: NotFound, Ambiguous."""
    with house.store.read() as session:
        row = questions.find(session, handle)
        shown = questions.as_json(row)
        session.expunge_all()
    return row, shown


def answer_question(house: House, question_id: str, text: str, *, via: str) -> Answered:
    """Store the answer and, if the turn is complete, queue the run that goes on: one transaction.

    Raises: Stale naming who was first; NotAllowed for an empty answer.
    """
    now = house.now()
    with house.store.effect() as session:
        by = Decider(by="owner", via=via)
        settled = questions.answer(session, question_id, text, decider=by, now=now)
        answered = _followed(house, session, settled)
    crash_point("answer.stored")
    return answered


def abandon_question(house: House, question_id: str, *, via: str) -> Answered:
    """Close the question without an answer; a run goes on only if a sibling has one.

    Raises: Stale naming who was first.
    """
    with house.store.effect() as session:
        by = Decider(by="owner", via=via)
        settled = questions.abandon(session, question_id, decider=by, now=house.now())
        return _followed(house, session, settled)


def _followed(house: House, session: Session, settled: Settled) -> Answered:
    row = settled.question
    cause_id = None
    if settled.resumes:
        now = house.now()
        cause_id = new_id(now)
        cause = NewCause(
            id=cause_id,
            kind=CauseKind.ANSWER,
            session_id=row.session_id,
            producer=row.producer,
            agent=row.agent,
            payload={"question": row.id, "turn_key": row.turn_key, "late": settled.late},
            for_process=house.process,
        )
        mailbox.post(session, cause, now)
    return Answered(
        question=questions.as_json(row),
        still_open=tuple(other.id for other in settled.still_open),
        cause_id=cause_id,
    )


async def resume(
    house: House, cause_id: str, posture: Posture, stop: asyncio.Event
) -> Mapping[str, Any] | None:
    """Run the session on from the answer; None if stopped while another run held the session.

    Then the cause stays queued, and the next process that looks carries it out.
    """
    ticker = house.ticker(posture)
    claim = None
    while claim is None and not stop.is_set():
        ticker.recover()
        claim = ticker.claim(cause_id)
        if claim is None:
            with house.store.effect() as session:
                mailbox.keep_reserved(session, cause_id, house.process, house.now())
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), WAIT_SECONDS)
    if claim is None:
        return None
    return report(house, claim, await ticker.carry_out(claim, stop))
