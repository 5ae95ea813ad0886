"""What the gate is made of, and what comes out of one turn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel

from outbox.approval import Door
from outbox.ask_tool import QuestionService
from outbox.files import FileRecords
from outbox.hooks import Hook
from outbox.interlock import CallFacts
from outbox.journal import Journal
from outbox.policy import Mode, RefusalCause
from outbox.release import Released
from outbox.rules import Rule
from outbox.settings import GateSettings
from outbox.states import Decider
from outbox.tables import Draft
from tools.contract import ToolCall, ToolContext
from tools.ids import NewId
from tools.registry import Entry, Registry
from tools.result import ToolResult
from tools.taint import Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """The session whose calls pass. `owner_links` gives the links the owner typed so far,
    normalised (`outbox.links.links_in`)."""

    id: str
    agent: str
    producer: str
    root: Path
    loopback_only: bool
    owner_links: Callable[[], frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A call that could run: its tool, its decoded arguments, and what judging it needs.

    `arguments` are the decoded ones as JSON data. `taint` is the prospective one, of the
    conversation and of whatever the turn's other calls may bring. `writes` are the files that the
    call says it would write, None where it cannot say.
    """

    index: int
    call: ToolCall
    entry: Entry
    args: BaseModel
    arguments: dict[str, Any]
    ctx: ToolContext
    facts: CallFacts
    taint: Taint
    writes: tuple[Path, ...] | None = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """The draft that a call became (or already was), and what the model is told."""

    draft_id: str
    result: ToolResult


class Releases(Protocol):
    """Whoever releases drafts; `outbox.release.Releaser` is the real one."""

    async def approve(self, draft_id: str, *, revision: int, decider: Decider) -> Released:
        """The draft was sent, or returned to pending with the error, or is uncertain.

        Raises: OutboxError.
        """
        ...


class Stages(Protocol):
    """Whoever writes drafts; `outbox.staging.Stager` is the real one."""

    async def stage(self, journal: Journal, prepared: Prepared, facts: SessionFacts) -> Staged:
        """Complete the call into a draft; draft and transcript row are one transaction.

        Raises: StagingFailed when nothing was staged; LeaseLost.
        """
        ...

    async def begin(self, journal: Journal, prepared: Prepared, facts: SessionFacts) -> Draft:
        """Complete a call that is released at once; its start is written with the draft.

        Raises: StagingFailed when nothing was staged; LeaseLost.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GateParts:
    """Everything one run's gate works with.

    `registry` is the narrowed one: what is not in it does not exist. `context` makes the context
    of a call in a turn. `redact` gives the text without secrets, and how many there were.
    `output_budget_bytes` is what one turn's results share. `boundary` gives 8 to 64 digits or
    small letters that nobody can guess, new each time.
    """

    registry: Registry
    journal: Journal
    facts: SessionFacts
    settings: GateSettings
    mode: Mode
    door: Door
    stager: Stages
    releaser: Releases
    files: FileRecords
    questions: QuestionService
    context: Callable[[ToolCall, int], ToolContext]
    redact: Callable[[str], tuple[str, int]]
    output_budget_bytes: int
    boundary: Callable[[], str]
    now: Callable[[], datetime]
    new_id: NewId
    hooks: Sequence[Hook] = ()
    rules: Sequence[Rule] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutcome:
    """What became of one call. `result` is as the model sees it, and as the transcript has it.

    `blocked_send`: the interlock kept it from running, and it could have let data leave.
    """

    call: ToolCall
    result: ToolResult
    refusal: RefusalCause | None = None
    draft_id: str | None = None
    question_id: str | None = None
    blocked_send: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """One outcome for each call, in the calls' order, and the conversation's taint after them."""

    outcomes: tuple[CallOutcome, ...]
    taint: Taint

    @property
    def broken(self) -> str | None:
        """The error id of the first call that broke: the run ends, and no later call was run."""
        return next((o.result.broken for o in self.outcomes if o.result.broken), None)
