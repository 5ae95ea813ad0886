"""Makers for crash tests: the points as the code names them, and a world to kill commands in."""

import ast
import json
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from bot.cli.main import main
from makers.source_tree import modules

PROJECT = Path(__file__).parents[2]
READING = {
    ("sessions", "list"),
    ("sessions", "show"),
    ("questions", "list"),
    ("outbox", "list"),
    ("outbox", "show"),
}


def crash_points(prefixes: tuple[str, ...]) -> list[str]:
    """The names in every `crash_point("...")` of the code that begin with one of the prefixes."""
    return sorted(name for name in _all_points() if name.startswith(prefixes))


@cache
def _all_points() -> frozenset[str]:
    found = set()
    for module in modules():
        if "crash_point" not in module.text:
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "crash_point":
                (name,) = node.args
                assert isinstance(name, ast.Constant), f"{module.place}: a point needs a plain name"
                found.add(str(name.value))
    return frozenset(found)


@dataclass(frozen=True, kw_only=True)
class Ran:
    """How a child ended."""

    code: int
    out: str
    err: str

    @property
    def was_killed(self) -> bool:
        """True if it died at its point."""
        return self.code == -signal.SIGKILL

    @property
    def json(self) -> Any:
        """The JSON document on stdout."""
        return json.loads(self.out)


@dataclass(frozen=True, kw_only=True)
class CrashWorld:
    """One home whose commands can be killed. `log` collects the points that were passed."""

    home: Path
    log: Path

    def steward(self, *words: str, die_at: str = "-", stdin: str = "") -> Ran:
        """Run a command to its end, or to its death at the point.

        What runs or may die is a child; a look from outside needs no process of its own.
        """
        if die_at == "-" and words[:2] in READING:
            return self._look(words)
        done = subprocess.run(
            [sys.executable, "-m", "makers.crash_child", die_at, str(self.log), *words],
            env={
                **os.environ,
                "STEWARD_HOME": str(self.home),
                "PYTHONPATH": str(PROJECT / "tests"),
            },
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr)

    def _look(self, words: tuple[str, ...]) -> Ran:
        out, err = StringIO(), StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setenv("STEWARD_HOME", str(self.home))
            patch.setattr("sys.stdin", StringIO())
            code = main(list(words))
        return Ran(code=code, out=out.getvalue(), err=err.getvalue())

    def passed(self) -> list[str]:
        """The points that were passed so far."""
        return self.log.read_text().split() if self.log.exists() else []

    def draft(self, draft_id: str) -> dict[str, Any]:
        """The draft as `outbox show --json` gives it."""
        shown = self.steward("outbox", "show", draft_id, "--json")
        assert shown.code == 0, shown.err
        return dict(shown.json)
