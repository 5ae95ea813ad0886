"""mbox files: finding where messages begin, without a lock and without changing a byte."""

import os
import re
from datetime import UTC, datetime
from pathlib import Path

from tools.mail.read_cache import ReadCache, Span
from tools.mail.stored import Stored

_BLOCK_BYTES = 4 * 1024 * 1024

# A line of prose may begin with "From "; only one that carries a time and a year, at the start of
# the file or after a blank line, begins a message (RFC 4155 appendix A, read leniently).
_SEPARATOR = re.compile(rb"From [^\r\n]{0,300}?\d{1,2}:\d{2}[^\r\n]{0,60}\d{4}[^\r\n]{0,40}\r?\n")
_BEGIN = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))" + _SEPARATOR.pattern)
_STAMP = re.compile(r"([A-Z][a-z]{2})\s+(\d{1,2})\s+(\d{1,2}):(\d{2})(?::(\d{2}))?.*?(\d{4})")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def is_mbox(path: Path) -> bool:
    """True for a regular file that begins like an mbox, and for an empty one."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            front = file.read(512)
    except OSError:
        return False
    return not front or _SEPARATOR.match(front) is not None


def list_mbox(name: str, path: Path, cache: ReadCache) -> tuple[list[Stored], int]:
    """The messages of the file in its order, and 1 in place of the second part if it is unreadable."""
    try:
        facts = path.stat()
        spans = _spans(path, facts, cache)
    except OSError:
        return [], 1
    fallback = datetime.fromtimestamp(facts.st_mtime, UTC)
    return [
        Stored(
            folder=name,
            path=str(path),
            key=(facts.st_dev, facts.st_ino, start, end, line),
            delivered=_arrival(line) or fallback,
            size_bytes=end - start,
            span=(start, end),
        )
        for start, end, line in spans
    ], 0


def _spans(path: Path, facts: os.stat_result, cache: ReadCache) -> tuple[Span, ...]:
    key = (facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_size)
    known = cache.scans.get(key)
    if known is None:
        known = _scan(path)
        cache.scans.put(key, known)
    return known


def _scan(path: Path) -> tuple[Span, ...]:
    """Every message's range. The file is read in blocks that overlap by one separator line."""
    begins: list[tuple[int, int, str]] = []  # where the separator starts, where it ends, its text
    overlap = 1024
    offset = 0
    with path.open("rb") as file:
        tail = b""
        while block := file.read(_BLOCK_BYTES):
            window = tail + block
            base = offset - len(tail)
            for match in _BEGIN.finditer(window):
                at_start = match.start() == 0 and base > 0
                new = not begins or base + match.start() > begins[-1][0]
                if new and not at_start:
                    text = match[0].decode("latin-1").strip()
                    begins.append((base + match.start(), base + match.end(), text))
            offset += len(block)
            tail = window[-overlap:]
    ends = [begin for begin, _, _ in begins[1:]] + [offset]
    return tuple((start, end, text) for (_, start, text), end in zip(begins, ends, strict=True))


def _arrival(line: str) -> datetime | None:
    """When the separator line says the message came; its zone is not written, so UTC."""
    match = _STAMP.search(line)
    if match is None or match[1] not in _MONTHS:
        return None
    try:
        return datetime(
            int(match[6]), _MONTHS.index(match[1]) + 1, int(match[2]), int(match[3]),
            int(match[4]), int(match[5] or 0), tzinfo=UTC,
        )  # fmt: skip
    except ValueError:
        return None
