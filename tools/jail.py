"""The path jail: which paths a tool may read and write, and the only way it opens them."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO

from tools import descent
from tools.contract import Listed
from tools.descent import Descent
from tools.errors import JailError
from tools.spelling import Disk, Identity, RealDisk, folded, stored_spelling

MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 4096
WORK_FOLDER = "work"  # below steward's home: where unattended runs may work


class _Rule(IntEnum):
    """What holds in a zone; where two zones are one folder, the stricter rule holds."""

    WRITE = 0
    READ = 1
    NOTHING = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Zone:
    path: Path
    rule: _Rule

    def holds(self, path: Path) -> bool:
        if self.rule is _Rule.NOTHING:  # compared in every spelling: refusing too much is no harm
            own = folded(self.path)
            return folded(path)[: len(own)] == own
        return path.is_relative_to(self.path)


class Jail:
    """The real `PathJail`: a workspace to write in, a spill directory to read, nothing else.

    A path is judged by the innermost of workspace, spill directory and forbidden places that
    holds it, so a workspace inside steward's home works while the home itself stays shut.
    """

    def __init__(
        self,
        *,
        root: Path,
        spill_dir: Path,
        scratch_root: Path | None = None,
        forbidden: Sequence[Path] = (),
        disk: Disk | None = None,
    ) -> None:
        """`scratch_root`: steward's own work directory for this producer, if that is the root or in it.

        Raises: JailError on a platform that cannot open a file relative to a descriptor.
        """
        if not descent.SUPPORTED:
            raise JailError(
                "this system cannot open files safe against a swapped link; use another"
            )
        self._root = _canonical(root)
        self._spill = _canonical(spill_dir)
        self._scratch = None if scratch_root is None else _canonical(scratch_root)
        self._forbidden = tuple(_canonical(path) for path in forbidden)
        self._disk: Disk = disk or RealDisk()
        self._zones = (
            _Zone(path=self._root, rule=_Rule.WRITE),
            _Zone(path=self._spill, rule=_Rule.READ),
            *(_Zone(path=path, rule=_Rule.NOTHING) for path in self._forbidden),
        )

    @property
    def root(self) -> Path:
        """The canonical workspace root."""
        return self._root

    def resolve(self, path: str) -> Path:
        """The canonical path, links and `..` followed first and containment proven after.

        A relative path starts at the root; `~` is an ordinary name. The file need not exist.
        Raises: JailError naming the path and what to give instead.
        """
        _check_text(path)
        try:
            real = _canonical(self._root / path)
        except RecursionError:
            raise JailError(f"{_quoted(path)} goes through too many links") from None
        zone = self._zone(real, path)
        spelled = stored_spelling(zone.path, real, self._disk)
        self._zone(spelled, path)
        return spelled

    def in_scratch(self, path: Path) -> bool:
        """True where the path lies in steward's own work directory for this producer."""
        return self._scratch is not None and path.is_relative_to(self._scratch)

    def in_spill(self, path: Path) -> bool:
        """True where the path lies in the spill directory."""
        return path.is_relative_to(self._spill)

    def shown(self, path: Path) -> str:
        """The path from the root, or the whole path in the spill directory; safe to print."""
        inside = path.is_relative_to(self._root)
        return printable(str(path.relative_to(self._root) if inside else path))

    def open_read(self, path: Path) -> BinaryIO:
        """The regular file, opened. Raises: JailError, OSError."""
        return self._descent(path).open_file()

    def open_folder(self, path: Path) -> int:
        """A descriptor of the folder. Raises: JailError, OSError."""
        return self._descent(path).open_folder()

    def list_folder(self, path: Path, *, limit: int) -> Sequence[Listed]:
        """At most `limit` names, sorted, forbidden ones left out. Raises: JailError, OSError."""
        names = self._descent(path).list_folder(limit)
        return [each for each in names if self._innermost(path / each.name).rule < _Rule.NOTHING]

    def write(self, path: Path, data: bytes) -> bool:
        """Make `data` the whole content, at once or not at all; True if the file is new.

        Raises: JailError, OSError; then the file is as it was.
        """
        if self._zone(path, str(path)).rule is not _Rule.WRITE:
            raise JailError(
                f"{_quoted(str(path))} holds steward's saved results; tools only read it"
            )
        return self._descent(path).replace_file(data)

    def barred(self) -> frozenset[Identity]:
        """Device and inode of everything forbidden that exists now.

        So a forbidden file is recognised under another spelling, another mount or a hard link.
        """
        found = (self._disk.identity(str(path)) for path in self._forbidden)
        return frozenset(each for each in found if each is not None)

    def _descent(self, path: Path) -> Descent:
        anchor = self._zone(path, str(path)).path
        return Descent(anchor=anchor, parts=path.relative_to(anchor).parts, barred=self.barred())

    def _innermost(self, path: Path) -> _Zone:
        holding = [zone for zone in self._zones if zone.holds(path)]
        outside = _Zone(path=Path(path.anchor), rule=_Rule.NOTHING)
        return max(holding, key=lambda zone: (len(zone.path.parts), zone.rule), default=outside)

    def _zone(self, path: Path, written: str) -> _Zone:
        """The zone that decides. Raises: JailError where nothing is allowed there."""
        if ".." in path.parts:
            raise JailError(f"{_quoted(written)} is not canonical")
        zone = self._innermost(path)
        if zone.rule is _Rule.NOTHING:
            if zone.path in self._forbidden:
                raise JailError(f"{_quoted(written)} is steward's own; no tool may touch it")
            raise JailError(
                f"{_quoted(written)} leads outside the workspace; "
                "give a path below it, such as notes/today.md"
            )
        return zone


def check_workspace(workspace: Path, home: Path) -> None:
    """Return if tools may be let into `workspace`, both paths canonicalised first.

    Raises: JailError where steward's home lies inside it, or where it is a part of the home other
    than its work directory; with the way out.
    """
    work, own = _canonical(workspace), _canonical(home)
    if own.is_relative_to(work) or folded(own)[: len(work.parts)] == folded(work):
        raise JailError(
            f"the workspace {work} holds steward's own home {own}; name a folder beside or below "
            f"it, such as {work / 'projects'}, or move the home with STEWARD_HOME"
        )
    shared = own / WORK_FOLDER
    if work.is_relative_to(own) and not (work != shared and work.is_relative_to(shared)):
        raise JailError(
            f"the workspace {work} is a part of steward's own home; "
            f"name a folder outside it, or one in {shared}"
        )


def printable(text: str) -> str:
    """`text` on one line and in valid Unicode: what cannot be printed is shown as an escape."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _canonical(path: Path) -> Path:
    """Links followed as far as anything exists; the rest, and what cannot be read, as written."""
    return Path(os.path.realpath(path))


def _check_text(path: str) -> None:
    try:
        encoded = path.encode("utf-8")
    except UnicodeEncodeError:
        raise JailError(f"{_quoted(path)} is not Unicode text") from None
    if not encoded:
        raise JailError('the path is empty; "." is the workspace itself')
    if b"\0" in encoded:
        raise JailError(f"{_quoted(path)} holds a zero byte")
    longest = max(len(part) for part in encoded.split(b"/"))
    if longest > MAX_NAME_BYTES or len(encoded) > MAX_PATH_BYTES:
        raise JailError(
            f"{_quoted(path)} is too long: a name has at most {MAX_NAME_BYTES} bytes, "
            f"a path {MAX_PATH_BYTES}"
        )


def _quoted(path: str) -> str:
    shown = path if len(path) <= 120 else f"{path[:117]}..."
    return json.dumps(printable(shown), ensure_ascii=False)
