"""The database: three kinds of transaction on one file, and the rules for opening it.

Why two degrees of safety: a claim, an attempt or an answer must survive a power cut before its
effect begins, and costs a disk flush; a transcript only has to survive a killed process, and is
seventy times faster (DESIGN section 17).
"""

import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import Session

from bot.database_problems import database_problem
from bot.engines import BUSY_TIMEOUT_SECONDS, Durability, Use, make_engine
from bot.errors import DatabaseProblem
from bot.home import PRIVATE_FILE, Home
from bot.schema import refuse_unless_current
from bot.tables import Meta
from tools.contract import load_object

GENERATION = "generation"


class Located(Protocol):
    """The two settings that say where the database is."""

    @property
    def home(self) -> Home:
        """The home whose life the database shares."""
        ...

    @property
    def database_path(self) -> Path:
        """The file."""
        ...


class Database:
    """An open database; implements `outbox.journal.Store`.

    Every context is one transaction: committed when it ends without an error, else rolled back.
    Sessions keep what they loaded after the commit. Raises (every context): DatabaseProblem when
    the database is locked for longer than 15 s, full, read-only or damaged.
    """

    def __init__(self, path: Path, *, busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS) -> None:
        """Nothing is opened before the first transaction."""
        self.path = path
        wait = busy_timeout_seconds
        self._full = make_engine(path, Use(durability=Durability.FULL, busy_timeout_seconds=wait))
        self._normal = make_engine(
            path, Use(durability=Durability.NORMAL, busy_timeout_seconds=wait)
        )
        self._reader = make_engine(
            path,
            Use(durability=Durability.NORMAL, writes=False, busy_timeout_seconds=wait),
        )
        self._here = threading.local()

    @contextmanager
    def effect(self) -> Iterator[Session]:
        """A transaction that guards an effect: BEGIN IMMEDIATE, on disk when it returns."""
        with self._alone(), self._transaction(self._full) as session:
            yield session

    @contextmanager
    def record(self) -> Iterator[Session]:
        """A transaction that survives a killed process, though perhaps not a power cut."""
        with self._alone(), self._transaction(self._normal) as session:
            yield session

    @contextmanager
    def read(self) -> Iterator[Session]:
        """One consistent view; a write in it is refused by the connection itself."""
        with self._transaction(self._reader) as session:
            yield session

    def generation(self) -> str | None:
        """The generation id the database was made with."""
        with self.read() as session:
            row = session.get(Meta, GENERATION)
            return None if row is None else row.value

    def close(self) -> None:
        """Every connection is closed; the last one folds the write-ahead log into the file."""
        for engine in (self._full, self._normal, self._reader):
            engine.dispose()

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Session]:
        try:
            with Session(engine, expire_on_commit=False) as session:
                yield session
                session.commit()
        except (SQLAlchemyError, sqlite3.Error) as error:
            problem = database_problem(error, self.path)
            if problem is None:
                raise
            raise problem from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """A writer inside a writer of the same thread would wait for itself until the time-out."""
        assert not getattr(self._here, "writing", False), "a write transaction inside another"
        self._here.writing = True
        try:
            yield
        finally:
            self._here.writing = False


def open_database(settings: Located) -> Database:
    """The database of these settings; a missing one is made with this version's schema.

    Raises: DatabaseProblem for an older schema (with the command that upgrades it), for a newer
    one, for a file that is none of steward's, and where the file cannot be made or written;
    ConfigProblem when the home cannot be made.
    """
    settings.home.prepare()
    path = settings.database_path
    if not path.exists():
        create_database(path, generation=settings.home.generation() or "")
    refuse_unless_current(path)
    return Database(path)


def create_database(path: Path, *, generation: str) -> None:
    """A database with this version's schema stands at `path`, mode 0600, complete or not at all.

    It is built beside the place and linked there, so neither a crash nor a second process that
    does the same leaves a half one. A file that appeared meanwhile is kept.

    Raises: DatabaseProblem.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        draft.touch(mode=PRIVATE_FILE, exist_ok=False)
        _build(draft, generation)
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    except OSError as error:
        raise DatabaseProblem(
            f"the database {path} cannot be made: {error.strerror or error}; "
            "make its folder writable, with room on its disk"
        ) from error
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            draft.with_name(draft.name + suffix).unlink(missing_ok=True)


def _build(path: Path, generation: str) -> None:
    upgrade = load_object(
        "bot.migrations.upgrade:upgrade"
    )  # Alembic is loaded once in a home's life
    upgrade(path)
    database = Database(path)
    try:
        with database.effect() as session:
            session.add(Meta(key=GENERATION, value=generation))
    finally:
        database.close()
