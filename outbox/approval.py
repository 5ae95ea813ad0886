"""Asking a person: what an approver is shown, what comes back, and the doors where nobody stands."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from tools.taint import Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """The whole call, why it is asked about, and what the conversation holds.

    `needs_person`: only a yes given for this very call counts, never a standing one (`--yes`).
    """

    tool: str
    arguments: Mapping[str, Any]
    reasons: tuple[str, ...]
    taint: Taint
    needs_person: bool
    session_id: str
    agent: str

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """Every argument by name, whole, each once; nothing is shortened before a yes."""
        return tuple(
            (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            for name, value in self.arguments.items()
        )


class Decision(StrEnum):
    """What came of asking."""

    YES = "yes"
    NO = "no"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The decision, and the words a person gave with a no."""

    decision: Decision
    reason: str = ""


YES = Approval(decision=Decision.YES)
UNANSWERED = Approval(decision=Decision.UNANSWERED)


def no(reason: str = "") -> Approval:
    """A person's no."""
    return Approval(decision=Decision.NO, reason=reason)


class Door(Protocol):
    """The surface a run was started from, as far as somebody can be asked there."""

    @property
    def name(self) -> str:
        """What the surface is called where a decision is recorded."""
        ...

    @property
    def present(self) -> bool:
        """True while the owner can be shown an approval here, now."""
        ...

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Show the whole call and wait. End of input, and plain Enter, are no yes."""
        ...

    async def ask(self, question: str, options: Sequence[str]) -> str | None:
        """The owner's answer as given, None where nobody answered."""
        ...


@dataclass(frozen=True, slots=True)
class NobodyDoor:
    """A surface without a person: a trigger, a mail, another agent, a resume."""

    name: str

    @property
    def present(self) -> bool:
        """Never."""
        return False

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Unanswered, at once."""
        del request
        return UNANSWERED

    async def ask(self, question: str, options: Sequence[str]) -> str | None:
        """None, at once."""
        del question, options
        return None


@dataclass(frozen=True, slots=True)
class YesDoor:
    """A standing yes (`--yes`) before another door, for whatever does not need a person."""

    inner: Door

    @property
    def name(self) -> str:
        """The inner door's name."""
        return self.inner.name

    @property
    def present(self) -> bool:
        """Whether somebody stands behind the standing yes."""
        return self.inner.present

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Yes, except where the inner door's person must be asked."""
        return await self.inner.approve(request) if request.needs_person else YES

    async def ask(self, question: str, options: Sequence[str]) -> str | None:
        """As the inner door: a yes is no answer to a question."""
        return await self.inner.ask(question, options)
