"""Makers for the mailbox of causes."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from outbox.journal import Store
from tools.ids import new_id
from triggers import mailbox
from triggers.mailbox import NewCause
from triggers.tables import Cause, CauseKind

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
HERE, THERE = "here/1/1/1", "there/1/1/1"


def at(seconds: float) -> datetime:
    """That many seconds after noon."""
    return NOON + timedelta(seconds=seconds)


def post_cause(
    store: Store,
    *,
    kind: CauseKind = CauseKind.PROMPT,
    session_id: str = "s1",
    for_process: str | None = None,
    not_before: datetime | None = None,
    payload: Mapping[str, Any] | None = None,
    posted: datetime = NOON,
) -> str:
    """Post a cause; gives its id."""
    cause_id = new_id(posted)
    with store.effect() as session:
        new = NewCause(
            id=cause_id,
            kind=kind,
            session_id=session_id,
            producer="run",
            agent="assistant",
            payload=payload or {},
            for_process=for_process,
            not_before=not_before,
        )
        mailbox.post(session, new, posted)
    return cause_id


def cause(store: Store, cause_id: str) -> Cause:
    """The cause as the database holds it now."""
    with store.read() as session:
        row = session.get(Cause, cause_id)
        assert row is not None
        return row
