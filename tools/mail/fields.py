"""Pure. The header block of a message or part, read leniently from raw bytes.

Why: the standard library's header classes raise on some real headers and cut others, so every
value here is raw bytes with an own reader per kind.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from tools.mail.words import header_text, unfold

MAX_HEADER_BYTES = 262_144
MAX_FIELD_BYTES = 65_536

_NAME = re.compile(rb"[!-9;-~]{1,78}[ \t]*:")
_ID = re.compile(r"<[^<>\s]{1,900}>")


@dataclass(frozen=True, kw_only=True)
class Fields:
    """Header fields in order, each name lower-cased with its raw value."""

    pairs: tuple[tuple[str, bytes], ...] = ()
    cut: bool = field(default=False)  # the block was longer than MAX_HEADER_BYTES

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[bytes, ...]]:
        found: dict[str, list[bytes]] = {}
        for name, value in self.pairs:
            found.setdefault(name, []).append(value)
        return MappingProxyType({name: tuple(values) for name, values in found.items()})

    def all(self, name: str) -> tuple[bytes, ...]:
        """Every raw value of that name, in order."""
        return self._by_name.get(name, ())

    def has(self, name: str) -> bool:
        """True if a field of that name stands there, also an empty one."""
        return name in self._by_name

    def raw(self, name: str) -> str | None:
        """The first value, unfolded, encoded words still standing; None where there is none."""
        values = self.all(name)
        return unfold(values[0]) if values else None

    def text(self, name: str) -> str | None:
        """The first value for people; None where there is none."""
        values = self.all(name)
        return header_text(values[0]) if values else None

    def ids(self, name: str) -> tuple[str, ...]:
        """Every `<...>` identifier of all fields of that name, in order, each once.

        Blanks inside an identifier (folded in the middle) are removed.
        """
        found: dict[str, None] = {}
        for value in self.all(name):
            text = unfold(value)
            for match in _ID.findall(re.sub(r"<[^<>]*>", _without_blanks, text)):
                found.setdefault(match)
        return tuple(found)


def _without_blanks(match: re.Match[str]) -> str:
    """Join an identifier that was folded in its middle."""
    return re.sub(r"\s+", "", match[0])


def split_head(raw: bytes, start: int = 0, end: int | None = None) -> tuple[Fields, int]:
    """The fields between `start` and `end`, and where the body begins.

    A line that is no field is skipped where fields go on after it, and begins the body where
    they do not (a message without the blank line). An mbox "From " line in front is skipped.
    """
    stop = len(raw) if end is None else end
    limit = min(stop, start + MAX_HEADER_BYTES)
    pairs: list[tuple[str, bytes]] = []
    position = start
    while position < limit:
        line_end = _line_end(raw, position, stop)
        line = raw[position : min(line_end, position + MAX_FIELD_BYTES)]
        if not line.strip(b"\r\n"):
            return Fields(pairs=tuple(pairs)), line_end
        name = _NAME.match(line)
        if line[:1] in b" \t" and (pairs or not line.strip()):
            _continue(pairs, line)
        elif name:
            pairs.append((_label(name[0]), line[name.end() :]))
        elif not _fields_go_on(raw, line_end, stop):
            return Fields(pairs=tuple(pairs)), position
        position = line_end
    if position < stop:
        return Fields(pairs=tuple(pairs), cut=True), _after_blank_line(raw, position, stop)
    return Fields(pairs=tuple(pairs)), stop


def _label(name: bytes) -> str:
    return name[:-1].strip().decode("ascii").lower()


def _continue(pairs: list[tuple[str, bytes]], line: bytes) -> None:
    if pairs:
        name, value = pairs[-1]
        if len(value) < MAX_FIELD_BYTES:
            pairs[-1] = (name, value + line)


def _line_end(raw: bytes, position: int, stop: int) -> int:
    found = raw.find(b"\n", position, stop)
    return stop if found < 0 else found + 1


def _fields_go_on(raw: bytes, position: int, stop: int) -> bool:
    """True if the next line is a field of a kind that only headers have."""
    line = raw[position : min(_line_end(raw, position, stop), position + 200)]
    name = _NAME.match(line)
    if name is None:
        return False
    label = _label(name[0])
    return label in _COMMON or label.startswith(("x-", "list-", "arc-"))


def _after_blank_line(raw: bytes, position: int, stop: int) -> int:
    match = re.compile(rb"\r?\n\r?\n").search(raw, position, stop)
    return match.end() if match else stop


_COMMON = frozenset(
    [
        "from",
        "to",
        "cc",
        "bcc",
        "subject",
        "date",
        "message-id",
        "in-reply-to",
        "references",
        "received",
        "return-path",
        "reply-to",
        "sender",
        "mime-version",
        "content-type",
        "content-transfer-encoding",
        "content-disposition",
        "delivered-to",
        "status",
        "x-status",
        "dkim-signature",
    ]
)
