"""Sessions in the database: created, found by a piece of their id, listed newest first."""

from collections.abc import Sequence

from sqlmodel import Session, col, select

from bot.tables import SessionRow
from outbox.handles import Kind, find_by_handle

KIND = Kind(one="session", several="sessions", lister="steward sessions list")


def create(session: Session, row: SessionRow) -> None:
    """Keep a new session."""
    session.add(row)
    session.flush()


def find(session: Session, handle: str) -> SessionRow:
    """The session whose id is, begins with or ends with the handle. Raises: NotFound, Ambiguous."""
    return find_by_handle(session, SessionRow, handle, KIND)


def page(session: Session, *, limit: int, before: str | None = None) -> Sequence[SessionRow]:
    """The newest sessions, or those older than an id."""
    newest = select(SessionRow).order_by(col(SessionRow.id).desc()).limit(limit)
    return session.exec(newest.where(col(SessionRow.id) < before) if before else newest).all()
