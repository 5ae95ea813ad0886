"""What a failing database means for its owner: one line that says what, which, and what now."""

import sqlite3
from pathlib import Path

from sqlalchemy.exc import DBAPIError, IntegrityError

from bot.errors import DatabaseProblem

_BY_CODE = {
    "BUSY": "is locked by another program for too long; end that program, then try again",
    "LOCKED": "is locked by another part of this program; try again",
    "FULL": "cannot grow: the disk is full; free some space, then try again",
    "READONLY": "can only be read; make the file and its folder writable for you",
    "NOTADB": "is not a database; restore a backup, or move the file away to begin anew",
    "CORRUPT": "is damaged; restore a backup, or move the file away to begin anew",
    "CANTOPEN": "cannot be opened; look whether the file and its folder are there and yours",
    "IOERR": "cannot be read or written: the disk reports an error (is it full or failing?)",
    "PERM": "may not be used by you; make the file yours",
}


def database_problem(error: Exception, path: Path) -> DatabaseProblem | None:
    """The problem behind an error of the driver or of SQLAlchemy.

    None for a violated constraint and for whatever is not the database's state: those are
    the caller's business or a bug, and pass as they are.
    """
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(error, IntegrityError) or not isinstance(cause, sqlite3.Error):
        return None
    text = _BY_CODE.get(_family(cause))
    return None if text is None else DatabaseProblem(f"the database {path} {text}")


def _family(error: sqlite3.Error) -> str:
    """The word after SQLITE_ of the primary code, e.g. BUSY for SQLITE_BUSY_SNAPSHOT."""
    name = getattr(error, "sqlite_errorname", "") or ""
    return name.removeprefix("SQLITE_").partition("_")[0]
