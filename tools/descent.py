"""Opens and writes below one folder, descriptor by descriptor, without ever following a link.

Why: between the check of a path and its use, anything on the way may be swapped for a link. Each
step is opened relative to the descriptor of the step before (openat with O_NOFOLLOW), so what was
checked is what is opened. Python has this on Linux and macOS; elsewhere the start is refused.
"""

import os
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tools.contract import FileKind, Listed
from tools.errors import JailError
from tools.spelling import Identity

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
SUPPORTED = {os.open, os.stat, os.mkdir, os.rename, os.unlink} <= os.supports_dir_fd


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """A way down: `parts` below the canonical folder `anchor`. Nothing in `barred` is entered."""

    anchor: Path
    parts: tuple[str, ...]
    barred: frozenset[Identity]

    def open_folder(self) -> int:
        """A descriptor of the folder at the end. Raises: JailError, OSError."""
        return self._walk(self.parts, make=False)

    def open_file(self) -> BinaryIO:
        """The regular file at the end, for reading. Raises: JailError, OSError."""
        folder, name = self._parent(make=False)
        try:
            _check_regular(os.stat(name, dir_fd=folder, follow_symlinks=False), name)
            descriptor = os.open(name, _FILE, dir_fd=folder)
        except OSError as error:
            raise _told(error, folder, name) from error
        finally:
            os.close(folder)
        try:
            found = os.fstat(descriptor)
            _check_regular(found, name)  # what was opened, whatever stood there before
            self._check_barred(found, name)
            return os.fdopen(descriptor, "rb")
        except BaseException:
            os.close(descriptor)
            raise

    def list_folder(self, limit: int) -> list[Listed]:
        """At most `limit` names of the folder at the end, sorted. Raises: JailError, OSError."""
        folder = self.open_folder()
        try:
            listed = []
            with os.scandir(folder) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):  # gone since it was named
                        found = entry.stat(follow_symlinks=False)
                        if (found.st_dev, found.st_ino) not in self.barred:
                            listed.append(_listed(entry.name, found))
                    if len(listed) >= limit:
                        break
        finally:
            os.close(folder)
        return sorted(listed, key=lambda each: each.name)

    def replace_file(self, data: bytes) -> bool:
        """Make `data` the whole content of the file at the end, atomically and on disk.

        An existing file keeps its permissions; missing folders are made. True if the file is new.
        Raises: JailError, OSError; then the file is as it was.
        """
        folder, name = self._parent(make=True)
        try:
            mode = self._mode_to_keep(folder, name)
            _write_beside(folder, name, data, mode)
        finally:
            os.close(folder)
        return mode is None

    def _mode_to_keep(self, folder: int, name: str) -> int | None:
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        _check_regular(found, name)
        self._check_barred(found, name)
        return stat.S_IMODE(found.st_mode) & 0o777

    def _parent(self, *, make: bool) -> tuple[int, str]:
        if not self.parts:
            raise IsADirectoryError(21, "Is a directory")
        return self._walk(self.parts[:-1], make=make), self.parts[-1]

    def _walk(self, parts: Sequence[str], *, make: bool) -> int:
        folder = os.open(self.anchor, _FOLDER)
        try:
            for name in parts:
                below = _enter(folder, name, make=make)
                os.close(folder)
                folder = below
                self._check_barred(os.fstat(folder), name)
        except BaseException:
            os.close(folder)
            raise
        return folder

    def _check_barred(self, found: os.stat_result, name: str) -> None:
        if (found.st_dev, found.st_ino) in self.barred:
            raise JailError(f"{name!r} is steward's own; no tool may touch it")


def _enter(folder: int, name: str, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        raise _told(error, folder, name) from error


def _told(error: OSError, folder: int, name: str) -> Exception:
    """A link found on the way is a swap: the path was canonical when it was checked."""
    with suppress(OSError):
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            return JailError(f"{name!r} became a link while it was being opened; refused")
    return error


def _check_regular(found: os.stat_result, name: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(21, "Is a directory")
    if stat.S_ISLNK(found.st_mode):
        raise JailError(f"{name!r} became a link while it was being opened; refused")
    if not stat.S_ISREG(found.st_mode):
        raise JailError(f"{name!r} is no regular file (a pipe, a socket or a device); refused")


def _write_beside(folder: int, name: str, data: bytes, mode: int | None) -> None:
    beside = f".steward-{secrets.token_hex(8)}.tmp"
    descriptor = os.open(beside, _NEW, 0o666, dir_fd=folder)  # the umask narrows it
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise
    os.fsync(folder)


def _listed(name: str, found: os.stat_result) -> Listed:
    if stat.S_ISREG(found.st_mode):
        return Listed(name=name, kind=FileKind.FILE, size_bytes=found.st_size)
    if stat.S_ISDIR(found.st_mode):
        kind = FileKind.FOLDER
    elif stat.S_ISLNK(found.st_mode):
        kind = FileKind.LINK
    else:
        kind = FileKind.OTHER
    return Listed(name=name, kind=kind, size_bytes=0)
