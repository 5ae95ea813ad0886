"""How a draft moves from one state to the next, and how a refusal to move it reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, CursorResult, update
from sqlmodel import Session, col

from outbox.errors import NotAllowed, NotFound, OutboxError, Stale
from outbox.tables import DRAFT_MOVES, Draft, DraftStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Who decided, and in which door."""

    by: str
    via: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A move from any of `sources` to `target`, with what it writes and on what further condition."""

    sources: frozenset[DraftStatus]
    target: DraftStatus
    values: Mapping[str, Any] = field(default_factory=dict)
    where: tuple[ColumnElement[bool], ...] = ()


def move(session: Session, draft_id: str, step: Step) -> bool:
    """One conditional update; True if this very call moved the draft."""
    for source in step.sources:
        assert step.target in DRAFT_MOVES[source], f"{source} to {step.target} is no move"
    return change(
        session,
        draft_id,
        col(Draft.status).in_(step.sources),
        *step.where,
        values={"status": step.target, **step.values},
    )


def change(
    session: Session, draft_id: str, *where: ColumnElement[bool], values: Mapping[str, Any]
) -> bool:
    """One conditional update of a draft; True if it took place."""
    statement = (
        update(Draft)
        .where(col(Draft.id) == draft_id, *where)
        .values(**values)
        .execution_options(synchronize_session=False)
    )
    result = session.execute(statement)
    assert isinstance(result, CursorResult)
    return bool(result.rowcount == 1)


def load(session: Session, draft_id: str) -> Draft:
    """The draft as the database holds it now, detached from the session.

    Raises: NotFound.
    """
    draft = session.get(Draft, draft_id, populate_existing=True)
    if draft is None:
        raise NotFound(f"there is no draft {draft_id}; 'steward outbox' lists them")
    session.expunge(draft)
    return draft


def moment(time: datetime | None) -> str:
    """A time for a sentence, in UTC."""
    return "an unknown time" if time is None else f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def not_pending(draft: Draft) -> OutboxError:
    """Why a draft that is not pending cannot be decided: who did, when and where."""
    who = f"by {draft.decided_by or 'nobody'} via {draft.decided_via or 'no door'}"
    match draft.status:
        case DraftStatus.SENT:
            return Stale(f"draft {draft.id} was already sent at {moment(draft.updated_at)} {who}")
        case DraftStatus.SENDING:
            return Stale(
                f"draft {draft.id} is being sent since {moment(draft.decided_at)}, released {who}"
            )
        case DraftStatus.UNCERTAIN:
            return NotAllowed(
                f"draft {draft.id} may or may not have gone out ({draft.error or 'no answer came'}); "
                "look at the destination, then 'steward outbox reconcile "
                f"{draft.id} --outcome delivered|not-delivered --evidence TEXT'"
            )
        case DraftStatus.REJECTED:
            reason = f": {draft.reason}" if draft.reason else ""
            return Stale(
                f"draft {draft.id} was rejected at {moment(draft.decided_at)} {who}{reason}"
            )
        case DraftStatus.SUPERSEDED:
            return Stale(f"draft {draft.id} was replaced by draft {draft.superseded_by}")
        case DraftStatus.EXPIRED:
            return Stale(f"draft {draft.id} expired at {moment(draft.updated_at)}")
        case DraftStatus.PENDING:
            return changed(draft)


def changed(draft: Draft) -> Stale:
    """The draft is not the one that was read."""
    return Stale(
        f"draft {draft.id} changed after you read it; it is revision {draft.revision} now: "
        f"'steward outbox show {draft.id}'"
    )
