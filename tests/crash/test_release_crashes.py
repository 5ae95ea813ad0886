"""A release killed at every point: nothing is sent twice, nothing is lost, doubt is called doubt.

The points are read from the code. The mail server is another process, which counts what it took.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from makers.crash import CrashWorld, crash_points
from makers.mail import FakeSmtp, smtp_process
from makers.world import letter, maildir_with

pytestmark = pytest.mark.crash

POINTS = crash_points(("release.", "smtp."))
BEFORE_CLAIM = {"release.refused"}
AFTER_RECORD = {"release.recorded"}
LOST_ANSWER = {"smtp.accepted", "release.delivered"}  # the server has it, steward cannot know
SETTLING = {"release.settled", "release.verified", "release.verify-recorded"}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A home with one pending draft, made by real commands; tests work on copies."""
    folder = tmp_path_factory.mktemp("prepared")
    mailbox = folder / "home" / "Mail"
    maildir_with(
        mailbox,
        letter("Ada <ada@x.example>", "Thursday?", "Can you come?", message_id="<1@x.example>"),
    )
    write_config(folder / "home", port=9)
    world = CrashWorld(home=folder / "home", log=folder / "points.log")
    ran = world.steward("run", "reply to Ada saying Yes, I will come.", "--json")
    assert ran.code == 0, ran.err
    (draft_id,) = ran.json["staged"]
    return folder / "home", draft_id


def write_config(home: Path, *, port: int, sent: Path | None = None) -> None:
    """A rehearsal, and an account whose server is on that port."""
    home.mkdir(parents=True, exist_ok=True)
    where = f'sent = "{sent}"\n' if sent else ""
    (home / "config.toml").write_text(
        '[models.r]\nkind = "rehearsal"\n'
        "[outbox]\nscripts = true\n"
        '[mail.accounts.post]\nkind = "maildir"\naddress = "robin@ashford.example"\n'
        f'path = "{home}/Mail"\n{where}'
        f'smtp = {{ host = "127.0.0.1", port = {port}, tls = "none" }}\n'
    )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FakeSmtp]:
    with smtp_process(tmp_path / "server") as running:
        yield running


def copy(prepared: tuple[Path, str], tmp_path: Path, server: FakeSmtp) -> CrashWorld:
    """The prepared home again, its account on this test's server, which files what it takes."""
    source, _ = prepared
    home = tmp_path / "home"
    shutil.copytree(source, home)
    write_config(home, port=server.port, sent=server.maildir)
    return CrashWorld(home=home, log=tmp_path / "points.log")


def reconcile_and_send(world: CrashWorld, draft_id: str) -> None:
    """What the owner does about a draft in doubt that never arrived."""
    evidence = ("--evidence", "the server's log has no such mail")
    done = world.steward("outbox", "reconcile", draft_id, "--outcome", "not-delivered", *evidence)
    assert done.code == 0, done.err
    assert world.steward("outbox", "approve", draft_id, "--yes").code == 0


@pytest.mark.parametrize("point", sorted(set(POINTS) - SETTLING - BEFORE_CLAIM))
def test_a_release_killed_there_sends_at_most_once_and_loses_nothing(
    point: str, prepared: tuple[Path, str], tmp_path: Path, server: FakeSmtp
) -> None:
    """O7, O8"""
    draft_id = prepared[1]
    world = copy(prepared, tmp_path, server)
    killed = world.steward("outbox", "approve", draft_id, "--yes", die_at=point)
    assert killed.was_killed, f"{point} was not reached: {killed.err}"

    again = world.steward("outbox", "approve", draft_id, "--yes")
    accepted = len(server.accepted())
    draft = world.draft(draft_id)
    if point in AFTER_RECORD:
        assert (draft["status"], accepted) == ("sent", 1)
        assert "already sent" in again.err
    elif accepted:
        assert (draft["status"], accepted) == ("sent", 1), again.err
        assert draft["attempts"][-1]["outcome"] == "sent"
    else:
        assert draft["status"] == "uncertain"
        assert again.code == 1
        assert "may or may not have gone out" in again.err
        reconcile_and_send(world, draft_id)
        assert (world.draft(draft_id)["status"], len(server.accepted())) == ("sent", 1)


@pytest.mark.parametrize("point", sorted(LOST_ANSWER))
def test_what_the_server_took_is_found_there_and_not_sent_again(
    point: str, prepared: tuple[Path, str], tmp_path: Path, server: FakeSmtp
) -> None:
    """O8: verified where the destination can be asked."""
    draft_id = prepared[1]
    world = copy(prepared, tmp_path, server)
    world.steward("outbox", "approve", draft_id, "--yes", die_at=point)
    assert len(server.accepted()) == 1
    assert world.draft(draft_id)["status"] == "sent"


@pytest.mark.parametrize("point", sorted(SETTLING))
def test_finding_out_can_be_killed_and_tried_again(
    point: str, prepared: tuple[Path, str], tmp_path: Path, server: FakeSmtp
) -> None:
    """O8: nothing that finds out what happened ever sends."""
    draft_id = prepared[1]
    world = copy(prepared, tmp_path, server)
    world.steward("outbox", "approve", draft_id, "--yes", die_at="smtp.accepted")
    killed = world.steward("outbox", "show", draft_id, die_at=point)
    assert killed.was_killed, f"{point} was not reached: {killed.err}"
    assert world.draft(draft_id)["status"] == "sent"
    assert len(server.accepted()) == 1


@pytest.mark.parametrize("point", sorted(BEFORE_CLAIM))
def test_a_release_that_could_not_begin_leaves_the_draft_pending(
    point: str, prepared: tuple[Path, str], tmp_path: Path, server: FakeSmtp
) -> None:
    """O6: the account's server was taken out of the configuration."""
    draft_id = prepared[1]
    world = copy(prepared, tmp_path, server)
    config = (world.home / "config.toml").read_text()
    secret = config.replace(
        'tls = "none" }', 'tls = "none", user = "u", password = "env:NOT_THERE" }'
    )
    (world.home / "config.toml").write_text(secret)
    killed = world.steward("outbox", "approve", draft_id, "--yes", die_at=point)
    assert killed.was_killed, f"{point} was not reached: {killed.err}"
    draft = world.draft(draft_id)
    assert draft["status"] == "pending"
    assert "NOT_THERE" in draft["error"]
    assert server.accepted() == []


def test_every_point_of_a_release_is_killed_somewhere() -> None:
    assert POINTS, "the code names no points any more"
    assert set(POINTS) >= SETTLING | BEFORE_CLAIM | AFTER_RECORD | LOST_ANSWER
