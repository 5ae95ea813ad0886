"""`sh deploy/setup` where pip fails: one line for a missing network, pip's own last words else."""

import os
import subprocess
from pathlib import Path

import pytest

from makers.source_tree import ROOT

OFFLINE = """\
WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(<pip._vendor>:
Failed to establish a new connection: [Errno -3] Temporary failure in name resolution)': /simple/
ERROR: Could not find a version that satisfies the requirement hatchling
ERROR: ResolutionImpossible: for help visit the documentation
"""
FULL = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"


@pytest.mark.parametrize(
    ("pip_says", "told"),
    [
        pytest.param(
            OFFLINE,
            "deploy/setup: could not reach the package index; is there a network?\n",
            id="offline",
        ),
        pytest.param(FULL, FULL + "deploy/setup: pip failed; all it said is in {log}\n", id="disk"),
    ],
)
def test_a_set_up_that_fails_says_why_and_keeps_what_pip_said(
    tmp_path: Path, pip_says: str, told: str
) -> None:
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (tmp_path / "words").write_text(pip_says)
    python = venv / "bin" / "python"
    python.write_text(f'#!/bin/sh\n[ "$1" = -m ] || exit 0\ncat "{tmp_path}/words" >&2\nexit 1\n')
    python.chmod(0o755)
    done = subprocess.run(
        ["sh", ROOT / "deploy" / "setup"], env={**os.environ, "STEWARD_VENV": str(venv)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    log = venv / "steward-setup.log"
    assert (done.returncode, done.stderr) == (1, told.format(log=log))
    assert log.read_text() == pip_says
    assert not (venv / "steward-setup").exists(), "the next set-up tries again"
