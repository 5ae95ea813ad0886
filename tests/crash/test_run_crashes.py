"""A run killed in the middle: on resume nothing that may have happened happens again."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fakes.openai_server import FakeOpenAI
from makers.crash import CrashWorld, crash_points
from makers.house import furnish
from makers.world import model_section, model_server

pytestmark = pytest.mark.crash

POINTS = crash_points(("run.", "turn.", "gate.", "staging.", "cause."))
WRITE = {
    "calls": [
        {"name": "fs_read", "arguments": {"path": "first.txt"}},
        {"name": "fs_write", "arguments": {"path": "made.txt", "content": "once"}},
    ]
}
STAGE = {
    "calls": [
        {
            "name": "mail_send",
            "arguments": {"to": ["ada@x.example"], "subject": "Hello", "body": "Dear Ada."},
        }
    ]
}
ASK = {"calls": [{"name": "ask_user", "arguments": {"question": "Tea or coffee?"}}]}
DONE = {"text": "All done.", "times": "forever"}
AT_WRITE = ("gate.started", "gate.executed", "gate.finished")


class Place:
    """A crash world with a model that plays a script."""

    def __init__(self, world: CrashWorld, server: FakeOpenAI) -> None:
        self.world, self.server = world, server

    def session(self) -> str:
        """The newest session."""
        return str(self.world.steward("sessions", "list", "--json").json[0]["id"])

    def results(self) -> dict[str, str]:
        """The result of each call by the tool's name."""
        shown = self.world.steward("sessions", "show", self.session(), "--json").json
        found = [line for line in shown["events"] if line["kind"] == "result"]
        assert len({line["call_id"] for line in found}) == len(found), "a call has two results"
        return {line["tool"]: line["text"] for line in found}


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[list[Any]], Place]]:
    with ExitStack() as stack:

        def build(turns: list[Any]) -> Place:
            server = stack.enter_context(model_server(turns))
            home = tmp_path / "home"
            furnish(home)
            work = home / "work" / "run"
            work.mkdir(parents=True)
            (work / "first.txt").write_text("read me")
            (home / "Mail" / "cur").mkdir(parents=True)
            (home / "config.toml").write_text(
                model_section(server.base_url)
                + '[mail.accounts.post]\nkind = "maildir"\naddress = "robin@ashford.example"\n'
                f'path = "{home}/Mail"\n'
                'smtp = { host = "127.0.0.1", port = 9, tls = "none" }\n'
            )
            return Place(CrashWorld(home=home, log=tmp_path / "points.log"), server)

        yield build


@pytest.mark.parametrize("point", AT_WRITE)
def test_a_call_that_had_started_is_unknown_and_its_siblings_are_not_repeated(
    point: str, make: Callable[[list[Any]], Place]
) -> None:
    """L23, L24"""
    place = make([WRITE, DONE])
    killed = place.world.steward("run", "Write it down", die_at=point)
    assert killed.was_killed, killed.err
    made = place.world.home / "work" / "run" / "made.txt"
    existed = made.exists()
    resumed = place.world.steward("run", "Go on", "--resume", place.session(), "--json")
    assert resumed.json["answer"] == "All done.", resumed.err
    results = place.results()
    assert "read me" in results["fs_read"]
    unknown = "whether it took effect is unknown; it was not repeated" in results["fs_write"]
    assert unknown == (point != "gate.finished")
    assert made.exists() == existed, "the resumed run wrote it again"
    assert resumed.json["taint"]["untrusted"] or not unknown, "an unknown tail is armed"


@pytest.mark.parametrize("point", sorted(set(POINTS) - set(AT_WRITE)))
def test_a_run_killed_there_leaves_a_session_that_goes_on(
    point: str, make: Callable[[list[Any]], Place]
) -> None:
    """L24, O8: whatever was staged or asked is there once, and the session is usable."""
    place = make([WRITE, STAGE, ASK, DONE])
    killed = place.world.steward("run", "Do it all", die_at=point)
    assert killed.was_killed, f"{point} was not reached: {killed.err}"
    resumed = place.world.steward("run", "Go on", "--resume", place.session(), "--json")
    assert resumed.code in (0, 5), resumed.err
    assert place.server.refused == [], "the provider was sent a history it cannot read"
    drafts = place.world.steward("outbox", "list", "--json").json
    assert len(drafts) <= 1
    questions = place.world.steward("questions", "list", "--json").json
    assert len(questions) <= 1
    place.results()


def test_a_killed_run_is_seen_as_interrupted(make: Callable[[list[Any]], Place]) -> None:
    place = make([WRITE, DONE])
    place.world.steward("run", "Write it down", die_at="gate.started")
    (listed,) = place.world.steward("sessions", "list", "--json").json
    assert listed["state"] == "interrupted"
    told = place.world.steward("run", "Something else")
    assert f"session {listed['id']} was interrupted" in told.err
