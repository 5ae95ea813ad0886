"""Pure. Reasoning in the fields servers stream it in, kept so that it can be given back unchanged.

Why: some servers refuse a request whose history lacks the reasoning they wrote, even an empty one
(DeepSeek's reasoning_content), or a signature inside it (OpenRouter's reasoning_details).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TEXT_KEYS = ("reasoning_content", "reasoning")
DETAILS_KEY = "reasoning_details"
EXTRA_KEY = "extra_content"  # Gemini's signature of a text
ECHOED_KEYS = (*TEXT_KEYS, DETAILS_KEY, EXTRA_KEY)

_GROWING_KEYS = ("text", "summary", "data")


@dataclass(slots=True, kw_only=True)
class _Block:
    """One block of reasoning_details: keys as they came, and strings that arrive in pieces."""

    fixed: dict[str, Any] = field(default_factory=dict)
    growing: dict[str, list[str]] = field(default_factory=dict)

    def add(self, piece: Mapping[str, Any]) -> None:
        for key, value in piece.items():
            if key in _GROWING_KEYS and isinstance(value, str):
                self.growing.setdefault(key, []).append(value)
            if value is not None or key not in self.fixed:
                self.fixed[key] = value

    def whole(self) -> dict[str, Any]:
        return self.fixed | {key: "".join(pieces) for key, pieces in self.growing.items()}


class Reasoning:
    """What a server streamed beside the answer: to read, and to echo."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._blocks: list[_Block] = []
        self._extra_content: Any = None

    def feed(self, delta: Mapping[str, Any]) -> str:
        """What this delta adds to read; said in two fields, it counts once."""
        readable = ""
        for key in TEXT_KEYS:
            value = delta.get(key)
            if isinstance(value, str):
                self._texts.setdefault(key, []).append(value)
                readable = readable or value
        details = delta.get(DETAILS_KEY)
        for piece in details if isinstance(details, list) else ():
            if isinstance(piece, dict):
                self._block(piece).add(piece)
        if not readable and isinstance(details, list):
            readable = "".join(map(_readable, details))
        if delta.get(EXTRA_KEY) is not None:
            self._extra_content = delta[EXTRA_KEY]
        return readable

    def echo(self) -> dict[str, Any]:
        """The fields to send back with this message; one that came empty stays, empty."""
        fields: dict[str, Any] = {key: "".join(pieces) for key, pieces in self._texts.items()}
        if self._blocks:
            fields[DETAILS_KEY] = [block.whole() for block in self._blocks]
        if self._extra_content is not None:
            fields[EXTRA_KEY] = self._extra_content
        return fields

    def _block(self, piece: Mapping[str, Any]) -> _Block:
        """The block this piece goes on with: the last one, if index and type are the same."""
        if self._blocks and piece.get("index") is not None:
            last = self._blocks[-1]
            if all(last.fixed.get(key) == piece.get(key) for key in ("index", "type")):
                return last
        self._blocks.append(_Block())
        return self._blocks[-1]


def _readable(piece: Any) -> str:
    if not isinstance(piece, dict):
        return ""
    value = piece.get("text") or piece.get("summary")
    return value if isinstance(value, str) else ""
