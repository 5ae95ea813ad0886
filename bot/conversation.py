"""Pure. A session as a model sees it: messages and taint, rebuilt from the lines of a transcript."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.models.contract import AssistantMessage, Message, ToolMessage, UserMessage
from bot.tables import Event, EventKind
from tools.contract import ToolCall
from tools.taint import CLEAN, Taint, taint_from_json

NOTHING_RETURNED = "(the tool returned nothing)"


@dataclass(slots=True, kw_only=True)
class Conversation:
    """What one run works on. `messages` and `taint` only grow.

    `open_calls` are the calls of the last answer while any of them lacks a result; `results` holds
    what is there already, so that results reach the model in the order of the calls. `parked` maps
    calls that wait for a question to its id; `started` are calls whose effect may have begun.
    """

    session_id: str
    agent: str
    producer: str
    system: str
    messages: list[Message] = field(default_factory=list)
    taint: Taint = CLEAN
    turns: int = 0
    call_ids: set[str] = field(default_factory=set)
    open_calls: tuple[ToolCall, ...] = ()
    results: dict[str, ToolMessage] = field(default_factory=dict)
    parked: dict[str, str] = field(default_factory=dict)
    started: set[str] = field(default_factory=set)

    @property
    def waiting(self) -> tuple[ToolCall, ...]:
        """The calls that have no result yet."""
        return tuple(call for call in self.open_calls if call.id not in self.results)

    @property
    def broken_tail(self) -> tuple[ToolCall, ...]:
        """The calls that have no result and wait for nobody: a process died between them."""
        return tuple(call for call in self.waiting if call.id not in self.parked)

    @property
    def awaits_model(self) -> bool:
        """True where the next word is the model's."""
        said_last = bool(self.messages) and isinstance(self.messages[-1], AssistantMessage)
        return not self.waiting and not said_last

    def absorb_words(self, text: str) -> None:
        """Append words to the model. Raises: ValueError where a call still lacks its result."""
        if self.waiting:
            raise ValueError(f"words between a call and its result in {self.session_id}")
        self.messages.append(UserMessage(text=text))

    def absorb_answer(self, message: AssistantMessage) -> None:
        """Append a model's answer; its calls are open until each has a result."""
        self.messages.append(message)
        self.turns += 1
        self.call_ids.update(call.id for call in message.calls)
        self.open_calls, self.results = message.calls, {}

    def absorb_result(self, message: ToolMessage) -> None:
        """Take one result; when the last one is there, all are appended in the calls' order."""
        self.results[message.call_id] = message
        if not self.waiting:
            self.messages.extend(self.results[call.id] for call in self.open_calls)
            self.open_calls, self.results = (), {}


def replay(conversation: Conversation, events: Iterable[Event]) -> None:
    """Rebuild a conversation from its transcript, oldest line first."""
    for event in events:
        conversation.taint = conversation.taint.merge(taint_from_json(event.taint))
        match event.kind:
            case EventKind.PROMPT | EventKind.STEERING | EventKind.NUDGE:
                conversation.absorb_words(event.data["text"])
            case EventKind.ASSISTANT:
                conversation.absorb_answer(assistant_message(event.data))
            case EventKind.STARTED:
                conversation.started.add(event.data["call_id"])
            case EventKind.PARKED:
                conversation.parked[event.data["call_id"]] = event.data["question_id"]
            case EventKind.RESULT:
                conversation.absorb_result(tool_message(event.data))
            case EventKind.NOTE | EventKind.RUN_STARTED | EventKind.RUN_ENDED:
                pass


def assistant_message(data: Mapping[str, Any]) -> AssistantMessage:
    """The message that an `assistant` line holds."""
    return AssistantMessage(
        text=data["text"],
        reasoning=data["reasoning"],
        calls=tuple(ToolCall(**call) for call in data["calls"]),
        producer=data["producer"],
        extra=data["extra"],
    )


def assistant_data(message: AssistantMessage) -> dict[str, Any]:
    """The data of an `assistant` line."""
    return {
        "text": message.text,
        "reasoning": message.reasoning,
        "calls": [call_data(call) for call in message.calls],
        "producer": message.producer,
        "extra": dict(message.extra),
    }


def call_data(call: ToolCall) -> dict[str, Any]:
    """One call in the data of an `assistant` line."""
    return {
        "id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "extra": dict(call.extra),
    }


def tool_message(data: Mapping[str, Any]) -> ToolMessage:
    """The message that a `result` line holds; an empty result is stated as such."""
    return ToolMessage(
        call_id=data["call_id"], text=data["text"] or NOTHING_RETURNED, is_error=data["is_error"]
    )
