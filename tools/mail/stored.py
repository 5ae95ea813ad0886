"""A message where it lies, and reading it without leaving a mark.

Nothing here writes, locks, renames or touches a flag; a file that is moved or removed while it is
being read is looked for once under its new name and then counts as unreadable.
"""

import os
import stat
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tools.mail.fields import MAX_HEADER_BYTES, Fields, split_head
from tools.mail.heads import Head, head_of
from tools.mail.read_cache import ReadCache

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
_FRONT_BYTES = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One message of a folder. `delivered` is when it arrived here, as far as the store tells.

    `key` names the content and stays when a mail program moves the file from new to cur.
    `span` is the range inside an mbox file, None where the file is the message.
    """

    folder: str
    path: str
    key: Hashable
    delivered: datetime
    size_bytes: int
    span: tuple[int, int] | None = None


def read_stored(stored: Stored, limit: int = MAX_MESSAGE_BYTES) -> bytes:
    """The first `limit` bytes of the message. Raises: OSError when it cannot be read."""
    if stored.span is None:
        return _read_file(_current_path(stored.path), 0, limit)
    start, end = stored.span
    return _unquoted(_read_file(stored.path, start, min(limit, end - start)))


def read_head_of(stored: Stored, cache: ReadCache) -> Head | None:
    """The message's head, read at most once; None when it cannot be read now."""
    known = cache.heads.get(stored.key)
    if known is not None:
        return known
    try:
        head = head_of(_fields(stored))
    except OSError:
        return None
    cache.heads.put(stored.key, head)
    return head


def _fields(stored: Stored) -> Fields:
    front = read_stored(stored, _FRONT_BYTES)
    fields, body = split_head(front)
    if body < len(front) or stored.size_bytes <= _FRONT_BYTES:
        return fields
    return split_head(read_stored(stored, MAX_HEADER_BYTES))[0]


def _read_file(path: str, start: int, length: int) -> bytes:
    """A range of a regular file. A pipe or a device in a mailbox would hang the reader: refused."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is not a regular file")
        pieces: list[bytes] = []
        while length > 0:
            piece = os.pread(descriptor, min(length, 8 * 1024 * 1024), start)
            if not piece:
                break
            pieces.append(piece)
            start += len(piece)
            length -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def _current_path(path: str) -> str:
    """Where the Maildir message is now: its flags, and so its name, may have changed."""
    if os.path.lexists(path):
        return path
    folder = Path(path).parent.parent
    base = Path(path).name.partition(":")[0]
    for name in ("cur", "new"):
        for found in (folder / name).glob(f"{_literal(base)}*"):
            if found.name.partition(":")[0] == base:
                return str(found)
    return path


def _literal(name: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


def _unquoted(message: bytes) -> bytes:
    """The message without the ">" that keeps its own "From " lines apart in an mbox."""
    if b"\n>" not in message:
        return message
    lines = message.split(b"\n")
    return b"\n".join(
        line[1:] if line[:1] == b">" and line.lstrip(b">")[:5] == b"From " else line
        for line in lines
    )
