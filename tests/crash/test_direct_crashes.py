"""A send that waits for nobody, killed at every point: its draft says what is known of it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlmodel import select

from bot.database import Database
from bot.tables import Event, EventKind
from makers.crash import PROJECT, crash_points
from outbox.tables import Draft, DraftStatus

pytestmark = pytest.mark.crash

EXPECTED = {
    "direct.staged": DraftStatus.PENDING,
    "release.claimed": DraftStatus.SENDING,
    "direct.released": DraftStatus.SENT,
}


@pytest.mark.parametrize("point", [*crash_points(("direct.",)), "release.claimed"])
def test_killed_there_it_is_one_draft_and_its_call_had_started(tmp_path: Path, point: str) -> None:
    """O8, L23: so a resume calls the outcome unknown, repeats nothing, and the owner can look."""
    done = subprocess.run(
        [sys.executable, "-m", "makers.direct_process", str(tmp_path), point],
        env={**os.environ, "PYTHONPATH": f"{PROJECT}{os.pathsep}{PROJECT / 'tests'}"},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    store = Database(tmp_path / "home" / "steward.db")
    with store.read() as session:
        drafts = session.exec(select(Draft.status)).all()
        lines = session.exec(select(Event.kind)).all()
    store.close()
    assert drafts == [EXPECTED[point]]
    assert lines == [EventKind.STARTED]
