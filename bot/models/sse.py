"""Pure. Server-sent events out of raw bytes, however the network cut them.

Why: lines end at CR, LF or CRLF and nowhere else (WHATWG HTML, section 9.2.6). A splitter on text
also breaks at U+2028 and U+0085, which may stand unescaped inside JSON.
"""

import re
from dataclasses import dataclass

MAX_EVENT_BYTES = 32 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")
_SILENT_FIELDS = frozenset({b"id", b"retry"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEvent:
    """One event: its name ("" when none was given) and its data lines joined by LF."""

    name: str
    data: bytes


class StreamTooLarge(Exception):  # noqa: N818 - read as a sentence where it is caught
    """One event, or the text outside of all events, is larger than MAX_EVENT_BYTES."""


class Splitter:
    """Bytes in, events out. `stray` is what came outside of the format: a plain error body, say."""

    def __init__(self) -> None:
        self._tail: list[bytes] = []  # pieces of the line that has no end yet
        self._tail_bytes = 0
        self._kept_bytes = 0  # data of the open event, and everything stray
        self._after_cr = False
        self._at_start = True
        self._name = ""
        self._data: list[bytes] = []
        self._stray: list[bytes] = []

    @property
    def stray(self) -> bytes:
        """Every line that is no event field, in order, joined by LF."""
        return b"\n".join(self._stray)

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """The events that this piece completed.

        Raises: StreamTooLarge.
        """
        if not piece:
            return []
        if self._after_cr:
            piece = piece.removeprefix(b"\n")
        events: list[ServerEvent] = []
        start = 0
        for end in _LINE_END.finditer(piece):
            self._tail.append(piece[start : end.start()])
            self._end_line(events)
            start = end.end()
        self._after_cr = piece.endswith(b"\r")
        if start < len(piece):
            self._tail.append(piece[start:])
            self._tail_bytes += len(piece) - start
            self._check_size()
        return events

    def close(self) -> list[ServerEvent]:
        """What an end without the last blank line leaves: at most one event, perhaps half of one."""
        events: list[ServerEvent] = []
        if any(self._tail):
            self._end_line(events)
        self._dispatch(events)
        return events

    def _check_size(self) -> None:
        if self._tail_bytes + self._kept_bytes > MAX_EVENT_BYTES:
            raise StreamTooLarge

    def _keep(self, lines: list[bytes], line: bytes) -> None:
        lines.append(line)
        self._kept_bytes += len(line)
        self._check_size()

    def _end_line(self, events: list[ServerEvent]) -> None:
        line = b"".join(self._tail)
        self._tail.clear()
        self._tail_bytes = 0
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            self._dispatch(events)
            return
        field, colon, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._keep(self._data, value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field in _SILENT_FIELDS or (colon and not field):
            return  # an id, a reconnection time, a comment
        else:
            self._keep(self._stray, line)

    def _dispatch(self, events: list[ServerEvent]) -> None:
        if self._data:
            events.append(ServerEvent(name=self._name, data=b"\n".join(self._data)))
            self._data.clear()
            self._kept_bytes = sum(map(len, self._stray))
        self._name = ""
