"""Pure. Tool calls put together from the pieces in which servers stream them.

Why: the pieces should carry an index, an id and a name once each. Seen instead: no index at all,
index 0 for every call, an id that comes late, is empty or is shared by two calls, the name in
every piece, the arguments as an object. So a piece belongs to a call by its id first, then by its
index, then by its place; and a call whose arguments are whole takes no further ones.
"""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.models.jsontext import encode_text, is_object
from tools.contract import ToolCall

_Slot = tuple[str, int]
_KNOWN_KEYS = frozenset({"index", "id", "type", "function"})
_KNOWN_FUNCTION_KEYS = frozenset({"name", "arguments"})


@dataclass(slots=True, kw_only=True)
class _Growing:
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def arguments(self) -> str:
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    index: int | None
    id: str
    name: str
    arguments: str
    extra: Mapping[str, Any]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _piece(entry: Mapping[str, Any]) -> _Piece:
    function = entry.get("function")
    function = function if isinstance(function, dict) else {}
    arguments = function.get("arguments")
    if arguments is None:
        arguments = ""
    elif not isinstance(arguments, str):
        arguments = encode_text(arguments)
    extra = {key: value for key, value in entry.items() if key not in _KNOWN_KEYS}
    inner = {key: value for key, value in function.items() if key not in _KNOWN_FUNCTION_KEYS}
    if inner:
        extra["function"] = inner
    index = entry.get("index")
    return _Piece(
        index=index if isinstance(index, int) and not isinstance(index, bool) else None,
        id=_text(entry.get("id")),
        name=_text(function.get("name")),
        arguments=arguments,
        extra=extra,
    )


def _renames(call: _Growing, name: str) -> bool:
    """True if the name is another one, not more or less of the same."""
    if not name or not call.name:
        return False
    return not (name.startswith(call.name) or call.name.startswith(name))


def _is_another(call: _Growing, piece: _Piece) -> bool:
    """True if the piece opens a call of its own instead of going on with this one."""
    if piece.id and call.id and piece.id != call.id:
        return True
    if _renames(call, piece.name):
        return True
    return bool(piece.name and piece.arguments.strip() and is_object(call.arguments))


def _is_repetition(call: _Growing, piece: _Piece) -> bool:
    """True if a server says a finished call once more, whole and under its own id."""
    return (
        bool(piece.id and piece.id == call.id)
        and piece.name == call.name
        and piece.arguments == call.arguments
        and is_object(call.arguments)
    )


class CallAssembly:
    """The calls of one answer while it streams."""

    def __init__(self) -> None:
        self._calls: list[_Growing] = []
        self._slots: dict[_Slot, _Growing] = {}
        self._last: _Slot = ("place", 0)

    def __bool__(self) -> bool:
        return bool(self._calls)

    def feed(self, entries: Any) -> None:
        """Take the `tool_calls` of one delta; what is no list of objects is passed over."""
        if not isinstance(entries, list):
            return
        found = [_piece(entry) for entry in entries if isinstance(entry, dict)]
        for place, piece in enumerate(found):
            slot = self._slot(piece, place if len(found) > 1 or piece.name else None)
            self._last = slot
            self._add(slot, piece)

    def _slot(self, piece: _Piece, place: int | None) -> _Slot:
        if piece.index is not None:
            return ("index", piece.index)
        if piece.id:
            for slot, call in self._slots.items():
                if call.id == piece.id:
                    return slot
        return self._last if place is None else ("place", place)

    def _add(self, slot: _Slot, piece: _Piece) -> None:
        call = self._slots.get(slot)
        if call is not None and _is_repetition(call, piece):
            return
        if call is None or _is_another(call, piece):
            call = _Growing()
            self._calls.append(call)
            self._slots[slot] = call
        call.id = piece.id or call.id
        call.name = piece.name or call.name
        if piece.arguments:
            call.pieces.append(piece.arguments)
        call.extra.update(piece.extra)

    def close(
        self, *, drop_half: bool, mint: Callable[[], str], taken: Container[str]
    ) -> tuple[ToolCall, ...]:
        """The calls in order, each under an id of its own; `taken` are ids of the conversation.

        With `drop_half` a call whose arguments are no whole JSON object is left out. Without it
        they are handed on as they are, and no arguments at all are an empty object.
        """
        used: set[str] = set()
        calls: list[ToolCall] = []
        for call in self._calls:
            if drop_half and not is_object(call.arguments):
                continue
            call_id = call.id
            while not call_id or call_id in used or call_id in taken:
                call_id = mint()
            used.add(call_id)
            calls.append(
                ToolCall(
                    id=call_id,
                    name=call.name,
                    arguments=call.arguments if call.arguments.strip() else "{}",
                    extra=call.extra,
                )
            )
        return tuple(calls)
