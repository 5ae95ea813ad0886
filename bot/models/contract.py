"""Pure. What the loop says to a model and hears back, whoever is behind it."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from tools.contract import ToolCall
from tools.result import ImagePart


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class UserMessage:
    """Words to the model; never empty."""

    text: str
    images: tuple[ImagePart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class AssistantMessage:
    """One answer of a model, as it was given. `extra` is echoed only to `producer`, unchanged."""

    text: str
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    producer: str = ""  # which entry of [models] wrote it
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class ToolMessage:
    """The result of one call; never empty, a tool that returned nothing is stated as such."""

    call_id: str
    text: str
    is_error: bool = False
    images: tuple[ImagePart, ...] = ()


Message = UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    """A tool as offered to a model."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one request. `input_tokens` includes cached ones. None: the server did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class Finish(StrEnum):
    """How a stream ended."""

    DONE = "done"
    TRUNCATED = "truncated"  # token limit, or no finish marker: calls in it are not run
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """A piece of the answer, as it streams."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    """A piece of reasoning, as it streams."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The end of one answer: always the last thing a stream yields. Half calls are dropped already."""

    message: AssistantMessage
    finish: Finish
    usage: Usage = Usage()
    detail: str = ""  # what the server said about a refusal or a cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request: the system prompt and tools are byte-stable, the messages only grow."""

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSchema]
    max_output_tokens: int | None = None


class FailureClass(StrEnum):
    """Why a model gave no answer; the first four were retried before anybody hears of them."""

    RATE_LIMIT = "rate-limit"
    OVERLOADED = "overloaded"
    SERVER = "server"
    TRANSPORT = "transport"
    AUTH = "auth"
    BILLING = "billing"
    OVERFLOW = "overflow"
    INVALID = "invalid"


TRANSIENT = frozenset(
    {
        FailureClass.RATE_LIMIT,
        FailureClass.OVERLOADED,
        FailureClass.SERVER,
        FailureClass.TRANSPORT,
    }
)


class ModelError(Exception):
    """No answer. `usage` is what was spent all the same; `partial` the text that had streamed."""

    def __init__(
        self,
        failure: FailureClass,
        text: str,
        *,
        usage: Usage | None = None,
        partial: str = "",
    ) -> None:
        super().__init__(text)
        self.failure = failure
        self.usage = usage or Usage()
        self.partial = partial


class Model(Protocol):
    """Something that answers. Retries are its own business; nothing it does has an effect outside."""

    @property
    def name(self) -> str:
        """The entry of [models] it was built from."""
        ...

    @property
    def context_window(self) -> int | None:
        """Tokens, or None when nobody knows."""
        ...

    @property
    def loopback_only(self) -> bool:
        """True for a rehearsal: what it drafts never leaves the machine, and each answer says so."""
        ...

    def respond(self, request: Request) -> AsyncGenerator[TextDelta | ReasoningDelta | Reply, None]:
        """Stream one answer, a Reply last. Raises: ModelError."""
        ...
