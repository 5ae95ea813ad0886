"""Sessions in the database: created, found by a piece of their id, listed newest first."""

from collections.abc import Sequence

from sqlmodel import Session, col, select

from bot.errors import NotFound
from bot.tables import SessionRow

CANDIDATES_SHOWN = 5


def create(session: Session, row: SessionRow) -> None:
    """Keep a new session."""
    session.add(row)
    session.flush()


def find(session: Session, handle: str) -> SessionRow:
    """The session whose id is, begins with or ends with the handle.

    Raises: NotFound when there is none, or when several fit.
    """
    exact = session.get(SessionRow, handle)
    if exact is not None:
        return exact
    fits = col(SessionRow.id).startswith(handle, autoescape=True) | col(SessionRow.id).endswith(
        handle, autoescape=True
    )
    found = session.exec(select(SessionRow).where(fits).limit(CANDIDATES_SHOWN)).all()
    if not handle or not found:
        raise NotFound(f"no session '{handle}'; 'steward sessions list' shows them")
    if len(found) > 1:
        several = ", ".join(row.id for row in found)
        raise NotFound(f"'{handle}' fits several sessions ({several}); give more of the id")
    return found[0]


def page(session: Session, *, limit: int, before: str | None = None) -> Sequence[SessionRow]:
    """The newest sessions, or those older than an id."""
    newest = select(SessionRow).order_by(col(SessionRow.id).desc()).limit(limit)
    return session.exec(newest.where(col(SessionRow.id) < before) if before else newest).all()
