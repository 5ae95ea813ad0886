"""The state of the database, and its upgrade, as a person asks for them."""

from pathlib import Path
from typing import Any

from bot.database import Database
from bot.errors import DatabaseProblem
from bot.migrations.upgrade import upgrade
from bot.schema import HEAD, SchemaState, refuse_unless_current, schema_revision
from bot.settings import Settings


def database_status(settings: Settings) -> dict[str, Any]:
    """`{path, state, revision, head, generation, size_bytes}`; nothing is created or changed."""
    path = settings.database_path
    state, revision = schema_revision(path)
    return {
        "path": str(path),
        "state": state.value,
        "revision": revision,
        "head": HEAD,
        "generation": _generation(path) if state is SchemaState.CURRENT else None,
        "size_bytes": path.stat().st_size if path.exists() else 0,
    }


def upgrade_database(settings: Settings) -> dict[str, Any]:
    """The database has this version's schema; gives its status and the revision it had.

    All steps are one transaction. Raises: DatabaseProblem for a newer or foreign file, and when
    another process holds it.
    """
    path = settings.database_path
    state, revision = schema_revision(path)
    if state is SchemaState.MISSING:
        raise DatabaseProblem(f"there is no database {path} yet; the first run makes it")
    if state is not SchemaState.OLDER:
        refuse_unless_current(path)
    else:
        upgrade(path)
    return {**database_status(settings), "was": revision}


def _generation(path: Path) -> str | None:
    database = Database(path)
    try:
        return database.generation()
    finally:
        database.close()
