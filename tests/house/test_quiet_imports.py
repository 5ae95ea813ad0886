"""Importing prints and writes nothing, and asking for help loads nothing heavy."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.cli.main import COMMANDS
from makers.source_tree import ROOT, importable

HEAVY = (
    "pydantic",
    "sqlalchemy",
    "sqlmodel",
    "httpx",
    "alembic",
    "keyring",
    "asyncio",
    "aiosmtplib",
)


def _python(code: str, home: Path, *, network: bool = True) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=home, env={**environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=110, check=False,
    )  # fmt: skip


def test_importing_every_module_prints_and_writes_nothing(tmp_path: Path) -> None:
    imports = "\n".join(f"import {name}" for name in importable())
    done = _python(imports + "\nimport os; os.chdir('.')", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_importing_opens_no_connection_and_starts_no_thread(tmp_path: Path) -> None:
    code = (
        "import socket, threading, json\n"
        "opened = []\n"
        "real = socket.socket.connect\n"
        "socket.socket.connect = lambda *a: (opened.append(str(a[1:])), real(*a))[1]\n"
        + "\n".join(f"import {name}" for name in importable())
        + "\nprint(json.dumps([opened, threading.active_count()]))"
    )
    assert json.loads(_python(code, tmp_path).stdout) == [[], 1]


def _loaded_by(words: list[str], home: Path, *, code: int = 0) -> set[str]:
    program = (
        "import sys, json\n"
        "before = set(sys.modules)\n"
        "from bot.cli.main import main\n"
        f"code = main({words!r})\n"
        "print('\\n' + json.dumps([code, sorted(set(sys.modules) - before)]))"
    )
    done = _python(program, home)
    code_of_exit, loaded = json.loads(done.stdout.splitlines()[-1])
    assert code_of_exit == code, done.stderr
    return set(loaded)


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    loaded = _loaded_by(["--help"], tmp_path)
    assert {name for name in loaded if name.startswith(("outbox", "tools", "triggers"))} == set()
    assert loaded & set(HEAVY) == set()
    assert {name for name in loaded if name.startswith("bot")} == {
        "bot",
        "bot.cli",
        "bot.cli.exit_codes",
        "bot.cli.main",
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_loads_nothing_heavy(command: str, tmp_path: Path) -> None:
    loaded = _loaded_by([command, "--help"], tmp_path)
    assert loaded & set(HEAVY) == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_word_that_a_command_does_not_take_loads_nothing_heavy(
    command: str, tmp_path: Path
) -> None:
    assert _loaded_by([command, "--nonsense"], tmp_path, code=2) & set(HEAVY) == set()


def test_finding_the_configuration_opens_no_database(tmp_path: Path) -> None:
    loaded = _loaded_by(["config", "path"], tmp_path)
    assert loaded & {"sqlalchemy", "sqlmodel", "httpx", "alembic", "keyring", "aiosmtplib"} == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_table_explains_itself(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from bot.cli.main import main

    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: steward {command}")
    assert len(shown.splitlines()) > 3
