"""Reads one page of a text file of any size: from a line and a column on, in bounded memory."""

import codecs
import re
from dataclasses import dataclass
from typing import BinaryIO

SNIFFED_BYTES = 8192
CHUNK_BYTES = 1024 * 1024
MAX_SCAN_BYTES = 2 * 1024 * 1024 * 1024

# Bytes that are no UTF-8 come out of the decoder as lone surrogates, one a byte, so that columns
# count alike on every page; they are shown, as is a zero byte, by the replacement character.
_UNSHOWN = re.compile("[\udc80-\udcff\0]")


class BinaryFileError(Exception):
    """The file is no text."""


class BeyondEndError(Exception):
    """The page would begin where nothing is; the text says what the file has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Where the page begins (line and column from 1) and how large it may be."""

    line: int
    column: int
    limit: int | None
    size_bytes: int
    numbered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page. `next_line` is None at the end of the file; `next_column` is 1 but inside a line.

    `lines`: of the whole file, None where it is too large to count. `unreadable`: bytes that are
    no text, each shown as a replacement character.
    """

    text: str
    last_line: int
    next_line: int | None
    next_column: int
    lines: int | None
    unreadable: int


def read_page(file: BinaryIO, wanted: Wanted) -> Page:
    """The page: whole lines, or a part of one line that alone is too large.

    Raises: BinaryFileError, BeyondEndError, OSError.
    """
    if b"\0" in file.read(SNIFFED_BYTES):
        raise BinaryFileError
    file.seek(0)
    _skip_lines(file, wanted.line - 1)
    _skip_characters(file, wanted.column - 1)
    return _collect(file, wanted)


def _skip_lines(file: BinaryIO, count: int) -> None:
    seen = position = 0
    last = b"\n"
    while seen < count:
        chunk = file.read(CHUNK_BYTES)
        if position >= MAX_SCAN_BYTES:
            raise BeyondEndError(f"only its first {MAX_SCAN_BYTES} bytes are searched for a line")
        if not chunk:
            raise BeyondEndError(f"it has {seen + _unfinished(last)} lines")
        here, last = chunk.count(b"\n"), chunk[-1:]
        if seen + here >= count:
            position += _end_of_line(chunk, count - seen)
            break
        seen, position = seen + here, position + len(chunk)
    file.seek(position)
    if count and not file.read(1):
        raise BeyondEndError(f"it has {count} lines")
    file.seek(position)


def _end_of_line(chunk: bytes, number: int) -> int:
    end = -1
    for _ in range(number):
        end = chunk.index(b"\n", end + 1)
    return end + 1


def _skip_characters(file: BinaryIO, count: int) -> None:
    skipped = 0
    while skipped < count:
        start = file.tell()
        text, ended = _piece(file, CHUNK_BYTES)
        if ended and skipped + len(text.rstrip("\n")) <= count:
            length = skipped + len(text.rstrip("\n"))
            raise BeyondEndError(f"that line has {length} characters")
        passed = text[: count - skipped]
        file.seek(start + len(_as_bytes(passed)))
        skipped += len(passed)


def _piece(file: BinaryIO, size: int) -> tuple[str, bool]:
    """Whole characters of the current line, up to `size` bytes, and whether the line ends there."""
    start = file.tell()
    raw = file.readline(size)
    ended = raw.endswith(b"\n") or len(raw) < size
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(raw, final=ended)
    file.seek(start + len(_as_bytes(text)))
    return text, ended


def _as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _collect(file: BinaryIO, wanted: Wanted) -> Page:
    kept: list[str] = []
    left, line, column = wanted.size_bytes, wanted.line, 1
    while wanted.limit is None or len(kept) < wanted.limit:
        start = file.tell()
        text, ended = _piece(file, wanted.size_bytes)
        if not text:
            break
        shown = f"{line:>6}\t{text}" if wanted.numbered else text
        size = len(_shown(shown).encode())
        if ended and size <= left:
            kept.append(shown)
            left, line = left - size, line + 1
            continue
        file.seek(start)  # the next page begins with this line, or
        if not kept:  # inside it, where it alone is too large
            part = _shown(text).encode()[: max(left - 8, 4)].decode("utf-8", "ignore")
            kept.append(shown[: len(shown) - len(text) + len(part)])
            file.seek(start + len(_as_bytes(text[: len(part)])))
            column = wanted.column + len(part)
        break
    return _page(file, "".join(kept), line, column)


def _page(file: BinaryIO, text: str, line: int, column: int) -> Page:
    """The page that ends where `file` now stands: in front of `line`, or inside it."""
    rest = _lines_from(file)
    inside = column > 1
    return Page(
        text=_shown(text),
        last_line=line if inside else line - 1,
        next_line=None if rest == 0 else line,
        next_column=column,
        lines=None if rest is None else line - 1 + max(rest, int(inside)),
        unreadable=len(_UNSHOWN.findall(text)),
    )


def _shown(text: str) -> str:
    return _UNSHOWN.sub("\ufffd", text)


def _lines_from(file: BinaryIO) -> int | None:
    """Lines from here to the end of the file; None where that is too far to count."""
    lines = scanned = 0
    last = b"\n"
    while chunk := file.read(CHUNK_BYTES):
        scanned += len(chunk)
        if scanned > MAX_SCAN_BYTES:
            return None
        lines += chunk.count(b"\n")
        last = chunk[-1:]
    return lines + _unfinished(last)


def _unfinished(last: bytes) -> int:
    """1 where a last line without its newline is still to be counted."""
    return int(last != b"\n")
