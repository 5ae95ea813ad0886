"""The database file: how it is made, shared, locked, refused and upgraded."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, SQLModel, select

from bot.commands.database import database_status, upgrade_database
from bot.database import Database, create_database, open_database
from bot.engines import Durability, Use, make_engine
from bot.errors import DatabaseProblem
from bot.migrations.upgrade import alembic_config, head_revision
from bot.schema import HEAD
from bot.tables import Meta
from makers.house import Place, make_database, make_home
from makers.settings import make_settings


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = make_database(tmp_path)
    yield made
    made.close()


def _note(session: Session, key: str) -> None:
    session.add(Meta(key=key, value="here"))


def _keys(database: Database) -> set[str]:
    with database.read() as session:
        return set(session.exec(select(Meta.key)).all())


def test_a_fresh_home_gets_this_versions_schema_at_once(tmp_path: Path) -> None:
    database = make_database(tmp_path)
    engine = make_engine(database.path, Use(durability=Durability.NORMAL))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, SQLModel.metadata) == []
    engine.dispose()
    database.close()


def test_the_constant_head_is_alembics_head() -> None:
    assert head_revision() == HEAD


def test_the_steps_are_one_numbered_line() -> None:
    steps = list(ScriptDirectory.from_config(alembic_config()).walk_revisions())
    numbers = [step.revision for step in reversed(steps)]
    assert numbers == [f"{n:04d}" for n in range(1, len(steps) + 1)]
    assert [step.down_revision for step in reversed(steps)] == [None, *numbers[:-1]]


def test_every_file_of_the_database_is_the_owners_alone(database: Database) -> None:
    with database.record() as session:
        _note(session, "a")
        session.flush()
        files = sorted(database.path.parent.glob("steward.db*"))
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in files}
    assert modes == {"steward.db": 0o600, "steward.db-shm": 0o600, "steward.db-wal": 0o600}


@pytest.mark.parametrize(
    ("context", "synchronous"), [("effect", 2), ("record", 1), ("read", 1)], ids=str
)
def test_each_transaction_is_as_safe_as_it_must_be(
    database: Database, context: str, synchronous: int
) -> None:
    with getattr(database, context)() as session:
        pragmas = {
            name: session.connection().exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": synchronous,
        "foreign_keys": 1,
        "busy_timeout": 15000,
    }


@pytest.mark.parametrize("context", ["effect", "record"])
def test_an_error_inside_leaves_nothing_behind(database: Database, context: str) -> None:
    with pytest.raises(KeyError), getattr(database, context)() as session:
        _note(session, "half")
        session.flush()
        raise KeyError
    assert "half" not in _keys(database)


def test_a_read_cannot_write(database: Database) -> None:
    with pytest.raises(DatabaseProblem), database.read() as session:
        _note(session, "sneaked")
        session.flush()
    assert "sneaked" not in _keys(database)


def test_a_violated_constraint_is_the_callers_business(database: Database) -> None:
    with database.record() as session:
        _note(session, "twice")
    with pytest.raises(IntegrityError), database.record() as session:
        _note(session, "twice")


def test_rows_stay_readable_after_their_transaction(database: Database) -> None:
    with database.record() as session:
        _note(session, "kept")
    with database.read() as session:
        row = session.get(Meta, "kept")
    assert row is not None
    assert row.value == "here"


def test_a_writer_inside_a_writer_is_a_bug_that_is_said_at_once(database: Database) -> None:
    inner = database.record()
    with database.effect(), pytest.raises(AssertionError, match="inside another"), inner:
        pass


def test_a_lock_of_three_seconds_delays_and_loses_nothing(database: Database) -> None:
    """R1: another program holds the file for three seconds; every writer waits and succeeds."""
    holder = sqlite3.connect(database.path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    release = threading.Timer(3, lambda: holder.execute("COMMIT"))

    def write(n: int) -> None:
        with database.effect() if n % 2 else database.record() as session:
            _note(session, f"n{n}")

    with ThreadPoolExecutor(4) as pool:
        release.start()
        list(pool.map(write, range(8)))
    release.join()
    holder.close()
    assert {f"n{n}" for n in range(8)} <= _keys(database)


def test_a_lock_without_end_is_said_in_one_line(database: Database) -> None:
    impatient = Database(database.path, busy_timeout_seconds=0.05)
    with database.effect() as session:
        _note(session, "first")
        session.flush()
        with pytest.raises(DatabaseProblem) as caught, impatient.effect() as second:
            _note(second, "second")
    impatient.close()
    assert str(caught.value) == (
        f"the database {database.path} is locked by another program for too long; "
        "end that program, then try again"
    )
    assert _keys(database) >= {"first"}
    assert "second" not in _keys(database)


def test_a_full_disk_is_said_and_nothing_is_half_written(database: Database) -> None:
    """R3: the file may not grow any more; the transaction fails whole."""
    with pytest.raises(DatabaseProblem, match="the disk is full"), database.effect() as session:
        connection = session.connection()
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        session.add(Meta(key="large", value="x" * 10_000_000))
    assert "large" not in _keys(database)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no database of steward's"),
        (b"From: ada@example.org\n" * 100, "is not a database"),
    ],
    ids=["empty", "text"],
)
def test_a_file_that_is_no_database_is_refused_and_kept(
    tmp_path: Path, content: bytes, said: str
) -> None:
    """R3: a broken store is never taken for an empty one."""
    home = make_home(tmp_path)
    home.database.write_bytes(content)
    with pytest.raises(DatabaseProblem, match=said):
        open_database(Place(home=home, database_path=home.database))
    assert home.database.read_bytes() == content


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    other = sqlite3.connect(home.database)
    other.execute("CREATE TABLE theirs (id INTEGER)")
    other.close()
    with pytest.raises(DatabaseProblem, match="is no database of steward's"):
        open_database(Place(home=home, database_path=home.database))


def test_a_damaged_page_is_called_damage(database: Database) -> None:
    """R3: what cannot be read is not called empty."""
    with database.effect() as session:
        session.add(Meta(key="large", value="x" * 100_000))
    database.close()
    size = database.path.stat().st_size
    with database.path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))
    damaged = Database(database.path)
    with pytest.raises(DatabaseProblem, match="is damaged"):
        _keys(damaged)
    damaged.close()


def _revise(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_newer_schema_is_refused_untouched(database: Database) -> None:
    database.close()
    _revise(database.path, "UPDATE alembic_version SET version_num = '9999'")
    before = database.path.read_bytes()
    with pytest.raises(DatabaseProblem, match="has schema 9999, which this version does not know"):
        open_database(Place(home=make_home(database.path.parents[1]), database_path=database.path))
    assert database.path.read_bytes() == before


def test_an_older_schema_names_the_command_that_upgrades_it(tmp_path: Path) -> None:
    """A file from before the first step: refused by a start, then brought up whole."""
    settings = make_settings(tmp_path)
    connection = sqlite3.connect(settings.database_path)
    connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
    connection.close()
    with pytest.raises(DatabaseProblem, match="run 'steward db upgrade'"):
        open_database(settings)
    assert database_status(settings)["state"] == "older"
    assert upgrade_database(settings)["state"] == "current"
    database = open_database(settings)
    with database.effect() as session:
        _note(session, "after")
    database.close()


def test_a_failed_upgrade_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """The step meets a table that is already there; nothing of the step stays."""
    settings = make_settings(tmp_path)
    _revise(settings.database_path, "CREATE TABLE alembic_version (version_num VARCHAR(32))")
    _revise(settings.database_path, "CREATE TABLE meta (odd INTEGER)")
    with pytest.raises(Exception, match="meta"):
        upgrade_database(settings)
    connection = sqlite3.connect(settings.database_path)
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    connection.close()
    assert tables == {"alembic_version", "meta"}


def test_upgrading_what_is_current_changes_nothing(database: Database, tmp_path: Path) -> None:
    settings = make_settings(tmp_path / "home")
    assert upgrade_database(settings)["was"] == HEAD


def test_two_processes_that_make_one_database_agree_on_it(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from bot.database import open_database;"
        "from makers.house import Place, make_home; home = make_home(Path(sys.argv[1]));"
        "place = Place(home=home, database_path=home.database);"
        "print(open_database(place).generation())"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, env=environ
        )
        for _ in range(3)
    ]
    told = {child.communicate(timeout=60)[0] for child in children}
    assert {child.returncode for child in children} == {0}
    assert len(told) == 1
    assert not list((tmp_path / "home").glob(".*")), "a draft of the file was left behind"


def test_home_and_database_carry_one_generation(database: Database) -> None:
    home = make_home(database.path.parents[1])
    assert database.generation() == home.generation() != ""


def test_a_folder_that_cannot_hold_a_database_is_said(tmp_path: Path) -> None:
    """R3: no folder to write to; nothing is left behind."""
    with pytest.raises(DatabaseProblem, match="cannot be made: No such file or directory"):
        create_database(tmp_path / "absent" / "steward.db", generation="g")
    assert list(tmp_path.iterdir()) == []
