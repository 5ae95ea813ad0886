"""The durable mailbox of causes: posted once, claimed by one process at a time, fenced to the end.

Why: everything that makes an agent run passes here, so that a restart loses nothing and one
session never has two runs. A claim is one conditional update; the epoch it raises is re-checked
in the transaction of every effect, so that a holder who was away too long writes nothing more.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from sqlalchemy import ColumnElement, CursorResult, Update, and_, exists, or_
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select, update

from outbox.errors import LeaseLost
from triggers.tables import Cause, CauseKind, CauseStatus

LEASE = timedelta(seconds=60)
ATTEMPTS_AT_MOST = 2

HadEffect = Callable[[Session, Cause], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCause:
    """What a door (or an answer, or a decision) posts."""

    id: str
    kind: CauseKind
    session_id: str
    producer: str
    agent: str
    payload: Mapping[str, Any]
    for_process: str | None = None
    not_before: datetime | None = None  # default: now


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A cause this process holds, at the epoch it claimed it."""

    cause_id: str
    kind: CauseKind
    session_id: str
    producer: str
    agent: str
    payload: Mapping[str, Any]
    owner: str
    epoch: int
    attempt: int


def post(session: Session, new: NewCause, now: datetime) -> None:
    """Queue a cause; it is claimed in the order of its id."""
    session.add(
        Cause(
            id=new.id,
            kind=new.kind,
            status=CauseStatus.QUEUED,
            session_id=new.session_id,
            producer=new.producer,
            agent=new.agent,
            payload=dict(new.payload),
            for_process=new.for_process,
            lease_until=now + LEASE if new.for_process else None,
            not_before=new.not_before or now,
            created_at=now,
        )
    )
    session.flush()


def claim(
    session: Session, *, owner: str, now: datetime, cause_id: str | None = None
) -> Claim | None:
    """Claim that cause, or the oldest due one that names no process; None where there is none.

    A cause is not claimed while another one of its session is, nor by a process it does not name.
    """
    oldest = (
        select(Cause.id)
        .where(*_claimable(owner=owner, now=now, cause_id=cause_id))
        .order_by(col(Cause.id))
        .limit(1)
        .scalar_subquery()
    )
    statement = (
        update(Cause)
        .where(col(Cause.id) == oldest, col(Cause.status) == CauseStatus.QUEUED)
        .values(
            status=CauseStatus.CLAIMED,
            owner=owner,
            epoch=Cause.epoch + 1,
            attempt=Cause.attempt + 1,
            claimed_at=now,
            lease_until=now + LEASE,
        )
        .returning(Cause)
    )
    cause = session.scalars(statement).one_or_none()
    return None if cause is None else _as_claim(cause, owner)


def is_claimable(
    session: Session, *, owner: str, now: datetime, cause_id: str | None = None
) -> bool:
    """True if `claim` would find one now; it only reads, so that looking locks nobody out."""
    some = select(Cause.id).where(*_claimable(owner=owner, now=now, cause_id=cause_id)).limit(1)
    return session.exec(some).first() is not None


def is_held_or_reserved(session: Session) -> bool:
    """True if any cause is claimed, or waits for one process: all that `recover` looks at."""
    reserved = and_(col(Cause.status) == CauseStatus.QUEUED, col(Cause.for_process).is_not(None))
    some = select(Cause.id).where(or_(col(Cause.status) == CauseStatus.CLAIMED, reserved))
    return session.exec(some.limit(1)).first() is not None


def _claimable(*, owner: str, now: datetime, cause_id: str | None) -> list[ColumnElement[bool]]:
    other = aliased(Cause)
    session_is_free = ~exists().where(
        and_(
            col(other.session_id) == col(Cause.session_id),
            col(other.status) == CauseStatus.CLAIMED,
        )
    )
    names_nobody = col(Cause.for_process).is_(None)
    due = [col(Cause.status) == CauseStatus.QUEUED, col(Cause.not_before) <= now, session_is_free]
    if cause_id is None:
        return [*due, names_nobody]
    return [*due, col(Cause.id) == cause_id, or_(names_nobody, col(Cause.for_process) == owner)]


def _as_claim(cause: Cause, owner: str) -> Claim:
    return Claim(
        cause_id=cause.id,
        kind=cause.kind,
        session_id=cause.session_id,
        producer=cause.producer,
        agent=cause.agent,
        payload=cause.payload,
        owner=owner,
        epoch=cause.epoch,
        attempt=cause.attempt,
    )


def check_fence(session: Session, held: Claim) -> None:
    """Prove, inside the caller's transaction, that the cause is still held at that epoch.

    Raises: LeaseLost.
    """
    still_held = select(Cause.id).where(*_held(held))
    if session.exec(still_held).first() is None:
        raise LeaseLost(
            f"the run of session {held.session_id} was taken over; nothing more is written by it"
        )


def renew(session: Session, held: Claim, now: datetime) -> bool:
    """Extend the lease by its full length; False if the cause is no longer held."""
    return _changed(session, update(Cause).where(*_held(held)).values(lease_until=now + LEASE))


def finish(
    session: Session,
    held: Claim,
    *,
    status: CauseStatus,
    outcome: Mapping[str, Any],
    now: datetime,
) -> bool:
    """End the cause; False if somebody else holds it by now, and then nothing changes."""
    ended = {"status": status, "outcome": dict(outcome), "ended_at": now, "lease_until": None}
    return _changed(session, update(Cause).where(*_held(held)).values(**ended))


def postpone(session: Session, held: Claim, not_before: datetime) -> bool:
    """Queue the cause again for any process; False if somebody else holds it by now."""
    queued_again = {
        "status": CauseStatus.QUEUED,
        "not_before": not_before,
        "for_process": None,
        "owner": None,
        "lease_until": None,
    }
    return _changed(session, update(Cause).where(*_held(held)).values(**queued_again))


def _held(held: Claim) -> tuple[ColumnElement[bool], ...]:
    return (
        col(Cause.id) == held.cause_id,
        col(Cause.status) == CauseStatus.CLAIMED,
        col(Cause.owner) == held.owner,
        col(Cause.epoch) == held.epoch,
    )


def recover(
    session: Session, *, now: datetime, is_dead: Callable[[str], bool], had_effect: HadEffect
) -> Sequence[Cause]:
    """Mend what dead processes left behind; gives the causes that are `interrupted` from now on.

    A claimed cause whose owner is dead, or whose lease ran out, is queued once more if no effect
    of it had begun and no person waits at the terminal that posted it; otherwise it is
    `interrupted`. A queued cause that names a process that is dead, or did not keep its
    reservation, is opened to every process, or `interrupted` where it was a person's prompt.
    """
    interrupted = []
    for cause in session.exec(select(Cause).where(col(Cause.status) == CauseStatus.CLAIMED)):
        if _lapsed(cause, now) or is_dead(cause.owner or ""):
            again = (
                cause.kind is not CauseKind.PROMPT
                and cause.attempt < ATTEMPTS_AT_MOST
                and not had_effect(session, cause)
            )
            if _take_away(session, cause, again=again, now=now) and not again:
                interrupted.append(cause)
    waiting = (col(Cause.status) == CauseStatus.QUEUED, col(Cause.for_process).is_not(None))
    for cause in session.exec(select(Cause).where(*waiting)):
        if _lapsed(cause, now) or is_dead(cause.for_process or ""):
            again = cause.kind is not CauseKind.PROMPT
            if _take_away(session, cause, again=again, now=now) and not again:
                interrupted.append(cause)
    return interrupted


def _lapsed(cause: Cause, now: datetime) -> bool:
    return cause.lease_until is not None and cause.lease_until <= now


def _take_away(session: Session, cause: Cause, *, again: bool, now: datetime) -> bool:
    ended = {"status": CauseStatus.INTERRUPTED, "ended_at": now}
    values = {"status": CauseStatus.QUEUED} if again else ended
    unchanged = (
        col(Cause.id) == cause.id,
        col(Cause.status) == cause.status,
        col(Cause.epoch) == cause.epoch,
    )
    taken = {"epoch": cause.epoch + 1, "for_process": None, "owner": None, "lease_until": None}
    return _changed(session, update(Cause).where(*unchanged).values(**values, **taken))


def holder(session: Session, session_id: str) -> str | None:
    """The process that runs this session now, if any."""
    held = (col(Cause.session_id) == session_id, col(Cause.status) == CauseStatus.CLAIMED)
    return session.exec(select(Cause.owner).where(*held)).first()


def newest(session: Session, session_id: str) -> Cause | None:
    """The session's newest cause."""
    mine = select(Cause).where(col(Cause.session_id) == session_id)
    return session.exec(mine.order_by(col(Cause.id).desc()).limit(1)).first()


def queued(session: Session, session_id: str, kind: CauseKind) -> Sequence[Cause]:
    """The queued causes of one kind and session, oldest first."""
    waiting = (
        col(Cause.session_id) == session_id,
        col(Cause.status) == CauseStatus.QUEUED,
        col(Cause.kind) == kind,
    )
    return session.exec(select(Cause).where(*waiting).order_by(col(Cause.id))).all()


def keep_reserved(session: Session, cause_id: str, process: str, now: datetime) -> bool:
    """Extend the reservation of a queued cause for its process; False if it is not reserved."""
    reserved = (
        col(Cause.id) == cause_id,
        col(Cause.status) == CauseStatus.QUEUED,
        col(Cause.for_process) == process,
    )
    return _changed(session, update(Cause).where(*reserved).values(lease_until=now + LEASE))


def add_to_queued(
    session: Session, cause_id: str, *, payload: Mapping[str, Any], not_before: datetime
) -> bool:
    """Replace the payload of a cause that was never claimed; False if it was.

    Why never: a run that died may have told the old payload already, and would not tell it again.
    """
    still_queued = (
        col(Cause.id) == cause_id,
        col(Cause.status) == CauseStatus.QUEUED,
        col(Cause.attempt) == 0,
    )
    values = {"payload": dict(payload), "not_before": not_before}
    return _changed(session, update(Cause).where(*still_queued).values(**values))


def fold(session: Session, cause_id: str, into: str, now: datetime) -> bool:
    """End a queued cause because the run of another one carries its words; False if it was claimed."""
    still_queued = (col(Cause.id) == cause_id, col(Cause.status) == CauseStatus.QUEUED)
    values = {"status": CauseStatus.DONE, "ended_at": now, "outcome": {"folded_into": into}}
    return _changed(session, update(Cause).where(*still_queued).values(**values))


def rounds_since_prompt(session: Session, session_id: str, kind: CauseKind) -> int:
    """How many causes of that kind the session has had since its last prompt by a person."""
    last_prompt = (
        select(Cause.id)
        .where(col(Cause.session_id) == session_id, col(Cause.kind) == CauseKind.PROMPT)
        .order_by(col(Cause.id).desc())
        .limit(1)
    )
    since = session.exec(last_prompt).first() or ""
    of_kind = (
        col(Cause.session_id) == session_id,
        col(Cause.kind) == kind,
        col(Cause.id) > since,
    )
    return len(session.exec(select(Cause.id).where(*of_kind)).all())


def _changed(session: Session, statement: Update) -> bool:
    result = cast("CursorResult[Any]", session.execute(statement))
    return result.rowcount == 1
