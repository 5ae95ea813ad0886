"""A call that is staged becomes a complete draft, and nothing is sent."""

import asyncio

import pytest
from sqlmodel import select

from bot.tables import Event
from makers.outbox import OWNER, FolderSender, World, a_draft, read_item, spec
from outbox.errors import LeaseLost, StagingFailed, StoreFailed
from outbox.journal import Origin
from outbox.settings import OutboxSettings
from outbox.tables import Draft, DraftKind, DraftStatus
from tools.contract import Tool
from tools.registry import Entry
from tools.taint import Source, Taint, taint_from_json


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def drafts(world):
    with world.store.read() as session:
        return list(session.exec(select(Draft)).all())


def results(world):
    with world.store.read() as session:
        return [event.data["text"] for event in session.exec(select(Event)).all()]


async def test_a_staged_call_is_a_complete_draft_and_nothing_is_sent(world):
    """O9, O1."""
    taint = Taint(untrusted=(Source(tool="mail_recent", turn=1, what="3 messages"),))
    world.words.add(Origin.OWNER, "answer Ada")
    world.words.add(Origin.THIRD_PARTY, "From: ada@example.org", source="mail_recent in turn 1")
    world.words.read.append(read_item("<a@x>", "When do we meet?", title="Meeting"))
    staged = await world.stage(
        taint=taint, subject="Re: Meeting", body="At ten.", thread="t1", in_reply_to="<a@x>"
    )
    draft = world.draft(staged.draft_id)
    assert world.server.messages() == []
    assert draft.status is DraftStatus.PENDING
    assert draft.summary == "to ada@example.org: Re: Meeting"
    assert draft.args == draft.args_before
    assert draft.args["from"] == "owner@home.example"
    assert draft.delivery_key.endswith("@home.example>")
    assert draft.thread_key == "t1"
    assert taint_from_json(draft.taint) == taint
    assert [mark["code"] for mark in draft.marks] == ["tainted", "unowned"]
    assert draft.replying_to["text"] == "When do we meet?"
    assert (draft.session_id, draft.agent, draft.producer) == ("session-1", "assistant", "run")
    assert results(world) == [staged.result.text]
    assert staged.draft_id in staged.result.text
    assert staged.result.text.startswith("Nothing was sent.")


async def test_the_same_call_while_it_is_pending_is_the_same_draft(world):
    first = await world.stage(subject="Hello")
    again = await world.stage(subject="Hello")
    other = await world.stage(subject="Hello you")
    assert again.draft_id == first.draft_id != other.draft_id
    assert again.result.text.startswith("Nothing was sent. The same call is waiting")
    assert len(results(world)) == 3
    assert len(drafts(world)) == 2


async def test_the_same_call_in_another_session_or_after_a_decision_is_a_new_draft(world):
    first = await world.stage()
    elsewhere = await world.stager().stage(
        world.journal, world.prepared(to=["ada@example.org"]), world.facts("session-2")
    )
    with world.store.effect() as session:
        session.get(Draft, first.draft_id).status = DraftStatus.REJECTED
    again = await world.stage()
    assert len({first.draft_id, elsewhere.draft_id, again.draft_id}) == 3


async def test_a_second_reply_to_a_thread_replaces_the_first(world):
    first = await world.stage(body="one", thread="t1")
    unrelated = await world.stage(body="one", thread="t2")
    second = await world.stage(body="two", thread="t1")
    old = world.draft(first.draft_id)
    assert (old.status, old.superseded_by) == (DraftStatus.SUPERSEDED, second.draft_id)
    assert first.draft_id in second.result.text
    assert world.draft(unrelated.draft_id).status is DraftStatus.PENDING


async def test_a_thread_whose_draft_is_being_sent_is_not_replaced(world):
    first = await world.stage(body="one", thread="t1")
    with world.store.effect() as session:
        session.get(Draft, first.draft_id).status = DraftStatus.SENDING
    await world.stage(body="two", thread="t1")
    assert world.draft(first.draft_id).status is DraftStatus.SENDING


async def test_a_call_that_cannot_be_completed_tells_the_model_what_to_change(world):
    with pytest.raises(StagingFailed, match="nobody is no recipient; name an address"):
        await world.stage(to=["nobody"])
    assert drafts(world) == []


class Broken(FolderSender):
    """Its completion has a bug."""

    async def complete(self, args, ctx):
        raise ZeroDivisionError("a secret in a message")


class Slow(FolderSender):
    """Its completion never ends."""

    async def complete(self, args, ctx):
        await asyncio.Event().wait()


class HalfCharacter(FolderSender):
    """It completes into what no database holds."""

    async def complete(self, args, ctx):
        completed = await super().complete(args, ctx)
        completed.args["subject"] = "\ud800"
        return completed


class NoSender(Tool):
    """It cannot be staged."""

    async def call(self, args, ctx):
        raise AssertionError("a staging that fails never falls through to execution")


@pytest.mark.parametrize(
    ("handler", "says"),
    [
        (Broken, "post_send could not be staged: ZeroDivisionError inside it"),
        (Slow, "post_send could not be staged in time"),
        (HalfCharacter, "post_send could not be staged: UnicodeEncodeError inside it"),
        (NoSender, "post_send cannot be staged: it makes no draft of what it would do"),
    ],
)
async def test_whatever_goes_wrong_nothing_is_staged_and_nothing_runs(world, handler, says):
    """L21."""
    changed = spec(timeout_seconds=0.05)
    entry = Entry(changed, handler(changed))
    prepared = world.prepared(entry, to=["ada@example.org"])
    with pytest.raises(StagingFailed) as failure:
        await world.stager().stage(world.journal, prepared, world.facts())
    assert str(failure.value) == says
    assert drafts(world) == []
    assert results(world) == []
    assert world.server.messages() == []


async def test_a_handler_that_cannot_be_imported_stages_nothing(world):
    entry = Entry(spec(handler="makers.outbox:Missing"))
    with pytest.raises(StagingFailed, match="AttributeError"):
        await world.stager().stage(
            world.journal, world.prepared(entry, to=["ada@example.org"]), world.facts()
        )
    assert drafts(world) == []


@pytest.mark.parametrize("twin", [False, True], ids=["new", "already pending"])
async def test_draft_and_transcript_row_are_written_together_or_not_at_all(world, twin):
    if twin:
        await world.stage()
    before = (drafts(world), results(world))
    world.journal.broken = StoreFailed("the disk is full")
    with pytest.raises(StagingFailed, match="the disk is full"):
        await world.stage()
    assert (drafts(world), results(world)) == before


async def test_a_run_that_lost_its_lease_stages_nothing(world):
    """L34."""
    world.journal.lost = True
    with pytest.raises(LeaseLost):
        await world.stage()
    assert drafts(world) == []


async def test_kind_and_reach_come_from_configuration_and_session(world):
    stager = world.stager(OutboxSettings(publish=("post_*",)))
    staged = await stager.stage(
        world.journal, world.prepared(to=["ada@example.org"]), world.facts(loopback_only=True)
    )
    draft = world.draft(staged.draft_id)
    assert draft.kind is DraftKind.PUBLISH
    assert draft.loopback_only


@pytest.mark.parametrize("released_in", ["session-1", "session-2"])
@pytest.mark.parametrize(
    ("stranger_first", "expected"), [(True, ["unowned"]), (False, [])], ids=["after", "before"]
)
async def test_a_released_draft_is_a_record_from_then_on_and_not_before(
    world, released_in, stranger_first, expected
):
    """O16: wherever it was released, a stranger who named the address earlier keeps it."""

    def stranger_writes():
        world.words.add(Origin.THIRD_PARTY, "eve@evil.example", source="mail_recent in turn 1")

    if stranger_first:
        stranger_writes()
    args = {**a_draft().args, "to": ["Eve <eve@evil.example>"]}
    released = world.put(args=args, session_id=released_in)
    await world.releaser.approve(released.id, revision=1, decider=OWNER)
    if not stranger_first:
        stranger_writes()
    staged = await world.stage(to=["eve@evil.example"], subject="again")
    assert [mark["code"] for mark in world.draft(staged.draft_id).marks] == expected
