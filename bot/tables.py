"""What this floor keeps: sessions, their append-only transcripts, and facts about the database."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Column
from sqlmodel import Field, SQLModel

from outbox.columns import Closed, Json, UtcTime


class SessionRow(SQLModel, table=True):
    """One durable conversation. The system prompt is fixed at creation, byte for byte."""

    __tablename__ = "session"

    id: str = Field(primary_key=True, max_length=32)
    producer: str
    agent: str
    model: str  # the name of an entry of [models]
    workspace: str
    system: str
    title: str = ""
    created_at: datetime = Field(sa_column=Column(UtcTime, nullable=False))


class EventKind(StrEnum):
    """What a line of a transcript is; `bot.transcript` says what data each carries."""

    PROMPT = "prompt"
    STEERING = "steering"
    ASSISTANT = "assistant"
    STARTED = "started"
    RESULT = "result"
    PARKED = "parked"
    NUDGE = "nudge"
    NOTE = "note"
    RUN_STARTED = "run-started"
    RUN_ENDED = "run-ended"


class Event(SQLModel, table=True):
    """One line of a transcript. `taint` is what this very event brought; NULL means nobody knows."""

    __tablename__ = "event"

    session_id: str = Field(primary_key=True, max_length=32)
    seq: int = Field(primary_key=True)
    at: datetime = Field(sa_column=Column(UtcTime, nullable=False))
    kind: EventKind = Field(sa_column=Column(Closed(EventKind), nullable=False))
    run_id: str | None = None  # the cause
    data: dict[str, Any] = Field(sa_column=Column(Json, nullable=False))
    taint: dict[str, Any] | None = Field(default=None, sa_column=Column(Json))


class Meta(SQLModel, table=True):
    """Facts about the database itself, such as its generation id."""

    __tablename__ = "meta"

    key: str = Field(primary_key=True)
    value: str
