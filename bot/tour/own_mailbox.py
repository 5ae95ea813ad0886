"""Copies a person's own mail into the tour: a Maildir, a folder of message files, or an mbox file.

Why: the tour must prove itself on real mail and must not be able to harm it. The source is only
ever opened for reading, and everything after this works on the copy.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import MessageError
from email.parser import BytesHeaderParser
from email.utils import getaddresses
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from bot.errors import UsageProblem
from bot.tour.maildir import Slot, file_message, is_maildir, make_maildir

MESSAGE_LIMIT_BYTES = 64 * 1024**2

_PIECE_BYTES = 256 * 1024
_HEADER_BYTES = 64 * 1024
_LEFT_OUT = {"trash", "junk", "spam", "drafts", "deleted items", "papierkorb", "entwürfe"}
_ADDRESS = re.compile(r"[^\s@<>,;:\"]+@[^\s@<>,;:\"]+\.[^\s@<>,;:\".]+")
_ESCAPED = re.compile(rb">+From ")
_OWNER_HEADERS = ("Delivered-To", "X-Original-To", "To", "Cc")
_HEADER_LINE = re.compile(rb"([!-9;-~]+)[ \t]*:|[ \t]")
_HEADER_END = re.compile(rb"\r?\n\r?\n")


class _Unreadable(Exception):  # noqa: N818 - caught here, counted as skipped
    """The source could not be read to its end."""


class SourceKind(StrEnum):
    """What the person pointed at."""

    MAILDIR = "Maildir"
    FOLDER = "folder of message files"
    MBOX = "mbox file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What was copied. `skipped` could not be read or was too large; `older` was past the limits.

    `address` is whose mailbox it seems to be, None where no message names a recipient.
    """

    kind: SourceKind
    messages: int
    skipped: int
    older: int
    address: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Where one message lies: a whole file, or a stretch of an mbox."""

    path: Path
    order: float
    size: int
    flags: str = ""
    seen_before: bool = False
    start: int | None = None  # None: the whole file is the message


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyLimits:
    """How much of a mailbox is copied, the newest first."""

    messages: int = 5_000
    total_bytes: int = 1024**3


def copy_mailbox(source: Path, into: Path, limits: CopyLimits = CopyLimits()) -> Copied:
    """The newest messages of `source` that fit the limits, now in the Maildir `into`.

    Folders of a Maildir are read too, except trash, spam and drafts. Of any other folder only what
    is named `.eml` or begins like a message is taken. Nothing in `source` is opened for writing,
    renamed or locked.

    Raises: UsageProblem when there is no mailbox there, no message in it, or it may not be read;
    OSError when the copy cannot be written.
    """
    try:
        kind = _kind(source)
        found, skipped = _find(kind, source)
    except OSError as error:
        raise UsageProblem(f"cannot read {source}: {error.strerror or error}") from error
    kept = _newest(found, limits)
    make_maildir(into)
    recipients: Counter[str] = Counter()
    copied = 0
    for number, message in enumerate(kept):
        head = _copy(message, into, number)
        if head is None:
            skipped += 1
            continue
        copied += 1
        recipients.update(_recipients(head))
    if not copied:
        unread = f" ({skipped} could not be read)" if skipped else ""
        raise UsageProblem(
            f"{source} holds no mail{unread}; name a Maildir, a folder of .eml files or an mbox"
        )
    return Copied(
        kind=kind,
        messages=copied,
        skipped=skipped,
        older=len(found) - len(kept),
        address=_most_frequent(recipients),
    )


def _kind(source: Path) -> SourceKind:
    if source.is_file():
        with source.open("rb") as file:
            if file.read(5) == b"From ":
                return SourceKind.MBOX
        raise UsageProblem(f"{source} is no mbox file: its first line does not begin with 'From '")
    if not source.is_dir():
        raise UsageProblem(
            f"no mailbox at {source}; name a Maildir, a folder of .eml files or an mbox"
        )
    inside = (source, *(path for path in source.iterdir() if path.is_dir()))
    if any(is_maildir(folder) for folder in inside):
        return SourceKind.MAILDIR
    return SourceKind.FOLDER


def _find(kind: SourceKind, source: Path) -> tuple[list[_Source], int]:
    """Every message there, and how many files are none that can be read."""
    match kind:
        case SourceKind.MBOX:
            return list(_in_mbox(source)), 0
        case SourceKind.MAILDIR:
            paths = [path for folder in _maildirs(source) for path in _in_maildir(folder)]
        case SourceKind.FOLDER:
            paths = [path for path in _walk(source) if _is_message(path)]
    found = [message for path in paths if (message := _whole_file(path)) is not None]
    return found, len(paths) - len(found)


def _is_message(path: Path) -> bool:
    """True for `.eml`, and for a readable file of any other name that begins as mail does.

    Why not every file: the folder may be anything, and what is no mail is never copied.
    """
    if path.suffix.lower() == ".eml":
        return True
    if _whole_file(path) is None:
        return False
    try:
        with path.open("rb") as file:
            return _is_mail_header(file.read(_HEADER_BYTES))
    except OSError:
        return False


def _is_mail_header(start: bytes) -> bool:
    """True where header lines stand alone up to the first blank line, and one says From or Date."""
    head, *_ = _HEADER_END.split(start, maxsplit=1)
    lines = head.splitlines()
    if lines and lines[0].startswith(b"From "):  # MH folders that were once an mbox
        del lines[0]
    matches = [_HEADER_LINE.match(line) for line in lines]
    names = {match[1].lower() for match in matches if match is not None and match[1]}
    return None not in matches and not names.isdisjoint({b"from", b"date"})


def _maildirs(folder: Path) -> Iterator[Path]:
    """The folder itself and the Maildirs below it, Maildir++ (`.Name.Sub`) or nested."""
    if is_maildir(folder):
        yield folder
    for child in sorted(folder.iterdir()):
        name = child.name.rpartition(".")[2].casefold()
        if child.name in ("cur", "new", "tmp") or name in _LEFT_OUT or child.is_symlink():
            continue
        if child.is_dir():
            yield from _maildirs(child)


def _in_maildir(folder: Path) -> list[Path]:
    return sorted(
        path for box in ("cur", "new") for path in (folder / box).iterdir() if path.name[0] != "."
    )


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(names) if not name.startswith("."))


def _whole_file(path: Path) -> _Source | None:
    """The message in this file, or None where it is no regular, readable file of a sane size."""
    try:
        facts = path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(facts.st_mode) or not 0 < facts.st_size <= MESSAGE_LIMIT_BYTES:
        return None
    flags = path.name.rpartition(":2,")[2] if ":2," in path.name else ""
    return _Source(
        path=path,
        order=facts.st_mtime,
        size=facts.st_size,
        flags="".join(sorted(set(flags) & set("DFPRST"))),
        seen_before=path.parent.name == "cur",
    )


def _in_mbox(path: Path) -> Iterator[_Source]:
    """The messages of an mbox by position; a `From ` line after a blank line begins one."""
    starts: list[int] = []
    position, blank_before = 0, True
    with path.open("rb") as file:
        while line := file.readline(_PIECE_BYTES):
            if blank_before and line.startswith(b"From "):
                starts.append(position)
            blank_before = line in (b"\n", b"\r\n")
            position += len(line)
    for start, end in zip(starts, [*starts[1:], position], strict=True):
        yield _Source(path=path, order=start, size=end - start, start=start)


def _newest(found: list[_Source], limits: CopyLimits) -> list[_Source]:
    """The newest that fit both limits, oldest first; among equals in time the names decide."""
    kept: list[_Source] = []
    room = limits.total_bytes
    for message in reversed(sorted(found, key=lambda each: each.order)[-limits.messages :]):
        room -= message.size
        if room < 0:
            break
        kept.append(message)
    return kept[::-1]


def _copy(message: _Source, into: Path, number: int) -> bytes | None:
    """The first bytes of the message, now copied; None where its file cannot be read."""
    slot = Slot(
        name=f"{number:06}.copied.steward",
        flags=message.flags,
        seen_before=message.seen_before,
        at=None if message.start is not None else datetime.fromtimestamp(message.order, UTC),
        durable=False,
    )
    pieces = _pieces(message)
    try:
        first = next(pieces, b"")
        if not first.strip():
            return None
        file_message(into, slot, chain([first], pieces))
    except _Unreadable:
        return None
    return first[:_HEADER_BYTES]


def _pieces(message: _Source) -> Iterator[bytes]:
    """The message's bytes. Raises: _Unreadable."""
    try:
        with message.path.open("rb") as file:
            if message.start is None:
                yield from iter(lambda: file.read(_PIECE_BYTES), b"")
            else:
                file.seek(message.start)
                yield from _unescaped(file, message.size)
    except OSError as error:
        raise _Unreadable from error


def _unescaped(file: BinaryIO, size: int) -> Iterator[bytes]:
    """A message of an mbox, without its separator line and with `>From ` as it was written."""
    left = size - len(file.readline())
    gathered = bytearray()
    while left > 0 and (line := file.readline(min(left, _PIECE_BYTES))):
        left -= len(line)
        gathered += line[1:] if _ESCAPED.match(line) else line
        if len(gathered) >= _PIECE_BYTES:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)


def _recipients(head: bytes) -> set[str]:
    """The addresses a message was sent to, each once; empty where its header cannot be read."""
    try:
        header = BytesHeaderParser().parsebytes(head)
        lines = [str(value) for name in _OWNER_HEADERS for value in header.get_all(name, [])]
        addresses = {address.casefold() for _, address in getaddresses(lines[:20])}
    except (MessageError, ValueError, LookupError, IndexError, TypeError):
        return set()  # an unreadable header says nothing about the owner
    return {address for address in addresses if _ADDRESS.fullmatch(address)}


def _most_frequent(recipients: Counter[str]) -> str | None:
    """The address that most messages went to; the first in order among equals."""
    if not recipients:
        return None
    most = max(recipients.values())
    return min(address for address, count in recipients.items() if count == most)
