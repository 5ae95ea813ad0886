"""Runs one cause: opens its session, takes in what it says, goes round the loop, writes the end.

This is the way to run an agent that the ticker is handed, and the one place the loop is called.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Protocol
from zoneinfo import ZoneInfo

from sqlmodel import Session, col, select

from bot import intake, loop
from bot.conversation import Conversation, replay
from bot.errors import BotError, NotFound
from bot.intake import Moment
from bot.limits import Limits, StopCause
from bot.loop import LoopParts, Observer, Steering
from bot.models.contract import Model, ToolSchema, Usage
from bot.outcome import RunOutcome
from bot.tables import Event, EventKind, SessionRow
from bot.transcript import RunJournal, lines, session_taint
from outbox.approval import Door
from outbox.gate import Gate
from outbox.journal import Store
from outbox.policy import Mode
from outbox.tables import Draft
from tools.crashpoint import crash_point
from triggers.lease import Lease
from triggers.tables import Cause, CauseKind, CauseStatus
from triggers.ticker import Ended

RETRY_AFTER = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15))


@dataclass(frozen=True, slots=True, kw_only=True)
class Posture:
    """How a run stands towards its owner: who can be asked, what is let through, who watches."""

    door: Door
    mode: Mode
    limits: Limits
    observer: Observer
    take_steering: Callable[[], Sequence[Steering]]
    model: str | None = None  # instead of the session's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What a session's run works with, built by the wiring for this one run."""

    model: Model
    schemas: Sequence[ToolSchema]
    gate: Gate
    price: Callable[[Usage], Decimal | None]
    redact: Callable[[str], tuple[str, int]]


class Workshop(Protocol):
    """Whoever can equip a run; `bot.wiring` does."""

    def equipped(
        self, row: SessionRow, journal: RunJournal, posture: Posture
    ) -> AbstractAsyncContextManager[Equipment]:
        """Model, tools and gate for this session, while the context lasts. Raises: BotError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Runs causes in one posture."""

    store: Store
    workshop: Workshop
    posture: Posture
    zone: ZoneInfo
    now: Callable[[], datetime]
    boundary: Callable[[], str]

    async def run(self, lease: Lease) -> Ended:
        """Carry out the claimed cause; what steward itself refuses ends it as failed.

        Raises: LeaseLost.
        """
        try:
            return await self._carry_out(lease)
        except BotError as problem:
            outcome = RunOutcome(stop_cause=StopCause.ERROR, error=str(problem))
            report = {**outcome.as_json(), "session": lease.claim.session_id}
            return Ended(status=CauseStatus.FAILED, outcome=report)

    async def _carry_out(self, lease: Lease) -> Ended:
        journal = RunJournal(self.store, lease, self.now)
        row, conversation = self._open(journal.session_id)
        moment = Moment(
            now=self.now(),
            zone=self.zone,
            door=self.posture.door.name,
            attended=self.posture.door.present,
            mode=self.posture.mode,
            boundary=self.boundary,
        )
        intake.begin(journal, conversation, lease.claim, moment)
        crash_point("run.begun")
        if not conversation.awaits_model:
            # the run of other words has carried the answer already
            return self._end(journal, RunOutcome())
        async with self.workshop.equipped(row, journal, self.posture) as equipment:
            parts = LoopParts(
                model=equipment.model,
                schemas=equipment.schemas,
                gate=equipment.gate,
                journal=journal,
                limits=self.posture.limits,
                observer=self.posture.observer,
                take_steering=self.posture.take_steering,
                price=equipment.price,
                redact=equipment.redact,
                clock=time.monotonic,
            )
            outcome = await loop.run(conversation, parts)
        ended = self._end(journal, outcome)
        return replace(ended, retry_at=self._retry_at(lease, outcome))

    def _retry_at(self, lease: Lease, outcome: RunOutcome) -> datetime | None:
        """When to try again because no model answered at all; a person at a door does that himself."""
        claim = lease.claim
        answered = outcome.spent.turns or outcome.answer
        if outcome.stop_cause is not StopCause.ERROR or answered:
            return None
        if claim.kind is CauseKind.PROMPT or claim.attempt > len(RETRY_AFTER):
            return None
        return self.now() + RETRY_AFTER[claim.attempt - 1]

    def _open(self, session_id: str) -> tuple[SessionRow, Conversation]:
        with self.store.read() as session:
            row = session.get(SessionRow, session_id)
            if row is None:
                raise NotFound(f"session {session_id} is not in the database")
            conversation = Conversation(
                session_id=row.id, agent=row.agent, producer=row.producer, system=row.system
            )
            replay(conversation, lines(session, row.id))
        return row, conversation

    def _end(self, journal: RunJournal, outcome: RunOutcome) -> Ended:
        """Write the end. The taint is the transcript's, which also knows a turn that was cut off."""
        with journal.record() as session:
            taint = session_taint(session, journal.session_id)
            report = {
                **outcome.as_json(),
                "session": journal.session_id,
                "taint": taint.flags(),
            }
            journal.write(session, EventKind.RUN_ENDED, report)
        crash_point("run.ended")
        return Ended(status=_status(outcome.stop_cause), outcome=report)


def _status(stop: StopCause) -> CauseStatus:
    match stop:
        case StopCause.ERROR:
            return CauseStatus.FAILED
        case StopCause.CANCELLED:
            return CauseStatus.INTERRUPTED
        case _:
            return CauseStatus.DONE


def had_effect(session: Session, cause: Cause) -> bool:
    """True if anything outside the transcript may have come of the cause's run so far.

    That is a started call, a parked question, a draft, or an end that was written down. A draft is
    known by its call, whose result is a line of this very run; no clock is asked.
    """
    effects = (EventKind.STARTED, EventKind.PARKED, EventKind.RUN_ENDED)
    mine = (col(Event.session_id) == cause.session_id, col(Event.run_id) == cause.id)
    started = select(Event.seq).where(*mine, col(Event.kind).in_(effects))
    if session.exec(started).first() is not None:
        return True
    results = select(Event.data).where(*mine, col(Event.kind) == EventKind.RESULT)
    calls = {data["call_id"] for data in session.exec(results)}
    drafted = select(Draft.call_id).where(col(Draft.session_id) == cause.session_id)
    return not calls.isdisjoint(session.exec(drafted).all())


def cut_short(status: CauseStatus, error: str) -> Ended:
    """How a run ends that could not report: stopped, taken over, or broken."""
    stop = StopCause.ERROR if status is CauseStatus.FAILED else StopCause.CANCELLED
    return Ended(status=status, outcome=RunOutcome(stop_cause=stop, error=error).as_json())
