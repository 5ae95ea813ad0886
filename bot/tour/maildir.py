"""Files messages into a Maildir so that a reader sees each one whole or not at all."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

BOXES = ("cur", "new", "tmp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Under which name a message is filed. `flags` are Maildir letters; with any it goes to `cur`."""

    name: str
    flags: str = ""
    seen_before: bool = False  # filed in `cur` even without a flag
    at: datetime | None = None  # becomes the file's modification time
    durable: bool = True  # survives a power cut once filed


def make_maildir(folder: Path) -> Path:
    """The folder, now with `cur`, `new` and `tmp`, readable by its owner only."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for box in BOXES:
        (folder / box).mkdir(mode=0o700, exist_ok=True)
    return folder


def is_maildir(folder: Path) -> bool:
    """True where `cur` and `new` stand side by side; `tmp` is often missing in copies."""
    return (folder / "cur").is_dir() and (folder / "new").is_dir()


def file_message(folder: Path, slot: Slot, pieces: Iterable[bytes]) -> Path:
    """The path of the message, complete when this returns.

    It is written under `tmp` and renamed, so no reader ever sees a part of it, and a failure leaves
    nothing behind.

    Raises: FileExistsError when the name is taken, OSError when the disk is full or read-only.
    """
    partial = folder / "tmp" / slot.name
    in_cur = bool(slot.flags) or slot.seen_before
    final = (
        folder
        / ("cur" if in_cur else "new")
        / (f"{slot.name}:2,{slot.flags}" if in_cur else slot.name)
    )
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
            if slot.durable:
                file.flush()
                os.fsync(file.fileno())
        if slot.at is not None:
            seconds = slot.at.timestamp()
            os.utime(partial, (seconds, seconds))
        os.link(partial, final)  # unlike a rename, this never replaces another message
    finally:
        partial.unlink(missing_ok=True)
    return final
