"""Makers for what the house needs: a prepared home, its settings, an open database.

A home with a database is made once a process and copied: the schema takes longer than most tests.
"""

import atexit
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bot.database import Database, open_database
from bot.home import Home


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The two settings that `open_database` reads."""

    home: Home
    database_path: Path


def make_home(folder: Path) -> Home:
    """A prepared home under `folder`."""
    home = Home(root=folder / "home")
    home.prepare()
    return home


def make_database(folder: Path) -> Database:
    """An open database in a prepared home under `folder`; the caller closes it."""
    home = Home(root=folder / "home")
    if not home.database.exists():
        furnish(home.root)
    return Database(home.database)


def furnish(root: Path) -> None:
    """`root` is a prepared home with an empty database of this version's schema."""
    shutil.copytree(_furnished(), root, dirs_exist_ok=True)


@cache
def _furnished() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="steward-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    home = make_home(folder)
    open_database(Place(home=home, database_path=home.database)).close()
    return home.root
