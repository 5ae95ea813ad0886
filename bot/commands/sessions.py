"""Sessions as a person asks for them: a list, and one shown with its transcript."""

from typing import Any

from sqlmodel import Session

from bot import sessions
from bot.tables import SessionRow
from bot.transcript import lines, session_taint
from bot.wiring import House
from outbox.process import is_surely_dead
from triggers import mailbox
from triggers.tables import CauseStatus


def list_sessions(house: House, *, limit: int, after: str | None) -> list[dict[str, Any]]:
    """The newest sessions; `after` continues below an id."""
    with house.store.read() as session:
        before = sessions.find(session, after).id if after else None
        page = sessions.page(session, limit=limit, before=before)
        return [{**_brief(row), "state": _state(session, row.id)} for row in page]


def show_session(house: House, handle: str) -> dict[str, Any]:
    """One session: id, producer, agent, taint and every line of its transcript.

    Raises: NotFound.
    """
    with house.store.read() as session:
        row = sessions.find(session, handle)
        events = [
            {"seq": e.seq, "at": house.local(e.at), "kind": e.kind.value, **e.data}
            for e in lines(session, row.id)
        ]
        taint = session_taint(session, row.id)
        return {**_brief(row), "taint": taint.flags(), "events": events}


def _state(session: Session, session_id: str) -> str:
    """What the session does: queued, running, waiting for an answer, done, failed or interrupted."""
    cause = mailbox.newest(session, session_id)
    if cause is None:
        return "new"
    if cause.status is CauseStatus.CLAIMED:
        return "interrupted" if is_surely_dead(cause.owner or "") else "running"
    if cause.outcome is not None and cause.outcome.get("stop_cause") == "parked":
        return "waiting"
    return cause.status.value


def _brief(row: SessionRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "producer": row.producer,
        "agent": row.agent,
        "model": row.model,
        "title": row.title,
        "workspace": row.workspace,
        "created_at": row.created_at.isoformat(),
    }
