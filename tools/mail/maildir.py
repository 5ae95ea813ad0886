"""Maildir folders: listing messages, and filing a sent copy."""

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tools.mail.stored import Stored

_ARRIVAL = re.compile(r"(\d{9,10})[._]")


def is_maildir(path: Path) -> bool:
    """True for a folder with `cur` or `new`; a copy often lacks the empty ones."""
    return (path / "cur").is_dir() or (path / "new").is_dir()


def list_maildir(name: str, path: Path) -> tuple[list[Stored], int]:
    """The messages of the folder in no order, and how many entries could not even be looked at."""
    messages: list[Stored] = []
    unreadable = 0
    for box in ("new", "cur"):
        for entry in _entries(path / box):
            if entry.name.startswith("."):
                continue
            stored = _stored(name, entry)
            if stored is None:
                unreadable += 1
            else:
                messages.append(stored)
    return messages, unreadable


def _entries(path: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            yield from entries
    except OSError:
        return


def _stored(folder: str, entry: os.DirEntry[str]) -> Stored | None:
    try:
        if not entry.is_file(follow_symlinks=False):
            return None
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    named = _ARRIVAL.match(entry.name)
    seconds = int(named[1]) if named else facts.st_mtime
    return Stored(
        folder=folder,
        path=entry.path,
        key=(facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_size),
        delivered=datetime.fromtimestamp(seconds, UTC),
        size_bytes=facts.st_size,
    )


def file_copy(folder: Path, message: bytes, *, name: str) -> Path:
    """The path of the message, now filed as seen in the Maildir, which is made if it is missing.

    Written under `tmp`, flushed and then linked, so that no reader sees half of it.
    Raises: OSError when it cannot be written, FileExistsError when the name is taken.
    """
    for box in ("tmp", "new", "cur"):
        (folder / box).mkdir(mode=0o700, parents=True, exist_ok=True)
    part = folder / "tmp" / name
    final = folder / "cur" / f"{name}:2,S"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(message)
            file.flush()
            os.fsync(file.fileno())
        part.replace(final)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    return final
