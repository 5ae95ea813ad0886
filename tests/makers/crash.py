"""Makers for crash tests: the points as the code names them, and a world to kill commands in."""

import ast
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
PACKAGES = ("tools", "outbox", "triggers", "bot")


def crash_points(prefixes: tuple[str, ...]) -> list[str]:
    """The names in every `crash_point("...")` of the code that begin with one of the prefixes."""
    found = set()
    for package in PACKAGES:
        for path in (PROJECT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "crash_point":
                    (name,) = node.args
                    assert isinstance(name, ast.Constant), f"{path}: a point needs a plain name"
                    found.add(str(name.value))
    return sorted(name for name in found if name.startswith(prefixes))


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
        """Run a command in a child to its end, or to its death at the point."""
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

    def passed(self) -> list[str]:
        """The points that were passed so far."""
        return self.log.read_text().split() if self.log.exists() else []

    def draft(self, draft_id: str) -> dict[str, Any]:
        """The draft as `outbox show --json` gives it."""
        shown = self.steward("outbox", "show", draft_id, "--json")
        assert shown.code == 0, shown.err
        return dict(shown.json)
