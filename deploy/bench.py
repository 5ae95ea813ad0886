"""What steward costs over the libraries it stands on: whole commands, and one turn of the loop."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.database import Database
from makers.house import furnish
from makers.outbox import a_draft

TESTS = Path(__file__).parents[1] / "tests"  # whose makers deploy/bench puts on the path
DRAFTS = 1000
TURNS = 40
STEWARD = str(Path(sys.executable).with_name("steward"))
ASK_SERVER = """
import sys, httpx
body = {"model": "m", "stream": True, "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "Hi"}]}
with httpx.Client() as client:
    for _ in range(int(sys.argv[2])):
        client.post(sys.argv[1] + "/chat/completions", json=body).raise_for_status()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A furnished home, and how often each thing is measured."""

    home: Path
    runs: int

    def seconds(self, command: list[str]) -> float:
        """The shortest wall time of the whole process. Raises: CalledProcessError."""
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home.parent),
            "STEWARD_HOME": str(self.home),
            "PYTHONPATH": str(TESTS),
        }
        best = float("inf")
        for _ in range(self.runs + 1):  # the first one compiles
            begun = time.perf_counter()
            subprocess.run(command, env=environ, capture_output=True, check=True)
            best = min(best, time.perf_counter() - begun)
        return best

    def python(self, code: str, *words: str) -> float:
        """A Python that does this."""
        return self.seconds([sys.executable, "-c", code, *words])

    def steward(self, *words: str) -> float:
        """This command."""
        return self.seconds([STEWARD, *words])


def main() -> None:
    """Print one line a measure."""
    parser = argparse.ArgumentParser(prog="deploy/bench", description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=7)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        furnish(home)
        bench = Bench(home=home, runs=parser.parse_args().runs)
        print("| measured | ms | against | ms | ratio |\n|---|---|---|---|---|")
        bare, sqlmodel = bench.python("pass"), bench.python("import sqlmodel")
        _tell("`steward --help`", bench.steward("--help"), "`python -c pass`", bare)
        _tell("`steward config path`", bench.steward("config", "path"), "`python -c pass`", bare)
        _fill(home)
        listed = bench.steward("outbox", "list", "--json")
        imports = '`python -c "import sqlmodel"`'
        _tell(f"`steward outbox list`, {DRAFTS:,} drafts", listed, imports, sqlmodel)
        _tell("`steward tools`", bench.steward("tools"), imports, sqlmodel)
        _turns(bench)


def _tell(what: str, seconds: float, against: str, other: float) -> None:
    shown = f"{seconds * 1000:.1f} | {against} | {other * 1000:.1f} | {seconds / other:.1f}"
    print(f"| {what} | {shown} |", flush=True)


def _fill(home: Path) -> None:
    database = Database(home / "steward.db")
    with database.effect() as session:
        session.add_all(a_draft(id=f"{number:026d}") for number in range(DRAFTS))
    database.close()


def _turns(bench: Bench) -> None:
    """One turn that calls one tool, its gate and transcript included, against one bare request."""
    answer = {"text": "Done."}
    looks = [
        {"calls": [{"name": "fs_read", "arguments": {"path": "notes.txt", "offset": number + 1}}]}
        for number in range(TURNS)
    ]
    notes = bench.home / "work" / "run" / "notes.txt"
    notes.parent.mkdir(parents=True, exist_ok=True)
    notes.write_text("a line of notes\n" * (TURNS + 1))
    many = _run(bench, [*looks, answer])
    turn = (many - _run(bench, [answer])) / TURNS
    with _server(bench.home.parent, [{**answer, "times": None}]) as url:
        some = bench.python(ASK_SERVER, url, str(TURNS + 1))
        request = (some - bench.python(ASK_SERVER, url, "1")) / TURNS
    _tell("one turn with one tool call", turn, "one request with httpx", request)


def _run(bench: Bench, turns: list[dict[str, object]]) -> float:
    """A whole `steward run` that goes through these turns."""
    with _server(bench.home.parent, turns * (bench.runs + 1)) as url:
        model = f'[models.m]\nkind = "openai"\nmodel = "m"\nbase_url = "{url}"\n'
        (bench.home / "config.toml").write_text(model)
        return bench.steward("run", "Look")


@contextmanager
def _server(folder: Path, script: list[dict[str, object]]) -> Iterator[str]:
    """The scripted model server of the tests, in a process of its own."""
    turns = folder / "turns.json"
    turns.write_text(json.dumps(script))
    words = [sys.executable, "-m", "fakes.openai_server", "--script", str(turns)]
    environ = {**os.environ, "PYTHONPATH": str(TESTS)}
    with subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield json.loads(server.stdout.readline())["base_url"]
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
