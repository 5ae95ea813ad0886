"""Pure. A request as the rehearsal sees it: the owner's words, what was called since, what came back."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bot.models.contract import AssistantMessage, Message, Request, ToolMessage, UserMessage
from tools.contract import ToolCall
from tools.output import strip_wrapper

NO_MODEL = "(No model was used; this is the rehearsal.)"

_CLOCK = re.compile(r"\[\w+ (\d{4}-\d\d-\d\d) (\d\d:\d\d) ([+-]\d\d:\d\d)?[^\]\n]*\]")
_STEWARDS_OWN = ("Nobody is present now.", "Since the last run:", "This is the last turn you have")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call since the prompt, and its result without the untrusted marker; None while it waits."""

    name: str
    args: Mapping[str, Any]
    result: str | None
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What the rehearsal does next: words, and calls as (tool, arguments)."""

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a conversation stands. `calls_made` counts every call of it, for ids that stay unique.

    `asked_at`: when the owner's words came, None where no clock stands above them.
    """

    words: str
    asked_at: datetime | None = None
    steps: tuple[Step, ...] = ()
    offered: frozenset[str] = field(default_factory=frozenset)
    calls_made: int = 0

    def of(self, tool: str) -> tuple[Step, ...]:
        """The calls of this tool since the prompt, in order."""
        return tuple(step for step in self.steps if step.name == tool)

    def results(self, tool: str) -> tuple[str, ...]:
        """What this tool returned since the prompt, failures left out."""
        return tuple(
            step.result for step in self.of(tool) if step.result is not None and not step.failed
        )


def progress(request: Request) -> Progress:
    """The last words of the owner in the request, and every step since."""
    messages = list(request.messages)
    start = _last_prompt(messages)
    results = {message.call_id: message for message in messages if isinstance(message, ToolMessage)}
    steps = [
        _step(call, results.get(call.id))
        for message in messages[start + 1 :]
        if isinstance(message, AssistantMessage)
        for call in message.calls
    ]
    prompt = messages[start] if start >= 0 else None
    return Progress(
        words=owner_words(prompt.text) if isinstance(prompt, UserMessage) else "",
        asked_at=_clock(prompt.text) if isinstance(prompt, UserMessage) else None,
        steps=tuple(steps),
        offered=frozenset(tool.name for tool in request.tools),
        calls_made=sum(
            len(message.calls) for message in messages if isinstance(message, AssistantMessage)
        ),
    )


def owner_words(prompt: str) -> str:
    """A prompt without the lines that steward put above it: clock, posture, notes."""
    paragraphs = [
        paragraph
        for paragraph in prompt.split("\n\n")
        if not _CLOCK.fullmatch(paragraph.strip()) and not paragraph.startswith(_STEWARDS_OWN)
    ]
    return strip_wrapper("\n\n".join(paragraphs).strip())


def _clock(prompt: str) -> datetime | None:
    """What the clock line at the head of a prompt says."""
    shown = _CLOCK.match(prompt.lstrip())
    if shown is None:
        return None
    try:
        moment = datetime.fromisoformat(f"{shown[1]}T{shown[2]}{shown[3] or ''}")
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _last_prompt(messages: Sequence[Message]) -> int:
    """Where the last words stand that are not merely steward's own; -1 where there are none."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, UserMessage) and owner_words(message.text):
            return index
    return -1


def _step(call: ToolCall, result: ToolMessage | None) -> Step:
    return Step(
        name=call.name,
        args=_arguments(call.arguments),
        result=None if result is None else strip_wrapper(result.text),
        failed=result is not None and result.is_error,
    )


def _arguments(raw: str) -> Mapping[str, Any]:
    try:
        value = json.loads(raw)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
