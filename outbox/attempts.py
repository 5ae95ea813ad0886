"""The attempts of a draft: each is committed before the tool is called, and ended once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, exists, func, update
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from outbox.process import is_surely_dead
from outbox.tables import Attempt, AttemptOutcome, Draft, DraftStatus

DEADLINE = timedelta(minutes=15)
VERIFY_SECONDS = 30.0  # how long a destination is waited for when it is asked
VERIFY_AFTER = (timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=10))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an attempt ended."""

    outcome: AttemptOutcome
    detail: str
    at: datetime


def database_now(session: Session) -> datetime:
    """The database's own clock, which every process and machine on it shares; whole seconds."""
    now = session.execute(select(func.current_timestamp())).scalar_one()
    assert isinstance(now, datetime)
    return now if now.tzinfo else now.replace(tzinfo=UTC)


def all_attempts(session: Session, draft_id: str) -> Sequence[Attempt]:
    """The attempts of a draft in their order, detached from the session."""
    mine = select(Attempt).where(col(Attempt.draft_id) == draft_id)
    rows = session.exec(
        mine.order_by(col(Attempt.n)).execution_options(populate_existing=True)
    ).all()
    for row in rows:
        session.expunge(row)
    return rows


def last_attempt(session: Session, draft_id: str) -> Attempt | None:
    """The newest attempt."""
    every = all_attempts(session, draft_id)
    return every[-1] if every else None


def open_attempt(session: Session, draft: Draft, process: str) -> Attempt:
    """A new attempt at what the draft holds, in the transaction that claims it."""
    now = database_now(session)
    before = last_attempt(session, draft.id)
    attempt = Attempt(
        draft_id=draft.id,
        n=before.n + 1 if before else 1,
        revision=draft.revision,
        delivery_key=draft.delivery_key,
        process=process,
        started_at=now,
        deadline_at=now + DEADLINE,
        outcome=AttemptOutcome.OPEN,
    )
    session.add(attempt)
    session.flush()
    session.expunge(attempt)
    return attempt


def end_attempt(session: Session, attempt: Attempt, ending: Ending) -> None:
    """The attempt is ended; only a `sent` is written over an earlier ending, because it is the truth."""
    mine = [col(Attempt.draft_id) == attempt.draft_id, col(Attempt.n) == attempt.n]
    if ending.outcome is not AttemptOutcome.SENT:
        mine.append(col(Attempt.outcome).in_([AttemptOutcome.OPEN, AttemptOutcome.UNKNOWN]))
    session.execute(
        update(Attempt)
        .where(*mine)
        .values(outcome=ending.outcome, detail=ending.detail, ended_at=ending.at)
        .execution_options(synchronize_session=False)
    )


def is_newest(attempt: Attempt) -> ColumnElement[bool]:
    """The condition that no later attempt at the same draft exists."""
    other = aliased(Attempt)
    later = (col(other.draft_id) == attempt.draft_id, col(other.n) > attempt.n)
    return ~exists(select(other.n).where(*later))


def still_in_flight(session: Session, attempt: Attempt) -> bool:
    """True while the draft is being sent by this very attempt, and nobody has ended it."""
    mine = (
        col(Draft.id) == attempt.draft_id,
        col(Draft.status) == DraftStatus.SENDING,
        col(Attempt.draft_id) == col(Draft.id),
        col(Attempt.n) == attempt.n,
        col(Attempt.outcome) == AttemptOutcome.OPEN,
        is_newest(attempt),
    )
    return session.exec(select(Draft.id).where(*mine)).first() is not None


def lost_because(attempt: Attempt | None, now: datetime) -> str | None:
    """Why an attempt in flight will never be ended by its own process; None while it may be."""
    if attempt is None:
        return "there is no record of the attempt"
    if is_surely_dead(attempt.process):
        return "the process that was sending ended before an answer came"
    if now >= attempt.deadline_at:
        return "no answer came before the deadline"
    return None


def next_verify_at(ended_at: datetime, tries: int) -> datetime | None:
    """When the destination is asked the next time, after `tries` times; None: never again."""
    return ended_at + VERIFY_AFTER[tries] if tries < len(VERIFY_AFTER) else None
