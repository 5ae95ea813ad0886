"""Pure. Cuts text that is too large: on line boundaries, with no code fence left open."""

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A kept piece. `text` is shown; `line` and `column` (from 1) are where the rest begins for a
    head, and where the piece begins for a tail. `column` is 1 where the cut is between lines."""

    text: str
    line: int
    column: int = 1


def size_bytes(text: str) -> int:
    """The length in UTF-8."""
    return len(text.encode("utf-8"))


def cut_head(text: str, room_bytes: int) -> Cut:
    """The beginning of `text` in at most `room_bytes`, an open code fence closed within them.

    Cut after a line where that keeps at least half of the room, else after a character.
    """
    data = text.encode("utf-8")
    room = max(room_bytes, 0)
    while True:
        kept, line, column = _lines_that_fit(data, room)
        closing = open_fence(kept)
        shown = f"{kept}\n{closing}" if closing else kept
        over = size_bytes(shown) - max(room_bytes, 0)
        if over <= 0 or not kept:
            return Cut(text=shown if over <= 0 else "", line=line, column=column)
        room = max(len(kept.encode("utf-8")) - over, 0)


def _lines_that_fit(data: bytes, room: int) -> tuple[str, int, int]:
    prefix = data[:room].decode("utf-8", "ignore")
    end = prefix.rfind("\n")
    if end >= 0 and end * 2 >= len(prefix):
        kept = prefix[:end]
        return kept, kept.count("\n") + 2, 1
    return prefix, prefix.count("\n") + 1, len(prefix) - end


def cut_tail(text: str, room_bytes: int) -> Cut:
    """The end of `text` in at most `room_bytes`; a fence that is open where it begins is opened."""
    data = text.encode("utf-8")
    room = max(room_bytes, 0)
    while True:
        start, column = _start_that_fits(data, room)
        before, kept = data[:start].decode("utf-8"), data[start:].decode("utf-8")
        opening = open_fence(before)
        shown = f"{opening}\n{kept}" if opening else kept
        over = size_bytes(shown) - max(room_bytes, 0)
        if over <= 0 or not kept:
            return Cut(text=shown if over <= 0 else "", line=before.count("\n") + 1, column=column)
        room = max(len(data) - start - over, 0)


def _start_that_fits(data: bytes, room: int) -> tuple[int, int]:
    start = len(data) - min(room, len(data))
    while start < len(data) and data[start] & 0xC0 == 0x80:  # inside a character
        start += 1
    line_end = data.find(b"\n", start)
    if 0 <= line_end < start + (len(data) - start) // 2:
        return line_end + 1, 1
    line_start = data.rfind(b"\n", 0, start) + 1
    return start, len(data[line_start:start].decode("utf-8")) + 1


def open_fence(text: str) -> str:
    """The fence that would close the code block `text` ends in; empty where none is open.

    CommonMark 0.31, section 4.5: a closing fence is of the same character and at least as long.
    """
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if match is None:
            continue
        marks, info = match.groups()
        if not fence:
            fence = "" if marks[0] == "`" and "`" in info else marks
        elif marks[0] == fence[0] and len(marks) >= len(fence) and not info.strip():
            fence = ""
    return fence
