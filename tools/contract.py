"""What a tool is: its spec, what it may touch, what a call is handed, and the two kinds of tool."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from tools.result import Item, ToolResult


class Egress(StrEnum):
    """Whether a call lets data leave, and who picks where."""

    NONE = "none"
    BLIND = "blind"
    CHOSEN = "chosen"


class Phase(StrEnum):
    """When a tool is offered: while a plan is being made, or while it is carried out."""

    PLAN = "plan"
    ACT = "act"


_EGRESS_ORDER = (Egress.NONE, Egress.BLIND, Egress.CHOSEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a tool can do at worst. `union` is the only combination, and it only widens."""

    private_data: bool = False
    untrusted_input: bool = False
    egress: Egress = Egress.NONE
    destructive: bool = False

    def union(self, other: "Capabilities") -> "Capabilities":
        """Everything either can do."""
        return Capabilities(
            private_data=self.private_data or other.private_data,
            untrusted_input=self.untrusted_input or other.untrusted_input,
            egress=max(self.egress, other.egress, key=_EGRESS_ORDER.index),
            destructive=self.destructive or other.destructive,
        )


class EffectScope(StrEnum):
    """How far the writes of a tool reach, which decides what read-only mode lets through."""

    NONE = "none"  # reads, or keeps only steward's own notes (todo, ask_user, message_send)
    FILES = "files"  # changes files; inside the run's scratch it is allowed in read-only mode
    WORLD = "world"  # anything else


class Keep(StrEnum):
    """Which part of a result too large for its turn stays in sight."""

    HEAD = "head"
    HEAD_TAIL = "head-tail"  # a command's output: the error is at the end


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewShape:
    """How a draft of this tool reads: which arguments are headers in reading order, which is the body.

    `recipients` are the arguments that say where the data goes; they decide the mark `unowned`.
    `source_id` is the argument that holds the provider id of the message being answered.
    """

    headers: tuple[str, ...] = ()
    body: str | None = None
    recipients: tuple[str, ...] = ()
    source_id: str | None = None
    thread_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as its manifest declares it; nothing of the handler is imported to read this."""

    name: str
    description: str
    args: str  # "module:Model", pydantic only
    handler: str  # "module:object"
    source: str  # the package that declares it
    source_version: str
    capabilities: Capabilities
    read_only: bool
    scope: EffectScope = EffectScope.WORLD
    phases: frozenset[Phase] = frozenset(Phase)
    stageable: bool = False
    parseable: bool = False
    keep: Keep = Keep.HEAD
    timeout_seconds: float = 120.0
    needs: tuple[str, ...] = ()
    review: ReviewShape = field(default_factory=ReviewShape)
    unnamed_writes: bool = False  # may change files its result cannot name: a shell, a server

    def args_model(self) -> type[BaseModel]:
        """The argument model, imported when it is first needed."""
        model = load_object(self.args)
        assert isinstance(model, type)
        assert issubclass(model, BaseModel)
        return model


def load_object(reference: str) -> Any:
    """The object that `package.module:name` names.

    Raises: ImportError or AttributeError when there is none.
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


class FileKind(StrEnum):
    """What a name in a folder is; a link is never followed to find out."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"  # a pipe, a socket, a device


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One name in a folder. `size_bytes` is 0 for whatever is no file."""

    name: str
    kind: FileKind
    size_bytes: int


class PathJail(Protocol):
    """What a tool may do with paths; `tools.jail.Jail` is the real one.

    Every path but that of `resolve` is one that `resolve` gave. Whatever happens to the file system
    in between, no link is followed and nothing outside is opened.
    """

    @property
    def root(self) -> Path:
        """The canonical workspace root."""
        ...

    def resolve(self, path: str) -> Path:
        """The canonical path inside the workspace (or the spill directory). Raises JailError."""
        ...

    def in_scratch(self, path: Path) -> bool:
        """True where the path lies in steward's own work directory for this producer."""
        ...

    def in_spill(self, path: Path) -> bool:
        """True where the path lies in the spill directory, which tools read and never write."""
        ...

    def shown(self, path: Path) -> str:
        """The path as people and models read it, from the workspace root; `resolve` takes it."""
        ...

    def open_read(self, path: Path) -> BinaryIO:
        """The regular file, opened. Raises JailError (a pipe, a device, a swap), OSError."""
        ...

    def open_folder(self, path: Path) -> int:
        """A descriptor of the folder, which the caller closes. Raises JailError, OSError."""
        ...

    def list_folder(self, path: Path, *, limit: int) -> Sequence[Listed]:
        """At most `limit` names, sorted; forbidden ones left out. Raises JailError, OSError."""
        ...

    def write(self, path: Path, data: bytes) -> bool:
        """Make this the whole content, at once or not at all; missing folders are made.

        True if the file is new. Raises JailError, OSError; then the file is as it was.
        """
        ...

    def barred(self) -> frozenset[tuple[int, int]]:
        """Device and inode of everything forbidden that exists now, for one who walks a folder."""
        ...


class FileTaint(Protocol):
    """Where the gate answers whether a file may hold text that is not the owner's."""

    def is_untrusted(self, path: Path) -> bool:
        """True if this canonical file was written while untrusted, or nobody saw who wrote it."""
        ...

    def any_untrusted(self, root: Path) -> bool:
        """True if any file under the canonical root is, so far as the database or scratch tells."""
        ...


Need = TypeVar("Need")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Everything a call may touch. A tool reads neither the environment nor the current directory."""

    jail: PathJail
    spill_dir: Path
    output_budget_bytes: int
    session_id: str
    producer: str
    agent: str
    call_id: str
    turn: int
    now: Callable[[], datetime]
    timezone: ZoneInfo
    file_taint: FileTaint
    needs: Mapping[str, object]

    def need(self, name: str, kind: type[Need]) -> Need:
        """The account, secret or service that the tool's manifest asked for by this name."""
        value = self.needs[name]
        assert isinstance(value, kind)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call as a model wrote it; `arguments` is its raw JSON text, perhaps malformed."""

    id: str
    name: str
    arguments: str
    extra: Mapping[str, Any] = field(default_factory=dict)  # a provider's own keys, echoed to it


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedState:
    """A tool's own current state, kept verbatim by a compaction, exactly one copy."""

    title: str
    text: str


class Tool(ABC):
    """A handler. One instance serves every call; state belongs to what `ctx.needs` holds."""

    def __init__(self, spec: ToolSpec) -> None:
        self.spec = spec

    @abstractmethod
    async def call(self, args: Any, ctx: ToolContext) -> ToolResult:
        """Do it. Expected failures are results; an exception ends the run."""

    def capabilities_of(self, args: Any, ctx: ToolContext) -> Capabilities:
        """What this very call can do; never more than the spec declares. Default: all of it."""
        del args, ctx
        return self.spec.capabilities

    def writes(self, args: Any, ctx: ToolContext) -> tuple[Path, ...]:
        """The canonical files this very call would write. The gate notes what they held before."""
        del args, ctx
        return ()

    def truncation_hint(self, args: Any) -> str | None:
        """How to ask for less, shown where a result was cut."""
        del args
        return None

    def carried_state(self, ctx: ToolContext) -> CarriedState | None:
        """State that must survive a compaction word for word."""
        del ctx
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What completing a call put into a draft by itself, so that no model has seen it.

    `what` says it in a few words of steward's and of the call (`quoted <id>`), never in words of
    what was drawn. `item`: the message that the draft answers.
    """

    what: str
    private: bool
    untrusted: bool
    item: Item | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A sender call with everything resolved, so that release computes nothing.

    `args` is JSON data (recipients, subject, quoted text, absolute times, `attachments` as
    `[{name, media_type, size_bytes, sha256}]`). `delivery_key` is fixed here: for mail the
    Message-ID.
    """

    args: Mapping[str, Any]
    delivery_key: str
    drawn: tuple[Drawn, ...] = ()


class DeliveryOutcome(StrEnum):
    """What is known after a delivery was tried."""

    SENT = "sent"
    FAILED = "failed"  # surely nothing went out
    UNKNOWN = "unknown"  # the hand-over began and no answer came


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The outcome of one attempt and one line about it for the owner."""

    outcome: DeliveryOutcome
    detail: str


class CalledOff(Exception):  # noqa: N818 - an outcome, not a fault
    """A delivery must end before its point of no return; the text says why. Nothing went out."""


class GoAhead(Protocol):
    """What a delivery asks right before its point of no return, and never later."""

    def __call__(self, *, answer_within_seconds: float) -> None:
        """Nothing, if the hand-over may be finished now.

        `answer_within_seconds`: how long the answer is waited for at most. Raises: CalledOff.
        """
        ...


class Verification(StrEnum):
    """What the destination says about a delivery key."""

    DELIVERED = "delivered"
    ABSENT = "absent"  # only where a repeat is harmless
    UNKNOWN = "unknown"


class CompletionError(Exception):
    """The call cannot be completed into a draft; the text tells the model what to change."""


class Sender(Tool):
    """A stageable outbound tool: what it sends is completed first, and delivered only on release."""

    @abstractmethod
    async def complete(self, args: Any, ctx: ToolContext) -> Completed:
        """Resolve everything. Raises: CompletionError, with advice for the model."""

    @abstractmethod
    async def deliver(
        self, completed: Mapping[str, Any], delivery_key: str, ctx: ToolContext, go_ahead: GoAhead
    ) -> Delivery:
        """Send exactly this, once. Never raises for what a server or network may do.

        Until `go_ahead` was called and returned nothing may have gone out, because a delivery that
        is cancelled before that counts as not sent. Raises: CalledOff, from `go_ahead`.
        """

    @abstractmethod
    async def verify(
        self, completed: Mapping[str, Any], delivery_key: str, ctx: ToolContext
    ) -> Verification:
        """Ask the destination whether this key arrived."""

    def check(self, completed: Mapping[str, Any], ctx: ToolContext) -> None:
        """Nothing happens if this, perhaps edited since, could be delivered as it stands.

        Raises: CompletionError naming what is wrong, in words for the owner.
        """
        del completed, ctx

    def loopback_only(self, completed: Mapping[str, Any], ctx: ToolContext) -> bool:
        """True where a delivery of this cannot leave the machine."""
        del completed, ctx
        return False

    async def call(self, args: Any, ctx: ToolContext) -> ToolResult:
        """Never: whatever a sender sends is a draft first, also where it is released at once.

        Raises: TypeError.
        """
        del args, ctx
        raise TypeError(f"{self.spec.name} is completed and released; it is not called")
