"""What the outbox keeps: drafts, their attempts, questions, and who wrote which file."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, Index
from sqlmodel import Field, SQLModel

from outbox.columns import Closed, Json, UtcTime


class DraftStatus(StrEnum):
    """Where a draft stands; moves only along `DRAFT_MOVES`."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    UNCERTAIN = "uncertain"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"


DRAFT_MOVES: dict[DraftStatus, frozenset[DraftStatus]] = {
    DraftStatus.PENDING: frozenset(
        {
            DraftStatus.SENDING,
            DraftStatus.REJECTED,
            DraftStatus.SUPERSEDED,
            DraftStatus.EXPIRED,
            DraftStatus.UNCERTAIN,  # a restored backup: it may have been sent after the copy
        }
    ),
    DraftStatus.SENDING: frozenset({DraftStatus.SENT, DraftStatus.PENDING, DraftStatus.UNCERTAIN}),
    DraftStatus.UNCERTAIN: frozenset({DraftStatus.SENT, DraftStatus.PENDING}),
    DraftStatus.SENT: frozenset(),
    DraftStatus.REJECTED: frozenset(),
    DraftStatus.SUPERSEDED: frozenset(),
    DraftStatus.EXPIRED: frozenset(),
}


class DraftKind(StrEnum):
    """A message may be edited; what is published may not."""

    MESSAGE = "message"
    PUBLISH = "publish"


class Draft(SQLModel, table=True):
    """An outbound call that was staged instead of executed. `args_before` never changes."""

    __tablename__ = "draft"
    __table_args__ = (
        Index("draft_by_status", "status", "id"),
        Index("draft_by_session", "session_id", "id"),
    )

    id: str = Field(primary_key=True, max_length=32)
    status: DraftStatus = Field(sa_column=Column(Closed(DraftStatus), nullable=False))
    kind: DraftKind = Field(sa_column=Column(Closed(DraftKind), nullable=False))
    tool: str
    definition_hash: str
    summary: str
    fingerprint: str  # tool and raw arguments, to find the same call again in this session
    args_before: dict[str, Any] = Field(sa_column=Column(Json, nullable=False))
    args: dict[str, Any] = Field(sa_column=Column(Json, nullable=False))
    revision: int = 1
    session_id: str
    agent: str
    producer: str
    call_id: str
    root: str  # what the call's paths resolve against
    taint: dict[str, Any] | None = Field(sa_column=Column(Json))  # tools.taint, None is unknown
    marks: list[dict[str, Any]] = Field(sa_column=Column(Json, nullable=False))
    replying_to: dict[str, Any] | None = Field(default=None, sa_column=Column(Json))
    delivery_key: str
    thread_key: str | None = None  # a newer draft for the same tool and thread supersedes this one
    loopback_only: bool = False  # written by the rehearsal planner; never leaves the machine
    owner_typed: list[str] = Field(
        default_factory=list, sa_column=Column(Json, nullable=False)
    )  # identifiers the owner typed in an edit
    created_at: datetime = Field(sa_column=Column(UtcTime, nullable=False))
    updated_at: datetime = Field(sa_column=Column(UtcTime, nullable=False))
    decided_at: datetime | None = Field(default=None, sa_column=Column(UtcTime))
    decided_by: str | None = None
    decided_via: str | None = None
    reason: str | None = None
    error: str | None = None
    superseded_by: str | None = None


class AttemptOutcome(StrEnum):
    """How one attempt to deliver ended, `open` while nobody knows yet."""

    OPEN = "open"
    SENT = "sent"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Attempt(SQLModel, table=True):
    """One try at a release, committed before the tool is called."""

    __tablename__ = "draft_attempt"

    draft_id: str = Field(primary_key=True, max_length=32)
    n: int = Field(primary_key=True)
    revision: int
    delivery_key: str
    process: str  # outbox.process.ProcessId as text: host, boot, pid, start
    started_at: datetime = Field(sa_column=Column(UtcTime, nullable=False))
    deadline_at: datetime = Field(sa_column=Column(UtcTime, nullable=False))
    ended_at: datetime | None = Field(default=None, sa_column=Column(UtcTime))
    outcome: AttemptOutcome = Field(sa_column=Column(Closed(AttemptOutcome), nullable=False))
    detail: str = ""
    verified_at: datetime | None = Field(default=None, sa_column=Column(UtcTime))
    verify_tries: int = 0


class ReleasedTo(SQLModel, table=True):
    """Whom a released draft went to: a record the owner made, in the form of outbox.identifiers."""

    __tablename__ = "released_to"

    identifier: str = Field(primary_key=True)
    draft_id: str = Field(primary_key=True, max_length=32)
    session_id: str


class QuestionStatus(StrEnum):
    """A question is open until one answer, or its abandonment, wins."""

    OPEN = "open"
    ANSWERED = "answered"
    ABANDONED = "abandoned"


class Question(SQLModel, table=True):
    """Something a run could not decide; the call that asked has no result until it is answered."""

    __tablename__ = "question"
    __table_args__ = (
        Index("question_by_status", "status", "id"),
        Index("question_by_session", "session_id", "id"),
    )

    id: str = Field(primary_key=True, max_length=32)
    status: QuestionStatus = Field(sa_column=Column(Closed(QuestionStatus), nullable=False))
    question: str
    options: list[str] = Field(sa_column=Column(Json, nullable=False))
    session_id: str
    agent: str
    producer: str
    surface: str
    call_id: str
    turn_key: str  # questions of one turn share it: the session resumes when all are answered
    workspace: str
    taint: dict[str, Any] | None = Field(sa_column=Column(Json))
    call_closed: bool = False  # the session went on with other text; the answer comes as a message
    asked_at: datetime = Field(sa_column=Column(UtcTime, nullable=False))
    answered_at: datetime | None = Field(default=None, sa_column=Column(UtcTime))
    answered_by: str | None = None
    answered_via: str | None = None
    answer: str | None = None


class FileRecord(SQLModel, table=True):
    """Who last wrote a file (or under a root), as steward saw it."""

    __tablename__ = "file_record"

    path: str = Field(primary_key=True)
    whole_root: bool = False
    untrusted: bool
    fingerprint: str  # size, mtime and ctime at the time; a different one was not seen written
    tool: str
    session_id: str
    at: datetime = Field(sa_column=Column(UtcTime, nullable=False))
