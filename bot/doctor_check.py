"""What a check of the doctor is given, and what it finds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from bot.database import Database
from bot.home import Home
from bot.logs import REDACTOR
from bot.schema import SchemaState, schema_revision
from bot.secrets import Secrets
from bot.settings import Settings, examine
from bot.settings_problems import Problem


class Level(StrEnum):
    """How bad a finding is. `unknown`: what would tell could not be read, which is not fine."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing a check found. `advice` is the command or act that mends it, empty when fine."""

    level: Level
    text: str
    advice: str = ""


def ok(text: str) -> Finding:
    """Nothing to mend."""
    return Finding(level=Level.OK, text=text)


def warn(text: str, advice: str = "") -> Finding:
    """Worth knowing; steward works all the same."""
    return Finding(level=Level.WARN, text=text, advice=advice)


def fail(text: str, advice: str) -> Finding:
    """Something does not work until the owner mends it."""
    return Finding(level=Level.FAIL, text=text, advice=advice)


def unknown(text: str) -> Finding:
    """It could not be told; another finding says why."""
    return Finding(level=Level.UNKNOWN, text=text)


def counted(number: int, noun: str, verb: str = "") -> str:
    """`1 draft waits`, `2 drafts wait`: the noun and its verb as the number wants them."""
    one = number == 1
    words = [str(number), noun if one else f"{noun}s", verb and (f"{verb}s" if one else verb)]
    return " ".join(word for word in words if word)


class Subject:
    """The installation under examination. Looking at it changes nothing and creates nothing."""

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self.home = home
        self.environ = environ

    @cached_property
    def _examined(self) -> tuple[Settings | None, tuple[Problem, ...]]:
        return examine(self.home.root, self.environ)

    @property
    def settings(self) -> Settings | None:
        """The settings, or None while the configuration has problems."""
        return self._examined[0]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the configuration."""
        return self._examined[1]

    @cached_property
    def secrets(self) -> Secrets:
        """Finds what the configuration names."""
        return Secrets(self.home, self.environ, REDACTOR)

    @cached_property
    def database(self) -> Database | None:
        """The database, or None where there is none yet.

        Raises: DatabaseProblem when it cannot be used.
        """
        path = self.home.database if self.settings is None else self.settings.database_path
        state, _ = schema_revision(path)
        return Database(path) if state is SchemaState.CURRENT else None

    def close(self) -> None:
        """Whatever was opened is closed."""
        database = self.__dict__.get("database")
        if database is not None:
            database.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check: its name in every listing, and what it finds (nothing where it does not apply)."""

    name: str
    run: Callable[[Subject], list[Finding]]
