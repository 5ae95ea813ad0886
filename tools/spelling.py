"""The spelling under which a file system stores a path that it also finds under other spellings.

Why: where `Notes.md` and `notes.md` are one file, a file's taint must not depend on how a model
wrote its name. macOS folds case and Unicode forms; a Linux folder may be told to.
"""

import os
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

Identity = tuple[int, int]  # device and inode


class Disk(Protocol):
    """What must be known of a file system."""

    def identity(self, path: str) -> Identity | None:
        """Which file the name stands for, no link followed; None where there is none."""
        ...

    def names(self, folder: str) -> Sequence[str]:
        """The names in a folder as they are stored; none where it cannot be read."""
        ...


class RealDisk:
    """The file systems of this machine."""

    def identity(self, path: str) -> Identity | None:
        """As in `Disk`."""
        try:
            found = os.lstat(path)
        except (OSError, ValueError):
            return None
        return found.st_dev, found.st_ino

    def names(self, folder: str) -> Sequence[str]:
        """As in `Disk`."""
        try:
            return os.listdir(folder)
        except OSError:
            return ()


def stored_spelling(anchor: Path, path: Path, disk: Disk) -> Path:
    """`path`, each existing part below `anchor` spelled as its folder stores it.

    What does not exist yet, or cannot be read, stays as written.
    """
    spelled = str(anchor)
    for name in path.relative_to(anchor).parts:
        spelled = os.path.join(spelled, _stored_name(spelled, name, disk))
    return Path(spelled)


def folded(path: Path) -> tuple[str, ...]:
    """The parts of a path in the form in which two spellings of one file are equal anywhere."""
    return tuple(unicodedata.normalize("NFC", part).casefold() for part in path.parts)


def _stored_name(folder: str, name: str, disk: Disk) -> str:
    own = disk.identity(os.path.join(folder, name))
    if own is None:
        return name
    if all(disk.identity(os.path.join(folder, other)) != own for other in _variants(name)):
        return name  # found under this spelling alone
    names = disk.names(folder)
    if name in names:
        return name
    same = (each for each in names if disk.identity(os.path.join(folder, each)) == own)
    return next(same, name)


def _variants(name: str) -> Iterator[str]:
    forms = (name.swapcase(), *(unicodedata.normalize(form, name) for form in ("NFC", "NFD")))
    return (form for form in forms if form != name)
