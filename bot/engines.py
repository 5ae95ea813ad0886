"""Opens one SQLite file for one way of using it: how safely it commits, and how it begins.

Why: `synchronous` cannot change inside a transaction, so each degree of safety has its own
engine. The driver's own transaction handling is switched off and BEGIN is said here: a read that
later writes inside a deferred transaction fails at once, whatever the busy time-out.
"""

import sqlite3
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event

BUSY_TIMEOUT_SECONDS = 15.0


class Durability(StrEnum):
    """What a commit survives: FULL a power cut, NORMAL a killed process."""

    FULL = "FULL"
    NORMAL = "NORMAL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How the connections of an engine are used."""

    durability: Durability
    writes: bool = True  # BEGIN IMMEDIATE; without it a write is refused by the connection itself
    busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS


def make_engine(path: Path, use: Use) -> Engine:
    """An engine on an existing file; nothing is opened yet, and a missing file is never created."""
    address = f"{path.absolute().as_uri()}?mode=rw"

    def connect() -> sqlite3.Connection:
        return _connect(address, use)

    url = URL.create("sqlite+pysqlite", database=str(path))  # for messages; `connect` opens
    engine = create_engine(url, creator=connect, poolclass=QueuePool)
    statement = "BEGIN IMMEDIATE" if use.writes else "BEGIN"

    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(statement)

    event.listen(engine, "begin", begin)
    return engine


def _connect(address: str, use: Use) -> sqlite3.Connection:
    connection = sqlite3.connect(
        address,
        uri=True,
        timeout=use.busy_timeout_seconds,
        isolation_level=None,
        check_same_thread=False,  # the pool hands a connection to one thread at a time
    )
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {use.durability}")
        if not use.writes:
            connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
