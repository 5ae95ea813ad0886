"""Measures whole processes: what a person waits for before the first word appears."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CASES = {
    "python, doing nothing": [sys.executable, "-c", "pass"],
    "python, json and sqlite3": [sys.executable, "-c", "import json, sqlite3, argparse"],
    "import pydantic": [sys.executable, "-c", "import pydantic"],
    "import sqlalchemy": [sys.executable, "-c", "import sqlalchemy"],
    "import sqlmodel": [sys.executable, "-c", "import sqlmodel"],
    "import httpx": [sys.executable, "-c", "import httpx"],
    "steward --help": ["--help"],
    "steward config path": ["config", "path"],
    "steward tools": ["tools", "--json"],
    "steward outbox list": ["outbox", "list", "--json"],
    "steward sessions list": ["sessions", "list", "--json"],
    "steward questions list": ["questions", "list", "--json"],
}


def best_seconds(command: list[str], environ: dict[str, str], runs: int) -> float | None:
    """The shortest wall time of a whole process, or None where it fails."""
    best = None
    for _ in range(runs):
        begun = time.perf_counter()
        done = subprocess.run(command, env=environ, capture_output=True, check=False)
        taken = time.perf_counter() - begun
        if done.returncode != 0:
            return None
        best = taken if best is None else min(best, taken)
    return best


def main() -> None:
    """Print one line a case."""
    parser = argparse.ArgumentParser(prog="deploy/bench", description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=7)
    runs = parser.parse_args().runs
    steward = str(Path(sys.executable).with_name("steward"))
    with tempfile.TemporaryDirectory() as home:
        environ = {"PATH": os.environ["PATH"], "HOME": home, "STEWARD_HOME": f"{home}/steward"}
        floor = None
        print(f"{'what':<28}{'ms':>7}{'times bare python':>20}")
        for name, words in CASES.items():
            command = [steward, *words] if name.startswith("steward") else words
            best_seconds(command, environ, 1)  # the first one compiles
            seconds = best_seconds(command, environ, runs)
            if seconds is None:
                print(f"{name:<28}{'failed':>7}")
                continue
            floor = floor or seconds
            print(f"{name:<28}{seconds * 1000:>7.0f}{seconds / floor:>20.1f}")


if __name__ == "__main__":
    main()
