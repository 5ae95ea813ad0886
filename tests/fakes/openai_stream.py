"""A scripted turn as the chunks and bytes a streaming server would send."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fakes.openai_script import Asked, CallStyle, Kind, ReasoningStyle, Turn, filled

DONE = b"data: [DONE]\n\n"
_PIECE = 7  # characters

Chunk = dict[str, Any]


def event(value: Any) -> bytes:
    """One event. Nothing is escaped that JSON does not demand, so U+2028 stands as it is."""
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def _chunk(delta: Mapping[str, Any], finish: str | None = None) -> Chunk:
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish}
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "scripted",
        "choices": [choice],
        "usage": None,
    }


def _pieces(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


class Rendered:
    """One turn, filled from what was asked: chunks of content, then of its end."""

    def __init__(self, turn: Turn, asked: Asked, number: int) -> None:
        self._turn = turn
        self._number = number
        self.text: str = filled(turn.text, asked)
        self.calls = [filled(call, asked) for call in turn.calls]
        self._kind = turn.fault.kind if turn.fault else None
        self._asked = asked

    @property
    def finish(self) -> str:
        return self._turn.finish or ("tool_calls" if self.calls else "stop")

    def content(self) -> list[bytes]:
        """The events before the end of the answer."""
        if self._turn.raw is not None:
            return [part if isinstance(part, bytes) else event(part) for part in self._turn.raw]
        return [b": keep-alive\n\n", *map(event, self._content())]

    def ending(self) -> list[bytes]:
        """The events that say the answer is complete."""
        if self._turn.raw is not None:
            return []
        match self._kind:
            case Kind.NO_FINISH:
                return []
            case Kind.ERROR_IN_STREAM:
                assert self._turn.fault is not None
                body = self._turn.fault.body or {
                    "error": {"message": "Provider disconnected", "code": 502}
                }
                return [event(body), DONE]
            case Kind.BROKEN_CHUNK:
                return [b'data: {"choices": [{"delta"\n\n']
        events = [event(_chunk({}, self.finish))]
        if (usage := self.usage()) is not None:
            events.append(event({**_chunk({}), "choices": [], "usage": usage}))
        return events if self._kind is Kind.NO_DONE else [*events, DONE]

    def usage(self) -> Mapping[str, Any] | None:
        if self._kind is Kind.NO_USAGE:
            return None
        if self._turn.usage is not None:
            return self._turn.usage  # some servers send it unasked
        if "stream_options" not in self._asked.body:
            return None
        prompt = len(json.dumps(self._asked.body["messages"], ensure_ascii=False)) // 4
        words = len(self.text) + len(json.dumps(self.calls))
        return {
            "prompt_tokens": prompt,
            "completion_tokens": words // 4 + 1,
            "total_tokens": prompt + words // 4 + 1,
            "prompt_tokens_details": {"cached_tokens": 0},
        }

    def whole(self) -> dict[str, Any]:
        """The answer of a server that does not stream."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text or None}
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": self._id(place),
                    "type": "function",
                    "function": {"name": call["name"], "arguments": _arguments(call)},
                }
                for place, call in enumerate(self.calls)
            ]
        choice = {"index": 0, "message": message, "finish_reason": self.finish}
        return {"object": "chat.completion", "choices": [choice], "usage": self.usage()}

    def _content(self) -> Iterator[Chunk]:
        yield _chunk({"role": "assistant", "content": ""})
        yield from self._reasoning()
        for piece in _pieces(self.text):
            yield _chunk({"content": piece})
        for entries in self._call_deltas():
            yield _chunk({"tool_calls": entries})

    def _reasoning(self) -> Iterator[Chunk]:
        reasoning = self._turn.reasoning
        if reasoning is None:
            return
        style = self._turn.reasoning_style
        if style is ReasoningStyle.THINK:
            for piece in _pieces(f"<think>{reasoning}</think>\n\n"):
                yield _chunk({"content": piece})
        elif style is ReasoningStyle.DETAILS:
            for piece in _pieces(reasoning):
                block = {"type": "reasoning.text", "index": 0, "text": piece}
                yield _chunk({"reasoning": piece, "reasoning_details": [block]})
            signature = {"type": "reasoning.text", "index": 0, "signature": "sig-1"}
            yield _chunk({"reasoning_details": [signature]})
        else:
            for piece in _pieces(reasoning) or [""]:
                yield _chunk({str(style): piece})

    def _id(self, place: int) -> str:
        match self._turn.style:
            case CallStyle.EMPTY_ID:
                return ""
            case CallStyle.SAME_ID:
                return "call_same"
        return self.calls[place].get("id") or f"call_{self._number}_{place}"

    def _call_deltas(self) -> Iterator[Sequence[Mapping[str, Any]]]:
        for place, call in enumerate(self.calls):
            yield from ([entry] for entry in self._one_call(place, call))

    def _one_call(self, place: int, call: Mapping[str, Any]) -> list[dict[str, Any]]:
        arguments = _arguments(call)
        head = {
            "index": place,
            "id": self._id(place),
            "type": "function",
            "function": {"name": call["name"], "arguments": ""},
            **call.get("extra", {}),
        }
        tail = [{"index": place, "function": {"arguments": piece}} for piece in _pieces(arguments)]
        match self._turn.style:
            case CallStyle.OPENAI | CallStyle.EMPTY_ID | CallStyle.SAME_ID:
                return [head, *tail]
            case CallStyle.NAME_ALWAYS:
                for entry in tail:
                    entry["function"]["name"] = call["name"]
                return [head, *tail]
            case CallStyle.LATE_ID:
                call_id = head.pop("id")
                return [head, {"index": place, "id": call_id, "function": {}}, *tail]
        whole = head | {"function": {"name": call["name"], "arguments": arguments}}
        match self._turn.style:
            case CallStyle.NO_INDEX:
                del whole["index"]
            case CallStyle.INDEX_ZERO:
                whole["index"] = 0
            case CallStyle.OBJECT:
                whole["function"]["arguments"] = call["arguments"]
        return [whole]


def _arguments(call: Mapping[str, Any]) -> str:
    if "raw" in call:
        return str(call["raw"])
    return json.dumps(call.get("arguments", {}), ensure_ascii=False)
