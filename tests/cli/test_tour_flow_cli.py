"""The tour's promise, kept by the ordinary commands after it has ended."""

from email import message_from_bytes, policy
from pathlib import Path

import pytest

from makers.world import World


@pytest.fixture
def toured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> World:
    """A home as `steward try --yes` leaves it."""
    world = World(home=tmp_path / "tour", capture=capsys)
    world.steward("try", "--yes")
    return world


def test_what_the_tour_promises_holds_for_the_ordinary_commands(toured: World) -> None:
    """Staged, asked, never sent; approved once; answered once."""
    drafts = toured.steward("outbox", "list", "--json").json
    pending = [draft for draft in drafts if draft["status"] == "pending"]
    assert len(pending) >= 3
    (question,) = toured.steward("questions", "list", "--json").json
    sent = toured.home / "sent"
    assert not list(sent.glob("new/*"))

    reply = next(draft for draft in pending if draft["tool"] == "mail_reply")
    toured.steward("outbox", "approve", reply["id"], "--yes")
    (path,) = sent.glob("new/*")
    message = message_from_bytes(path.read_bytes(), policy=policy.default)
    assert message.get_content().replace("\r\n", "\n") == reply["args"]["body"]
    assert message["Subject"] == reply["args"]["subject"]
    again = toured.steward("outbox", "approve", reply["id"], "--yes", code=1)
    assert "was already sent at" in again.err
    assert len(list(sent.glob("new/*"))) == 1

    finished = toured.steward("questions", "answer", question["id"], "Friday at ten")
    assert "No model was used" in finished.out


def test_the_injected_order_ends_as_a_marked_draft(toured: World) -> None:
    drafts = toured.steward("outbox", "list", "--json").json
    marked = [
        draft
        for draft in drafts
        if {"tainted", "unowned"} <= {mark["code"] for mark in draft["marks"]}
    ]
    assert [draft["tool"] for draft in marked] == ["mail_send"]
    batch = toured.steward("outbox", "approve", *(draft["id"] for draft in drafts), "--yes", code=1)
    assert f"draft {marked[0]['id']} goes somewhere you never named" in batch.err
    (left,) = toured.steward("outbox", "list", "--status", "pending", "--json").json
    assert left["id"] == marked[0]["id"]
