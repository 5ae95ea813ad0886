"""How this floor writes: transactions that re-check the run's lease, and the rows of a call.

Why: the transcript belongs to the floor above, yet a draft and its transcript row must be one
transaction. So the floor above implements these protocols and hands them in.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from sqlmodel import Session

from tools.contract import ToolCall
from tools.result import Item, ToolResult
from tools.taint import Taint


class Store(Protocol):
    """The database. Every context is one transaction, committed when it ends without an error."""

    def effect(self) -> AbstractContextManager[Session]:
        """A transaction that guards an effect: BEGIN IMMEDIATE, on disk when it returns."""
        ...

    def record(self) -> AbstractContextManager[Session]:
        """A transaction that survives a killed process, though perhaps not a power cut."""
        ...

    def read(self) -> AbstractContextManager[Session]:
        """A transaction that only reads."""
        ...


class Journal(Protocol):
    """What one run writes. Each transaction first re-checks owner and epoch of the run's cause.

    Raises (both contexts): LeaseLost when the run is no longer this process's.
    """

    def effect(self) -> AbstractContextManager[Session]:
        """As Store.effect, fenced."""
        ...

    def record(self) -> AbstractContextManager[Session]:
        """As Store.record, fenced."""
        ...

    def call_started(self, session: Session, call: ToolCall) -> None:
        """Write ahead that this call is about to run."""
        ...

    def call_finished(
        self, session: Session, call: ToolCall, result: ToolResult, brought: Taint
    ) -> None:
        """Write the result as the model will see it, and the taint it brought, as one event."""
        ...

    def call_parked(self, session: Session, call: ToolCall, question_id: str) -> None:
        """Write that this call waits for the answer to a question."""
        ...


class Origin(StrEnum):
    """Whose words a piece of a session's text is."""

    OWNER = "owner"  # typed by the owner in a door
    CONFIGURED = "configured"  # a prompt or instruction in the configuration
    THIRD_PARTY = "third-party"  # anybody else's: read, pasted, piped, answered by a tap
    PRIVATE = "private"  # the owner's own data, returned by a read that is not external
    AGENT = "agent"  # the model's words, and steward's
    VERDICT = "verdict"  # the owner's, about something shown to him: why he rejected a draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A piece of text in the order it entered the session.

    `after_others`: the session held text of others by then, so what the agent says here may be
    theirs in a spelling that nothing recognised. `at` is when it was written down, if that is known.
    """

    seq: int
    origin: Origin
    text: str
    source: str = ""  # which call or door, for people
    after_others: bool = False
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadItem:
    """An item that a successful read returned, and when."""

    seq: int
    tool: str
    item: Item


class SessionText(Protocol):
    """What the outbox may know of a session's transcript."""

    def spans(self, session: Session, session_id: str) -> Sequence[Span]:
        """All text of the session, oldest first."""
        ...

    def items(self, session: Session, session_id: str, provider_id: str) -> Sequence[ReadItem]:
        """The items of that provider id, newest first, at most 20; failed reads left out."""
        ...


class OwnerRecords(Protocol):
    """Records the owner made outside any session: contacts, mail sent without steward."""

    def identifiers(self) -> frozenset[str]:
        """Normalised identifiers (see outbox.identifiers) that the owner vouched for."""
        ...
