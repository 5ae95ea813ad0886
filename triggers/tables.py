"""What this floor keeps: causes, each of which makes one run."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, Index
from sqlmodel import Field, SQLModel

from outbox.columns import Closed, Json, UtcTime


class CauseKind(StrEnum):
    """Why a run starts."""

    PROMPT = "prompt"  # a person's words in a door
    ANSWER = "answer"  # every question of a parked turn was answered
    DECISION = "decision"  # the owner rejected drafts of the session


class CauseStatus(StrEnum):
    """Where a cause stands; moves only along `CAUSE_MOVES`."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


CAUSE_MOVES: dict[CauseStatus, frozenset[CauseStatus]] = {
    CauseStatus.QUEUED: frozenset({CauseStatus.CLAIMED}),
    CauseStatus.CLAIMED: frozenset(
        {CauseStatus.DONE, CauseStatus.FAILED, CauseStatus.INTERRUPTED, CauseStatus.QUEUED}
    ),
    CauseStatus.DONE: frozenset(),
    CauseStatus.FAILED: frozenset(),
    CauseStatus.INTERRUPTED: frozenset(),
}


class Cause(SQLModel, table=True):
    """One reason to run one session, claimed by one process at a time.

    `for_process` names the only process that may claim it while that process lives. `owner` and
    `epoch` are the fence: whatever a run writes re-checks both.
    """

    __tablename__ = "cause"
    __table_args__ = (
        Index("cause_by_status", "status", "id"),
        Index("cause_by_session", "session_id", "status"),
    )

    id: str = Field(primary_key=True, max_length=32)
    kind: CauseKind = Field(sa_column=Column(Closed(CauseKind), nullable=False))
    status: CauseStatus = Field(sa_column=Column(Closed(CauseStatus), nullable=False))
    session_id: str
    producer: str
    agent: str
    payload: dict[str, Any] = Field(sa_column=Column(Json, nullable=False))
    for_process: str | None = None
    owner: str | None = None
    epoch: int = 0
    attempt: int = 0
    lease_until: datetime | None = Field(default=None, sa_column=Column(UtcTime))
    not_before: datetime = Field(sa_column=Column(UtcTime, nullable=False))
    created_at: datetime = Field(sa_column=Column(UtcTime, nullable=False))
    claimed_at: datetime | None = Field(default=None, sa_column=Column(UtcTime))
    ended_at: datetime | None = Field(default=None, sa_column=Column(UtcTime))
    outcome: dict[str, Any] | None = Field(default=None, sa_column=Column(Json))
