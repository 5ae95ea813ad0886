"""Which files may hold text that is not the owner's, remembered in the database.

Why: a hostile mail must not become tomorrow's clean note. What was written while untrusted stays
so until `steward work trust`; in steward's own work directories whatever it did not see written is
untrusted as well.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from sqlalchemy import ColumnElement, CursorResult, delete, func, insert, update
from sqlmodel import Session, col, select

from outbox.errors import NotFound
from outbox.journal import Store
from outbox.tables import FileRecord

ABSENT = "absent"


def fingerprint(path: Path) -> str:
    """`size:mtime_ns:ctime_ns` of what stands there now, `absent` where nothing can be seen."""
    try:
        status = path.lstat()
    except OSError:
        return ABSENT
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """The call that writes, and when."""

    tool: str
    session_id: str
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """A file that was marked before its writer ran, and the record it had."""

    path: Path
    record: FileRecord | None


class FileRecords:
    """tools.contract.FileTaint over the table of file records. Paths are canonical everywhere."""

    def __init__(self, store: Store, *, scratch_root: Path) -> None:
        """`scratch_root` holds the work directories of all producers."""
        self._store = store
        self._scratch_root = scratch_root

    def is_untrusted(self, path: Path) -> bool:
        """True if the file may hold foreign text; whatever is unknown in scratch may.

        A file's own record with the file's present fingerprint decides. Else an untrusted record
        stays, a mark on any root above holds, and outside scratch the rest is the owner's.
        """
        with self._store.read() as session:
            return self._judge(session, path)

    def any_untrusted(self, root: Path) -> bool:
        """True if any file under the root is, or if a part of it could not be looked at."""
        with self._store.read() as session:
            if _marked_above(session, root) or self._any_record_below(session, root):
                return True
            try:
                return any(self._judge(session, path) for path in self._scratch_files(root))
            except OSError:
                return True

    def _judge(self, session: Session, path: Path) -> bool:
        own = _record(session, path)
        if own is not None and not own.whole_root:
            if own.untrusted:
                return True
            if own.fingerprint == fingerprint(path):
                return False
        return _marked_above(session, path) or path.is_relative_to(self._scratch_root)

    def _any_record_below(self, session: Session, root: Path) -> bool:
        below = select(FileRecord.path).where(_is_below(root), col(FileRecord.untrusted))
        return any(os.path.lexists(path) for path in session.exec(below))

    def _scratch_files(self, root: Path) -> Iterator[Path]:
        if root.is_relative_to(self._scratch_root):
            return _files_under(root)
        if self._scratch_root.is_relative_to(root):
            return _files_under(self._scratch_root)
        return iter(())

    def mark_ahead(
        self, session: Session, paths: Iterable[Path], by: Writer, *, untrusted: bool
    ) -> tuple[Ahead, ...]:
        """What will be written while untrusted, or is untrusted now, is marked before it happens.

        So a crash in mid-call leaves it untrusted, and a clean edit of a file that nobody saw
        written cleans nothing. `settle` takes back what did not come true.
        """
        marked = []
        for path in dict.fromkeys(paths):
            record = _record(session, path)
            if not untrusted and not (os.path.lexists(path) and self._judge(session, path)):
                continue
            if record is not None:
                session.expunge(record)
            _put(session, path, _values(path, by, untrusted=True))
            marked.append(Ahead(path=path, record=record))
        return tuple(marked)

    def settle(self, session: Session, ahead: Iterable[Ahead], written: Sequence[Path]) -> None:
        """Files that were marked ahead and then not written get their old record back."""
        for mark in ahead:
            if mark.path in written:
                continue
            if mark.record is None:
                _forget(session, mark.path)
            else:
                _put(session, mark.path, mark.record.model_dump(exclude={"path"}))

    def record_written(
        self, session: Session, paths: Iterable[Path], by: Writer, *, untrusted: bool
    ) -> None:
        """Each file is as the call left it; one that was untrusted stays untrusted."""
        for path in dict.fromkeys(paths):
            record = _record(session, path)
            stays = record is not None and record.untrusted
            _put(session, path, _values(path, by, untrusted=untrusted or stays))

    def mark_root(self, session: Session, root: Path, by: Writer) -> None:
        """Everything under the root is untrusted: a call changed what it cannot name."""
        values = _values(root, by, untrusted=True)
        _put(session, root, {**values, "whole_root": True, "fingerprint": ""})
        session.execute(update(FileRecord).where(_is_below(root)).values(untrusted=True))

    def trust(self, session: Session, path: Path, now: datetime) -> int:
        """The owner vouches for a file, or for every file in a directory, as it is now.

        Gives the number of files. A mark on a root further above stays, but these files are
        exempt from it until one of them changes.

        Raises: NotFound where nothing stands there, or a folder cannot be read through.
        """
        if not os.path.lexists(path):
            raise NotFound(f"there is no file {path}; nothing was changed")
        files = _vouched_for(path)
        by = Writer(tool="work trust", session_id="", now=now)
        record = _record(session, path)
        if record is not None and record.whole_root:
            _forget(session, path)
        session.execute(delete(FileRecord).where(_is_below(path), col(FileRecord.whole_root)))
        for file in files:
            _put(session, file, _values(file, by, untrusted=False))
        return len(files)


def _vouched_for(path: Path) -> list[Path]:
    if path.is_symlink() or not path.is_dir():
        return [path]
    try:
        return list(_files_under(path))
    except OSError as error:
        raise NotFound(
            f"{error.filename} cannot be read ({error.strerror}); nothing was changed"
        ) from error


def _values(path: Path, by: Writer, *, untrusted: bool) -> dict[str, object]:
    return {
        "whole_root": False,
        "untrusted": untrusted,
        "fingerprint": fingerprint(path),
        "tool": by.tool,
        "session_id": by.session_id,
        "at": by.now,
    }


def _record(session: Session, path: Path) -> FileRecord | None:
    found = select(FileRecord).where(col(FileRecord.path) == str(path))
    return session.exec(found.execution_options(populate_existing=True)).first()


def _put(session: Session, path: Path, values: dict[str, object]) -> None:
    here = col(FileRecord.path) == str(path)
    changed = session.execute(update(FileRecord).where(here).values(**values))
    if not cast("CursorResult[Any]", changed).rowcount:
        session.execute(insert(FileRecord).values(path=str(path), **values))


def _forget(session: Session, path: Path) -> None:
    session.execute(delete(FileRecord).where(col(FileRecord.path) == str(path)))


def _marked_above(session: Session, path: Path) -> bool:
    above = [str(each) for each in (path, *path.parents)]
    marks = select(FileRecord.path).where(
        col(FileRecord.path).in_(above), col(FileRecord.whole_root), col(FileRecord.untrusted)
    )
    return session.exec(marks).first() is not None


def _is_below(root: Path) -> ColumnElement[bool]:
    prefix = str(root).rstrip("/") + "/"
    return func.substr(col(FileRecord.path), 1, len(prefix)) == prefix


def _files_under(root: Path) -> Iterator[Path]:
    """Every file beneath, links not followed. Raises: OSError for a folder that cannot be read."""
    for folder, _, names in os.walk(root, onerror=_raise):
        for name in names:
            yield Path(folder, name)


def _raise(error: OSError) -> None:
    raise error
