"""What a whole command does in a home in trouble: one line, nothing half, no secret anywhere."""

import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from makers.settings import write_config
from makers.source_tree import ROOT

SECRET = "correct-horse-battery-staple"
CODE = "import sys; from bot.cli.main import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture
def closed_port() -> int:
    """A port on this machine that nobody listens on."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port: int = server.getsockname()[1]
    return port


def start(words: list[str], home: Path, **more: str) -> "subprocess.Popen[str]":
    """The command as a process of its own."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home.parent),
        "STEWARD_HOME": str(home),
        "PYTHONPATH": str(ROOT),
        **more,
    }
    return subprocess.Popen(
        [sys.executable, "-c", CODE, *words], env=environ, text=True, cwd=home.parent,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


CONFIG = """
[models.local]
kind = "openai"
model = "m"
base_url = "http://127.0.0.1:{port}/v1"
api_key = "env:KEY"
[mail.accounts.home]
kind = "maildir"
address = "ada@example.org"
path = "mail"
smtp = {{ host = "127.0.0.1", port = {port}, tls = "none", user = "ada", password = "env:KEY" }}
"""

COMMANDS = [
    ["run", "summarise my mail"],
    ["run", "--json", "summarise my mail"],
    ["doctor"],
    ["config", "check"],
    ["config", "show", "--json"],
    ["tools", "--json"],
    ["outbox", "list", "--json"],
    ["outbox", "approve", "nothing"],
    ["sessions", "list", "--json"],
    ["db", "status"],
]


def test_no_secret_is_left_anywhere_when_every_call_fails(tmp_path: Path, closed_port: int) -> None:
    """R4: not in output, log, transcript, database page, or the process list."""
    home = write_config(tmp_path / "home", CONFIG.format(port=closed_port)).root
    (home / "mail" / "cur").mkdir(parents=True)
    said = ""
    for words in COMMANDS:
        child = start(words, home, KEY=SECRET)
        said += " ".join(psutil.Process(child.pid).cmdline())
        out, err = child.communicate(timeout=100)
        said += out + err
        assert "Traceback" not in err, err
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert (home / "steward.db").exists()
    assert SECRET not in said
    assert SECRET.encode() not in kept


# root may write anywhere by two capabilities; a process that drops them is held to the modes
WITHOUT_PRIVILEGE = (
    "import ctypes, os, sys; drop = ctypes.CDLL(None).prctl;"
    "[drop(24, capability, 0, 0, 0) for capability in (1, 2)];"
    "os.execv(sys.executable, [sys.executable, '-c', *sys.argv[1:]])"
)


def run_unprivileged(words: list[str], home: Path) -> "subprocess.CompletedProcess[str]":
    """The command as somebody whom file modes bind, root included."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "STEWARD_HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_PRIVILEGE, CODE, *words],
        env={**environ, "PYTHONPATH": str(ROOT)}, text=True, capture_output=True, timeout=100,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [["run", "hello"], ["outbox", "list"], ["sessions", "list"], ["config", "init"]],
    ids=" ".join,
)
def test_a_home_that_cannot_be_made_is_one_line(tmp_path: Path, words: list[str]) -> None:
    """R3."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    done = run_unprivileged(words, folder / "home")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith(
        f"steward {words[0]}: the home {folder / 'home'} cannot be used: {folder / 'home'}: "
        "Permission denied"
    )
    assert list(folder.iterdir()) == []


def test_in_a_read_only_home_nothing_runs_and_the_reason_is_one_line(tmp_path: Path) -> None:
    """R3: nothing is sent and nothing is lost."""
    home = tmp_path / "home"
    assert run_unprivileged(["outbox", "list", "--json"], home).returncode == 0
    before = (home / "steward.db").read_bytes()
    everything = [*home.rglob("*"), home]
    for path in everything:
        path.chmod(0o500 if path.is_dir() else 0o400)
    ran, looked = (run_unprivileged(words, home) for words in (["run", "hello"], ["doctor"]))
    for path in everything:
        path.chmod(0o700)
    assert ran.returncode == 1
    assert ran.stderr.count("\n") == 1, ran.stderr
    assert looked.returncode == 1
    assert f"fail    home: {home} cannot be written" in looked.stdout
    assert (home / "steward.db").read_bytes() == before
