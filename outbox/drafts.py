"""Finding drafts by what a person types, listing them page by page, rejecting and expiring them."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, update
from sqlmodel import Session, col, select

from outbox.errors import NotAllowed, NotFound
from outbox.handles import Kind, find_by_handle
from outbox.states import Decider, Step, load, move, not_pending
from outbox.tables import Draft, DraftStatus

PAGE_LIMIT = 500
KIND = Kind(one="draft", several="drafts", lister="steward outbox")


def find(session: Session, handle: str, *, status: DraftStatus | None = None) -> Draft:
    """The one draft whose id is, starts with or ends with the handle, detached from the session.

    Raises: NotFound; Ambiguous naming some of the candidates; NotAllowed if it stands elsewhere
    than `status` says.
    """
    found = find_by_handle(session, Draft, handle, KIND)
    draft = load(session, found.id)
    if status is not None and draft.status is not status:
        raise NotAllowed(f"draft {draft.id} is {draft.status}, not {status}")
    return draft


def find_all(
    session: Session, handles: Sequence[str], *, status: DraftStatus | None = None
) -> list[Draft]:
    """The drafts of several handles, each once, in the order given.

    Raises: as `find`; NotFound when no handle is given: nothing named never means everything.
    """
    if not handles:
        raise NotFound("name at least one draft; 'steward outbox' lists them")
    found = [find(session, handle, status=status) for handle in handles]
    return list({draft.id: draft for draft in found}.values())


def list_page(
    session: Session,
    *,
    status: DraftStatus | None = None,
    limit: int = 50,
    after: str | None = None,
) -> list[Draft]:
    """At most `limit` (1 to 500) drafts, newest first; `after` is the last id of the page before."""
    query = select(Draft).order_by(col(Draft.id).desc()).limit(min(max(limit, 1), PAGE_LIMIT))
    if status is not None:
        query = query.where(col(Draft.status) == status)
    if after is not None:
        query = query.where(col(Draft.id) < after)
    drafts = list(session.exec(query).all())
    for draft in drafts:
        session.expunge(draft)
    return drafts


def reject(
    session: Session, draft_id: str, *, decider: Decider, reason: str, now: datetime
) -> Draft:
    """The draft is rejected, with the reason its agent will be told.

    Raises: NotAllowed without a reason or while it is uncertain; Stale naming who decided first.
    """
    if not reason.strip():
        raise NotAllowed("a rejection needs a reason; the agent is told it: --reason TEXT")
    step = Step(
        sources=frozenset({DraftStatus.PENDING}),
        target=DraftStatus.REJECTED,
        values={
            "decided_at": now,
            "decided_by": decider.by,
            "decided_via": decider.via,
            "reason": reason.strip(),
            "updated_at": now,
        },
    )
    moved = move(session, draft_id, step)
    draft = load(session, draft_id)
    if not moved:
        raise not_pending(draft)
    return draft


def has_expired(session: Session, *, now: datetime, expire_days: int) -> bool:
    """True if `expire` would find one now; it only reads."""
    some = select(Draft.id).where(*_overdue(now, expire_days)).limit(1)
    return session.exec(some).first() is not None


def _overdue(now: datetime, expire_days: int) -> tuple[ColumnElement[bool], ...]:
    return (
        col(Draft.status) == DraftStatus.PENDING,
        col(Draft.created_at) < now - timedelta(days=expire_days),
    )


def expire(session: Session, *, now: datetime, expire_days: int) -> int:
    """Pending drafts older than so many days are expired; gives how many."""
    statement = (
        update(Draft)
        .where(*_overdue(now, expire_days))
        .values(status=DraftStatus.EXPIRED, updated_at=now)
        .execution_options(synchronize_session=False)
        .returning(col(Draft.id))
    )
    return len(session.execute(statement).all())
