"""Makers for what the house needs: a prepared home, its settings, an open database."""

from dataclasses import dataclass
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
    home = make_home(folder)
    return open_database(Place(home=home, database_path=home.database))
