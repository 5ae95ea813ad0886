"""Pure. One answer put together from the chunks of a chat-completions stream."""

from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from typing import Any

from bot.models.calls import CallAssembly
from bot.models.contract import (
    AssistantMessage,
    Finish,
    ReasoningDelta,
    Reply,
    TextDelta,
    Usage,
)
from bot.models.reasoning import Reasoning
from bot.models.think import ThinkSplitter

Delta = TextDelta | ReasoningDelta

_LENGTH = frozenset({"length", "max_tokens", "model_length"})
_REFUSED = frozenset({"content_filter", "refusal"})


def _text_of(part: Any, key: str) -> str:
    """The text under `key`: a string, or a list of parts that hold one."""
    value = part.get(key) if isinstance(part, dict) else None
    if isinstance(value, list):
        return "".join(_text_of(inner, "text") for inner in value)
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    """A count of tokens, or None for anything else a server may have put there."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value


def _usage(raw: Mapping[str, Any], before: Usage) -> Usage:
    """The newest counts; one that is absent keeps its last value, none is ever added up."""
    details = raw.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    cached = _count(details.get("cached_tokens"))
    if cached is None:
        cached = _count(raw.get("prompt_cache_hit_tokens"))
    found = {
        "input_tokens": _count(raw.get("prompt_tokens")),
        "output_tokens": _count(raw.get("completion_tokens")),
        "cached_tokens": cached,
        "cache_write_tokens": _count(details.get("cache_write_tokens")),
    }
    return replace(before, **{key: value for key, value in found.items() if value is not None})


class Assembly:
    """One answer while it streams. Feed it chunks; what they add to read comes back at once."""

    def __init__(self, *, producer: str, think_prefilled: bool = False) -> None:
        self._producer = producer
        self._think = ThinkSplitter(prefilled=think_prefilled)
        self._calls = CallAssembly()
        self._text: list[str] = []
        self._reasoning = Reasoning()
        self._thoughts: list[str] = []
        self._refusal: list[str] = []
        self.usage = Usage()
        self.finish_reason = ""

    @property
    def started(self) -> bool:
        """True once any part of an answer came, also one that nobody can read yet."""
        return bool(self._text or self._thoughts or self._calls or self._refusal)

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self._text)

    def feed(self, chunk: Mapping[str, Any]) -> list[Delta]:
        """What this chunk adds to the first choice; anything unknown in it is passed over."""
        if isinstance(usage := chunk.get("usage"), dict):
            self.usage = _usage(usage, self.usage)
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            return []
        deltas: list[Delta] = []
        for choice in choices:
            if isinstance(choice, dict) and not choice.get("index"):
                deltas += self._choice(choice)
        return deltas

    def close(
        self, *, mint: Callable[[], str], taken: Container[str], cut: str = ""
    ) -> tuple[list[Delta], Reply]:
        """The last pieces, and the answer. `cut` says how the stream broke, "" when it did not.

        A stream without a finish reason is truncated whatever else it held (L25).
        """
        text, reasoning = self._think.close()
        deltas = self._said(text) + self._thought(reasoning)
        finish = self._finish()
        truncated = finish is Finish.TRUNCATED
        calls = self._calls.close(drop_half=truncated, mint=mint, taken=taken)
        message = AssistantMessage(
            text=self.text if self.text.strip() else "",
            reasoning="".join(self._thoughts),
            calls=() if finish is Finish.REFUSED else calls,
            producer=self._producer,
            extra=self._reasoning.echo(),
        )
        detail = self._detail(finish, cut)
        return deltas, Reply(message=message, finish=finish, usage=self.usage, detail=detail)

    def _choice(self, choice: Mapping[str, Any]) -> list[Delta]:
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = choice.get("message")  # a server that does not stream
        deltas: list[Delta] = []
        if isinstance(delta, dict):
            deltas += self._thought(self._reasoning.feed(delta))
            deltas += self._content(delta.get("content"))
            self._calls.feed(delta.get("tool_calls"))
            if isinstance(refusal := delta.get("refusal"), str) and refusal:
                self._refusal.append(refusal)
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self.finish_reason = reason
        return deltas

    def _content(self, content: Any) -> list[Delta]:
        if isinstance(content, str):
            text, reasoning = self._think.feed(content)
            return self._thought(reasoning) + self._said(text)
        if not isinstance(content, list):
            return []
        deltas: list[Delta] = []
        for part in content:
            deltas += self._thought(_text_of(part, "thinking"))
            deltas += self._said(_text_of(part, "text"))
        return deltas

    def _said(self, text: str) -> list[Delta]:
        if not text:
            return []
        self._text.append(text)
        return [TextDelta(text=text)]

    def _thought(self, text: str) -> list[Delta]:
        if not text:
            return []
        self._thoughts.append(text)
        return [ReasoningDelta(text=text)]

    def _finish(self) -> Finish:
        if self._refusal or self.finish_reason in _REFUSED:
            return Finish.REFUSED
        if not self.finish_reason or self.finish_reason in _LENGTH:
            return Finish.TRUNCATED
        return Finish.DONE

    def _detail(self, finish: Finish, cut: str) -> str:
        match finish:
            case Finish.REFUSED:
                return "".join(self._refusal) or "the server's content filter stopped the answer"
            case Finish.TRUNCATED if self.finish_reason:
                return "the answer reached the token limit"
            case Finish.TRUNCATED:
                return cut or "the stream ended without a finish reason"
            case Finish.DONE:
                return ""
