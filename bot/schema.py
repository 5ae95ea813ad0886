"""Which schema this version works with, told by plain SQL so that no start loads Alembic."""

import sqlite3
from enum import StrEnum
from pathlib import Path

from bot.database_problems import database_problem
from bot.errors import DatabaseProblem

HEAD = "0001"  # a test proves that this is the head of bot/migrations


class SchemaState(StrEnum):
    """How a file's schema stands to this version."""

    MISSING = "missing"
    CURRENT = "current"
    OLDER = "older"
    NEWER = "newer"
    FOREIGN = "foreign"  # a database, or a file, that steward did not make


def schema_revision(path: Path) -> tuple[SchemaState, str | None]:
    """The state of the file's schema and its revision, as Alembic counts.

    Nothing is created or changed. Raises: DatabaseProblem when the file cannot be read.
    """
    if not path.exists():
        return SchemaState.MISSING, None
    if path.stat().st_size == 0:
        return SchemaState.FOREIGN, None
    try:
        revision = _read_revision(path)
    except sqlite3.Error as error:
        problem = database_problem(error, path)
        raise problem or DatabaseProblem(f"the database {path}: {error}") from error
    return _judge(revision), revision or None


def refuse_unless_current(path: Path) -> None:
    """Nothing happens if the schema is this version's.

    Raises: DatabaseProblem saying how to go on from an older, a newer or a foreign file.
    """
    state, revision = schema_revision(path)
    match state:
        case SchemaState.CURRENT:
            return
        case SchemaState.OLDER:
            raise DatabaseProblem(
                f"the database {path} has schema {revision or 'none'}, this version needs {HEAD}; "
                "run 'steward db upgrade'"
            )
        case SchemaState.NEWER:
            raise DatabaseProblem(
                f"the database {path} has schema {revision}, which this version does not know "
                f"(it knows {HEAD}); install the newer steward that wrote it"
            )
        case SchemaState.MISSING:
            raise DatabaseProblem(f"there is no database {path}; restore a backup of it")
        case SchemaState.FOREIGN:
            raise DatabaseProblem(
                f"{path} is no database of steward's; restore a backup, "
                "or move the file away to begin anew"
            )


def _read_revision(path: Path) -> str | None:
    """The revision; "" where the table is there and empty; None where there is no such table."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=15)
    try:
        known = connection.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'alembic_version'"
        ).fetchone()
        if known is None:
            return None
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return "" if row is None else str(row[0])
    finally:
        connection.close()


def _judge(revision: str | None) -> SchemaState:
    """Revisions are numbers of four digits, so an older and an unknown newer one can be told."""
    if revision is None:
        return SchemaState.FOREIGN
    if revision == HEAD:
        return SchemaState.CURRENT
    if revision == "" or (revision.isdigit() and int(revision) < int(HEAD)):
        return SchemaState.OLDER
    return SchemaState.NEWER
