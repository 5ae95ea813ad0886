"""A release sends what was read, at most once, and says truthfully what became of it."""

import asyncio
import contextlib
import sqlite3
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import select

from makers.outbox import OWNER, FolderSender, LocalFolderSender, World, a_draft, now, spec
from outbox.attempts import all_attempts
from outbox.confirmation import YesRequest, asks_again, refuse_draft, refuse_yes, split_batch
from outbox.drafts import reject
from outbox.edit import Edit, Editor
from outbox.errors import NotAllowed, NotFound, NotRecorded, Stale, StoreFailed
from outbox.states import Decider
from outbox.tables import AttemptOutcome, Draft, DraftStatus, ReleasedTo
from tools.contract import Capabilities, Egress
from tools.registry import Entry

SLACK = Decider(by="owner", via="slack")


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def approve(world, draft, revision=1, decider=OWNER):
    return world.releaser.approve(draft.id, revision=revision, decider=decider)


def attempts(world, draft):
    with world.store.read() as session:
        return [(each.n, each.outcome, each.detail) for each in all_attempts(session, draft.id)]


async def test_a_release_sends_exactly_what_the_store_holds(world):
    """O9: nothing is computed; arguments and key go out as they were staged."""
    staged = await world.stage(subject="Hello", body="Hi")
    draft = world.draft(staged.draft_id)
    released = await approve(world, draft)
    assert world.server.messages() == [{"args": draft.args, "key": draft.delivery_key}]
    assert released.is_sent
    assert released.text == f"draft {draft.id} was sent: 250 taken"
    assert world.notes() == [
        f"The owner released draft {draft.id} (to ada@example.org: Hello): it was sent."
    ]
    stored = world.draft(draft.id)
    assert (stored.decided_by, stored.decided_via, stored.error) == ("owner", "test", None)
    assert attempts(world, draft) == [(1, AttemptOutcome.SENT, "250 taken")]
    with world.store.read() as session:
        assert [row.identifier for row in session.exec(select(ReleasedTo))] == [
            "address:ada@example.org"
        ]


async def test_a_copied_home_sends_nothing_that_its_destination_holds(world, tmp_path):
    """O8: a backup that was restored after the release still shows the draft as pending."""
    draft = world.put()
    home = tmp_path / "copy"
    home.mkdir()
    with (
        contextlib.closing(sqlite3.connect(world.path)) as here,
        contextlib.closing(sqlite3.connect(home / world.path.name)) as there,
    ):
        here.backup(there)
    copied = World(home)
    copied.server = world.server
    assert (await approve(world, draft)).is_sent
    released = await approve(copied, draft)
    assert world.server.taken() == [draft.delivery_key]
    found = "found at its destination; it was not sent again"
    assert (released.is_sent, released.text) == (True, f"draft {draft.id} was sent: {found}")
    assert attempts(copied, draft) == [(1, AttemptOutcome.SENT, found)]
    with copied.store.read() as session:
        assert len(session.exec(select(ReleasedTo)).all()) == 1


class Unanswering(FolderSender):
    """It breaks when it is asked about one subject, and never answers about another."""

    async def verify(self, completed, delivery_key, ctx):
        if completed["subject"] == "breaks":
            raise RuntimeError("a bug inside the sender")
        await asyncio.Future()


@pytest.mark.parametrize("subject", ["breaks", "endless"])
async def test_a_destination_that_cannot_be_asked_holds_up_no_release(world, subject):
    world.desk.entries["post_send"] = Entry(spec(), Unanswering(spec()))
    draft = world.put(args={**a_draft().args, "subject": subject})
    hasty = replace(world.releaser, patience_seconds=0.05)
    assert (await hasty.approve(draft.id, revision=1, decider=OWNER)).is_sent
    assert world.server.taken() == [draft.delivery_key]


async def test_an_edited_draft_goes_out_as_edited_and_its_session_is_told(world):
    draft = world.put(revision=3)
    released = await approve(world, draft, revision=3)
    assert released.is_sent
    assert "as the owner edited it (revision 3): it was sent" in world.notes()[0]


async def test_what_its_sender_finds_unsendable_is_not_even_tried(world):
    """O6: an edit that nobody could check, an account that went."""
    draft = world.put(args={**a_draft().args, "to": ["left@example.org"]})
    released = await approve(world, draft)
    stored = world.draft(draft.id)
    assert (stored.status, stored.error) == (
        DraftStatus.PENDING,
        "to: left@example.org has left; edit the draft",
    )
    assert not released.is_sent
    assert attempts(world, draft) == world.server.messages() == []


async def test_a_second_approval_is_told_who_sent_it_when_and_where(world):
    """O4."""
    draft = world.put()
    await approve(world, draft, decider=SLACK)
    at = f"{world.draft(draft.id).updated_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    with pytest.raises(Stale) as loser:
        await approve(world, draft)
    assert str(loser.value) == f"draft {draft.id} was already sent at {at} by owner via slack"
    assert len(world.server.messages()) == 1


async def test_an_approval_of_what_was_edited_meanwhile_sends_nothing(world):
    """O4: never stale."""
    draft = world.put()
    editor = Editor(store=world.store, judge=world.judge, fresh_key=str, now=now)
    args = {**draft.args, "body": "other"}
    edit = Edit(draft_id=draft.id, args=args, typed=True)
    editor.edit(edit, world.desk.entries["post_send"].spec.review)
    with pytest.raises(Stale, match=r"changed after you read it; it is revision 2 now"):
        await approve(world, draft, revision=1)
    assert world.server.messages() == []


@pytest.mark.parametrize(
    ("status", "error", "says"),
    [
        (DraftStatus.SENDING, Stale, "is being sent since 2026-01-02 03:04:05 UTC, released by"),
        (DraftStatus.REJECTED, Stale, "was rejected at 2026-01-02 03:04:05 UTC by owner via slack"),
        (DraftStatus.UNCERTAIN, NotAllowed, "may or may not have gone out"),
        (DraftStatus.SUPERSEDED, Stale, "was replaced by draft 0new"),
        (DraftStatus.EXPIRED, Stale, "expired at 2026-01-02 03:04:05 UTC"),
    ],
)
async def test_only_a_pending_draft_is_released(world, status, error, says):
    """O4, O7."""
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    draft = world.put(
        status=status,
        decided_at=at,
        decided_by="owner",
        decided_via="slack",
        superseded_by="0new",
        updated_at=at,
    )
    with pytest.raises(error) as refusal:
        await approve(world, draft)
    assert says in str(refusal.value)
    assert world.server.messages() == []
    with pytest.raises(NotFound):
        await world.releaser.approve("0none", revision=1, decider=OWNER)


async def test_a_known_failure_waits_again_with_its_error(world):
    """O5."""
    draft = world.put()
    world.server.fault = "refuse"
    released = await approve(world, draft)
    stored = world.draft(draft.id)
    assert (stored.status, stored.error) == (DraftStatus.PENDING, "550 no such user")
    assert (stored.decided_by, stored.revision) == (None, 1)
    assert "Nothing went out" in world.notes()[0]
    assert not released.is_sent
    world.server.fault = ""
    assert (await approve(world, draft)).is_sent
    assert [outcome for _, outcome, _ in attempts(world, draft)] == ["failed", "sent"]
    assert world.server.taken() == [draft.delivery_key]


async def test_a_lost_answer_is_uncertain_and_refuses_everything_until_it_is_known(world):
    """O7."""
    draft = world.put()
    world.server.fault = "lose"
    released = await approve(world, draft)
    assert world.notes() == []
    assert "may or may not have gone out: no answer after the dot" in released.text
    assert world.draft(draft.id).status is DraftStatus.UNCERTAIN
    world.server.fault = ""
    with pytest.raises(NotAllowed, match="reconcile"):
        await approve(world, draft)
    with world.store.effect() as session, pytest.raises(NotAllowed, match="reconcile"):
        reject(session, draft.id, decider=OWNER, reason="no", now=now())
    assert len(world.server.messages()) == 1


async def test_a_bug_inside_a_sender_leaves_uncertain_and_is_not_hidden(world, caplog):
    """O8."""
    draft = world.put()
    world.server.fault = "bug"
    released = await approve(world, draft)
    stored = world.draft(draft.id)
    assert stored.status is DraftStatus.UNCERTAIN
    (record,) = [each for each in caplog.records if each.action == "delivery_broke"]
    assert f"error {record.error_id}" in released.text
    assert str(record.exc_info[1]) == "a bug inside the sender"
    assert record.error_id in stored.error


class Waiting(FolderSender):
    """It waits for ever, before its point of no return or after it."""

    def __init__(self, *, after):
        super().__init__(spec())
        self.after = after
        self.reached = asyncio.Event()

    async def deliver(self, completed, delivery_key, ctx, go_ahead):
        if self.after:
            await super().deliver(completed, delivery_key, ctx, go_ahead)
        self.reached.set()
        return await asyncio.Future()


@pytest.mark.parametrize(
    ("after", "status", "error"),
    [
        (False, DraftStatus.PENDING, "stopped before the hand-over; nothing was sent"),
        (True, DraftStatus.UNCERTAIN, "broken off before an answer came"),
    ],
    ids=["before the point of no return", "after it"],
)
async def test_a_cancelled_delivery_is_not_sent_or_uncertain_by_how_far_it_came(
    world, after, status, error
):
    """O8."""
    draft = world.put()
    sender = Waiting(after=after)
    world.desk.entries["post_send"] = Entry(spec(), sender)
    release = asyncio.create_task(approve(world, draft))
    await sender.reached.wait()
    release.cancel()
    with pytest.raises(asyncio.CancelledError):
        await release
    stored = world.draft(draft.id)
    assert stored.status is status
    assert error in stored.error
    assert len(world.server.messages()) == after


# --- the last question before the point of no return


class Slept:
    """A clock that counts sleep: the lid was shut for so long after the first look."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.looks = 0

    def __call__(self):
        self.looks += 1
        return 0.0 if self.looks == 1 else self.seconds


@pytest.mark.parametrize(("seconds", "goes"), [(0, True), (280, True), (300, False), (9e9, False)])
async def test_a_machine_that_slept_before_the_hand_over_sends_nothing(world, seconds, goes):
    """O8: the answer, for which 600 of 900 seconds are kept, would come after the deadline."""
    draft = world.put()
    slept = replace(world.releaser, clock=Slept(seconds))
    released = await slept.approve(draft.id, revision=1, decider=OWNER)
    assert released.is_sent is goes
    assert len(world.server.messages()) == goes
    if not goes:
        stored = world.draft(draft.id)
        assert stored.status is DraftStatus.PENDING
        assert stored.error.endswith("nothing was sent")
        assert "the machine slept" in stored.error


@pytest.mark.parametrize(
    "meanwhile",
    [
        [{"status": DraftStatus.UNCERTAIN}],
        [{"status": DraftStatus.UNCERTAIN}, {"status": DraftStatus.PENDING, "decided_by": None}],
        [{"status": DraftStatus.UNCERTAIN}, {"status": DraftStatus.SENT}],
    ],
    ids=["called lost", "given back", "found sent"],
)
async def test_a_draft_that_was_settled_meanwhile_is_not_handed_over(world, meanwhile):
    """O7, O8: whoever decided it may have had it sent already."""
    draft = world.put()
    sender = Decided(spec(), before=[force(world, draft, **each) for each in meanwhile])
    world.desk.entries["post_send"] = Entry(spec(), sender)
    released = await approve(world, draft)
    assert world.server.messages() == []
    assert "decided otherwise before the hand-over; nothing was sent" in released.text
    kept = meanwhile[-1]["status"] is DraftStatus.SENT
    assert world.draft(draft.id).status is (DraftStatus.SENT if kept else DraftStatus.PENDING)


async def test_a_newer_attempt_calls_an_older_one_off(world):
    """O8."""
    draft = world.put()

    def second_attempt():
        force(world, draft, status=DraftStatus.PENDING)()
        world.desk.entries["post_send"] = Entry(spec())
        in_a_thread(world.releaser.approve(draft.id, revision=1, decider=SLACK))

    world.desk.entries["post_send"] = Entry(spec(), Decided(spec(), before=[second_attempt]))
    released = await approve(world, draft)
    assert "nothing was sent" in released.text
    assert len(world.server.messages()) == 1
    assert (released.draft.status, released.draft.decided_via) == (DraftStatus.SENT, "slack")


async def test_an_outbox_that_cannot_be_asked_a_last_time_calls_it_off(world):
    """R1, O8."""
    draft = world.put()

    class Unreadable:
        reads = 0

        def read(self):
            self.reads += 1
            if self.reads > 1:
                raise StoreFailed("the database is locked")
            return world.store.read()

        def effect(self):
            return world.store.effect()

    released = await replace(world.releaser, store=Unreadable()).approve(
        draft.id, revision=1, decider=OWNER
    )
    assert "could not be asked a last time: the database is locked" in released.text
    assert released.draft.status is DraftStatus.PENDING
    assert world.server.messages() == []


# --- what the session is told


async def test_the_note_and_the_outcome_are_one_transaction(world):
    """O8: where the note cannot be kept, the outcome is not either, and the owner hears both."""

    def unkept(session, draft, text):
        raise RuntimeError("no room for a note")

    draft = world.put()
    with pytest.raises(NotRecorded) as told:
        await replace(world.releaser, note=unkept).approve(draft.id, revision=1, decider=OWNER)
    assert "the delivery ended as sent (250 taken)" in str(told.value)
    assert "no room for a note" in str(told.value)
    assert world.draft(draft.id).status is DraftStatus.SENDING
    assert [outcome for _, outcome, _ in attempts(world, draft)] == [AttemptOutcome.OPEN]


async def test_what_the_session_knows_already_is_not_told_again(world):
    draft = world.put()
    decided(
        world,
        force(world, draft, status=DraftStatus.UNCERTAIN),
        force(world, draft, status=DraftStatus.SENT),
    )
    await approve(world, draft)
    assert world.notes() == []


MISSING = {
    "no such tool": (lambda desk: desk.entries.clear(), "there is no tool post_send now"),
    "its server is down": (
        lambda desk: setattr(desk, "down", "the account work is not configured"),
        "the account work is not configured",
    ),
    "its code is gone": (
        lambda desk: desk.entries.update(post_send=Entry(spec(handler="makers.outbox:Gone"))),
        "post_send cannot be used now: module 'makers.outbox' has no attribute 'Gone'",
    ),
    "its definition changed": (
        lambda desk: desk.entries.update(
            post_send=Entry(spec(capabilities=Capabilities(egress=Egress.CHOSEN, destructive=True)))
        ),
        "the tool post_send changed since this draft was made",
    ),
}


@pytest.mark.parametrize(("spoil", "says"), MISSING.values(), ids=MISSING.keys())
async def test_a_failure_before_the_tool_runs_lands_on_the_draft(world, spoil, says):
    """O6, O9."""
    draft = world.put()
    spoil(world.desk)
    released = await approve(world, draft)
    stored = world.draft(draft.id)
    assert stored.status is DraftStatus.PENDING
    assert says in stored.error
    assert stored.error in released.text
    assert not released.is_sent
    assert attempts(world, draft) == []
    assert world.server.messages() == []


async def test_a_rehearsals_draft_never_leaves_the_machine(world):
    draft = world.put(loopback_only=True)
    assert "only to a server on this machine" in (await approve(world, draft)).text
    assert world.server.messages() == []
    local = spec(handler="makers.outbox:LocalFolderSender")
    world.desk.entries["post_send"] = Entry(local, LocalFolderSender(local))
    assert (await approve(world, draft)).is_sent


async def test_two_approvals_at_once_send_one(world):
    """O4."""
    draft = world.put()
    every = await asyncio.gather(*(approve(world, draft) for _ in range(5)), return_exceptions=True)
    assert len(world.server.messages()) == 1
    assert sum(isinstance(each, Stale) for each in every) == 4


@pytest.mark.parametrize(
    ("meanwhile", "says"),
    [
        ({"revision": 2}, "changed after you read it; it is revision 2 now"),
        ({"status": DraftStatus.REJECTED, "decided_by": "owner"}, "was rejected at"),
        ({"status": DraftStatus.SENDING, "decided_by": "owner"}, "is being sent since"),
    ],
    ids=["edited", "rejected", "claimed"],
)
async def test_what_happens_between_reading_and_claiming_is_seen_by_the_claim(
    world, meanwhile, says
):
    """O4."""
    draft = world.put()
    context_of = world.desk.context_of

    def meddling():
        force(world, draft, **meanwhile)()
        return context_of()

    world.desk.context_of = meddling
    with pytest.raises(Stale, match=says):
        await approve(world, draft)
    assert world.server.messages() == []
    assert attempts(world, draft) == []


class Decided(FolderSender):
    """Before it asks whether to go ahead, or after that, the draft is decided by others."""

    def __init__(self, spec, *, before=(), after=()):
        super().__init__(spec)
        self.before, self.after = before, after

    async def deliver(self, completed, delivery_key, ctx, go_ahead):
        def asked(*, answer_within_seconds):
            go_ahead(answer_within_seconds=answer_within_seconds)
            for each in self.after:
                each()

        for each in self.before:
            each()
        return await super().deliver(completed, delivery_key, ctx, asked)


def decided(world, *meanwhile):
    """The draft is decided by others while the answer to its delivery is awaited."""
    world.desk.entries["post_send"] = Entry(spec(), Decided(spec(), after=meanwhile))


def in_a_thread(work):
    """Done to its end by a loop of its own, as in another process."""
    thread = threading.Thread(target=asyncio.run, args=(work,))
    thread.start()
    thread.join()


def force(world, draft, **values):
    def change():
        with world.store.effect() as session:
            stored = session.get(Draft, draft.id)
            for name, value in values.items():
                setattr(stored, name, value)

    return change


@pytest.mark.parametrize("given_back", [False, True], ids=["uncertain", "given back to pending"])
async def test_a_late_truthful_sent_always_wins(world, given_back):
    """O8."""
    draft = world.put()
    steps = [force(world, draft, status=DraftStatus.UNCERTAIN)]
    if given_back:
        steps.append(force(world, draft, status=DraftStatus.PENDING, decided_by=None))
    decided(world, *steps)
    assert (await approve(world, draft)).is_sent
    stored = world.draft(draft.id)
    assert (stored.status, stored.decided_by) == (DraftStatus.SENT, "owner")


async def test_a_late_sent_of_an_older_revision_is_said_on_the_edited_draft(world):
    """O8: what went out is not what the draft says now, so it is not called sent."""
    draft = world.put()
    decided(
        world,
        force(world, draft, status=DraftStatus.UNCERTAIN),
        force(world, draft, status=DraftStatus.PENDING, revision=2),
    )
    await approve(world, draft)
    stored = world.draft(draft.id)
    assert stored.status is DraftStatus.PENDING
    assert stored.error == "attempt 1 did go out, at revision 1"


async def test_a_late_failure_of_an_older_attempt_does_not_touch_a_newer_one(world):
    draft = world.put()

    def second_attempt():
        force(world, draft, status=DraftStatus.PENDING)()
        world.server.fault = ""
        world.desk.entries["post_send"] = Entry(spec())
        in_a_thread(world.releaser.approve(draft.id, revision=1, decider=SLACK))
        world.server.fault = "refuse"

    world.desk.entries["post_send"] = Entry(spec(), Decided(spec(), before=[second_attempt]))
    await approve(world, draft)
    stored = world.draft(draft.id)
    assert (stored.status, stored.decided_via) == (DraftStatus.SENT, "slack")
    assert [outcome for _, outcome, _ in attempts(world, draft)] == ["failed", "sent"]


# --- a database in trouble


async def test_a_database_locked_for_three_seconds_delays_only(world):
    """R1."""
    draft = world.put()
    locker = sqlite3.connect(world.path, isolation_level=None, check_same_thread=False)
    locker.execute("BEGIN IMMEDIATE")
    began = now()
    release = threading.Timer(3, lambda: (locker.execute("COMMIT"), locker.close()))
    release.start()
    released = await approve(world, draft)
    release.join()
    assert released.is_sent
    assert now() - began >= timedelta(seconds=2.9)
    assert len(world.server.messages()) == 1


class Cramped:
    """A Store whose disk has no room: every write transaction meets a real "disk is full"."""

    def __init__(self, store, after):
        self._store = store
        self._left = after

    def read(self):
        return self._store.read()

    def effect(self):
        self._left -= 1
        return self._store.effect() if self._left >= 0 else self._full()

    def _full(self):
        @contextlib.contextmanager
        def full():
            with self._store.effect() as session:
                raw = session.connection()
                pages = raw.exec_driver_sql("PRAGMA page_count").scalar_one()
                raw.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
                try:
                    yield session
                    session.flush()
                    raw.exec_driver_sql("CREATE TABLE filler (x)")
                    raw.exec_driver_sql("INSERT INTO filler VALUES (zeroblob(10000000))")
                finally:
                    raw.exec_driver_sql("PRAGMA max_page_count = 1073741823")

        return full()


async def test_a_full_disk_before_the_claim_sends_nothing(world):
    """R3."""
    draft = world.put()
    cramped = replace(world.releaser, store=Cramped(world.store, 0))
    with pytest.raises(StoreFailed, match="full"):
        await cramped.approve(draft.id, revision=1, decider=OWNER)
    assert world.server.messages() == []
    assert world.draft(draft.id) == draft


async def test_a_full_disk_after_the_delivery_is_said_and_nothing_is_sent_again(world):
    """R3, O8."""
    draft = world.put()
    cramped = replace(world.releaser, store=Cramped(world.store, 1))
    with pytest.raises(NotRecorded) as told:
        await cramped.approve(draft.id, revision=1, decider=OWNER)
    assert "the delivery ended as sent (250 taken), but that could not be written down" in str(
        told.value
    )
    assert world.draft(draft.id).status is DraftStatus.SENDING
    with pytest.raises(Stale, match="is being sent"):
        await approve(world, draft)
    assert len(world.server.messages()) == 1


# --- what --yes may release


def marked(code=None, **changes):
    marks = [{"code": code, "text": "", "path": None, "source": None}] if code else []
    return a_draft(marks=marks, **changes)


def request(named=1, revision=None, terminal=True, scripts=False):
    return YesRequest(drafts_named=named, revision=revision, terminal=terminal, scripts=scripts)


@pytest.mark.parametrize(
    ("terminal", "scripts", "allowed"),
    [(True, False, True), (False, True, True), (True, True, True), (False, False, False)],
)
def test_yes_needs_a_terminal_or_the_owners_word_in_the_configuration(terminal, scripts, allowed):
    """O17."""
    refusal = refuse_yes(request(terminal=terminal, scripts=scripts))
    assert (refusal is None) is allowed
    assert allowed or "scripts = true" in refusal


@pytest.mark.parametrize(
    ("draft", "asked", "allowed"),
    [
        (marked(), request(), True),
        (marked("unowned"), request(), True),
        (marked("unowned"), request(named=2), False),
        (marked("opaque"), request(named=2), False),
        (marked("link"), request(named=2), True),
        (marked("tainted"), request(named=2), True),
        (marked(revision=2), request(), False),
        (marked(revision=2), request(revision=2), True),
        (marked("unowned", revision=2), request(named=2, revision=2), False),
    ],
)
def test_yes_releases_an_unowned_draft_only_by_name_and_an_edited_one_only_by_revision(
    draft, asked, allowed
):
    """O11, O17."""
    assert (refuse_draft(draft, asked) is None) is allowed


def test_a_batch_by_yes_skips_the_unowned_and_says_so():
    """O17."""
    plain, unowned, edited = marked(), marked("unowned"), marked(revision=3)
    released, skipped = split_batch([plain, unowned, edited], request(named=3))
    assert released == [plain]
    assert [draft for draft, _ in skipped] == [unowned, edited]
    assert f"'steward outbox show {unowned.id}'" in skipped[0][1]
    assert "--revision 3" in skipped[1][1]


def test_a_marked_draft_asks_again_and_a_merely_tainted_one_does_not():
    """O11."""
    assert asks_again(marked("link"))
    assert not asks_again(marked("tainted"))
