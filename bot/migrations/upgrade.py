"""Brings a database file to this version's schema; the only importer of Alembic."""

import sqlite3
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy.exc import DBAPIError

from bot.database_problems import database_problem
from bot.engines import Durability, Use, make_engine

_FOLDER = Path(__file__).parent


def upgrade(path: Path) -> None:
    """The file has the newest schema, or is as it was: all steps are one transaction.

    The write-ahead log is switched on first, a lasting property of the file.
    Raises: DatabaseProblem when the file is locked, full or not writable.
    """
    try:
        _use_write_ahead_log(path)
        engine = make_engine(path, Use(durability=Durability.FULL))
        try:
            with engine.begin() as connection:
                config = alembic_config()
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
        finally:
            engine.dispose()
    except (DBAPIError, sqlite3.Error) as error:
        problem = database_problem(error, path)
        if problem is None:
            raise
        raise problem from error


def head_revision() -> str:
    """The newest step in the folder."""
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    assert head is not None
    return head


def alembic_config() -> Config:
    """Alembic told where the steps are; there is no ini file, and it reads no environment."""
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _use_write_ahead_log(path: Path) -> None:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=15)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()
