"""Killed processes, lost answers, and two processes at once: at most once, and never a guess."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlmodel import select

import outbox
from makers.outbox import OWNER, SHAPE, FolderSender, World, a_draft, keep_note, now, spec
from outbox.attempts import DEADLINE, all_attempts, next_verify_at
from outbox.errors import NotAllowed, Stale
from outbox.process import ProcessId, current_process, identify, is_surely_dead
from outbox.recovery import Finding, Reconciled, Verifier, reconcile, settle
from outbox.tables import Attempt, AttemptOutcome, Draft, DraftStatus
from tools.registry import Entry

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CODE = Path(outbox.__file__).parent


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


class Child:
    """A process of makers.outbox_process, ready to begin."""

    def __init__(self, world, name, task, point=""):
        project = CODE.parent
        self.process = subprocess.Popen(
            [sys.executable, "-m", "makers.outbox_process", str(world.folder), name, task, point],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{project}{os.pathsep}{project / 'tests'}"},
        )
        assert self.process.stdout.readline() == "ready\n"

    def begin(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self

    def meet(self):
        """It has sent one, and waits so that neither is done before the other has begun."""
        assert self.process.stdout.readline() == "first\n"

    def result(self):
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        return json.loads(out)

    def killed(self):
        self.process.communicate(timeout=60)
        return self.process.returncode == -signal.SIGKILL


def test_two_processes_approving_the_same_hundred_drafts_deliver_each_once(world):
    """O15."""
    ids = {world.put().id for _ in range(100)}
    one, other = Child(world, "one", "meet"), Child(world, "other", "meet")
    for child in (one, other):
        child.begin()
    for child in (one, other):
        child.meet()
    for child in (one, other):
        child.begin()
    results = {"one": one.result(), "other": other.result()}
    assert Counter(world.server.taken()) == Counter(f"<{ident}@home.example>" for ident in ids)
    assert sorted(results["one"]["sent"] + results["other"]["sent"]) == sorted(ids)
    for name, rival in (("one", "other"), ("other", "one")):
        assert set(results[name]["lost"]) == set(results[rival]["sent"])
        for told in results[name]["lost"].values():
            assert f"by {rival} via process" in told


# --- killed at every point

POINTS = {
    "release.claimed": (0, DraftStatus.UNCERTAIN),
    "release.delivering": (0, DraftStatus.UNCERTAIN),
    "release.delivered": (1, DraftStatus.SENT),
    "release.recorded": (1, DraftStatus.SENT),
}
BEFORE = ("release.refused",)
RECOVERY = ("release.settled", "release.verified", "release.verify-recorded")
STAGING = ("staging.completed", "staging.staged")


def test_every_crash_point_in_the_code_is_one_of_these_tests():
    written = {
        name
        for path in CODE.glob("*.py")
        for name in re.findall(r'crash_point\("((?:release|staging)\.[^"]+)"\)', path.read_text())
    }
    assert written == {*POINTS, *BEFORE, *RECOVERY, *STAGING}


@pytest.mark.crash
@pytest.mark.parametrize("point", POINTS)
def test_killed_in_a_release_nothing_is_sent_twice_and_nothing_is_lost(world, point):
    """O8."""
    delivered, status = POINTS[point]
    draft = world.put()
    assert Child(world, "first", "approve", point).begin().killed()
    assert len(world.server.messages()) == delivered
    Child(world, "second", "approve").begin().result()
    found = Child(world, "second", "recover").begin().result()
    assert len(world.server.messages()) == delivered
    stored = world.draft(draft.id)
    assert stored.status is status
    if point != "release.recorded":
        assert found["settled"] == [draft.id]
    if status is DraftStatus.UNCERTAIN:
        assert stored.error == "the process that was sending ended before an answer came"
        assert found["known"] == []
        with world.store.effect() as session:
            finding = Finding(
                outcome=Reconciled.NOT_DELIVERED, evidence="not in Sent", decider=OWNER
            )
            reconcile(session, draft.id, finding, shape=SHAPE, now=now())
        assert Child(world, "third", "approve").begin().result()["sent"] == [draft.id]
        assert world.server.taken() == [draft.delivery_key]


@pytest.mark.crash
@pytest.mark.parametrize("point", RECOVERY)
def test_killed_while_finding_out_the_next_start_finds_out(world, point):
    """O8."""
    draft = world.put()
    assert Child(world, "first", "approve", "release.delivered").begin().killed()
    assert Child(world, "second", "recover", point).begin().killed()
    Child(world, "third", "recover").begin().result()
    assert world.draft(draft.id).status is DraftStatus.SENT
    assert world.server.taken() == [draft.delivery_key]


@pytest.mark.crash
def test_killed_after_a_refusal_was_kept_the_draft_waits_with_it(world):
    """O6."""
    draft = world.put(tool="gone")
    assert Child(world, "first", "approve", "release.refused").begin().killed()
    stored = world.draft(draft.id)
    assert stored.status is DraftStatus.PENDING
    assert "there is no tool gone now" in stored.error


@pytest.mark.crash
@pytest.mark.parametrize(("point", "drafts"), [("staging.completed", 0), ("staging.staged", 1)])
def test_killed_in_a_staging_there_is_a_whole_draft_or_none(world, point, drafts):
    """O8."""
    assert Child(world, "first", "stage", point).begin().killed()
    with world.store.read() as session:
        assert len(session.exec(select(Draft)).all()) == drafts
    assert world.server.messages() == []


# --- who is called dead


def flying(world, process, *, deadline=None, **changes):
    draft = world.put(status=DraftStatus.SENDING, decided_by="owner", **changes)
    with world.store.effect() as session:
        session.add(
            Attempt(
                draft_id=draft.id,
                n=1,
                revision=1,
                delivery_key=draft.delivery_key,
                process=str(process),
                started_at=now(),
                deadline_at=deadline or now() + DEADLINE,
                outcome=AttemptOutcome.OPEN,
            )
        )
    return draft


def settled(world):
    with world.store.effect() as session:
        return [draft.id for draft in settle(session, now())]


def dead_process():
    child = subprocess.Popen([sys.executable, "-c", ""])
    here = current_process()
    child.wait()
    return ProcessId(host=here.host, boot=here.boot, pid=child.pid, started=here.started)


def test_a_draft_is_uncertain_when_its_process_is_dead(world):
    """O8."""
    draft = flying(world, dead_process())
    assert settled(world) == [draft.id]
    stored = world.draft(draft.id)
    assert (stored.status, stored.decided_by) == (DraftStatus.UNCERTAIN, "owner")


@pytest.mark.parametrize(
    "process",
    [
        str(current_process()),
        "another-host/1/2/3",
        "no process at all",
    ],
    ids=["alive here", "on another machine", "unreadable"],
)
def test_a_draft_whose_process_may_live_is_left_alone_until_its_deadline(world, process):
    """O8."""
    flying(world, process)
    assert settled(world) == []
    late = flying(world, process, deadline=now() - timedelta(seconds=2))
    assert settled(world) == [late.id]
    assert world.draft(late.id).error == "no answer came before the deadline"


@pytest.mark.parametrize("ticks", [-1, 1], ids=["older", "younger"])
def test_a_process_that_only_reuses_the_number_of_a_dead_one_is_not_it(world, ticks):
    """O8: also where the two began within one hundredth of a second."""
    here = current_process()
    draft = flying(world, replace(here, started=here.started + ticks))
    assert settled(world) == [draft.id]


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own counts are Linux's")
def test_no_step_of_the_clock_makes_a_living_process_a_dead_one():
    """O8: boot and start are the kernel's own, and no time of day is in them."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        mine = identify(child.pid)
        stat = Path(f"/proc/{child.pid}/stat").read_text()
        assert mine.kernel == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        assert mine.started == int(stat.rpartition(")")[2].split()[19])
        assert ProcessId.parse(str(mine)) == mine
        assert not is_surely_dead(str(mine))
    finally:
        child.kill()
        child.communicate()
    assert is_surely_dead(str(mine))
    with pytest.raises(ProcessLookupError):
        identify(child.pid)


def test_a_process_that_ended_and_was_not_collected_is_dead():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    mine = str(identify(child.pid))
    os.kill(child.pid, signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_surely_dead(mine)
    child.communicate()


BARE = ProcessId(host="attic", boot="b1", pid=2**30, started=1)


@pytest.mark.parametrize(
    ("changes", "here", "dead"),
    [
        ({}, BARE, True),
        ({"boot": "b0"}, BARE, True),
        ({"host": "cellar", "boot": "b0"}, BARE, False),
        ({"boot": "b1:77"}, BARE, False),
        ({}, replace(BARE, boot="b1:77"), False),
        ({"boot": "b1:78"}, replace(BARE, boot="b1:77"), False),
        ({"boot": "b1:77"}, replace(BARE, boot="b1:77"), True),
        ({"boot": "b0:77"}, BARE, False),
        ({"boot": "b0:77"}, replace(BARE, boot="b1:77"), False),
        ({"boot": "-"}, replace(BARE, boot="-"), True),
    ],
    ids=[
        "gone", "before a reboot", "another machine", "in a container", "outside of mine",
        "in another container", "in this container", "in a container before a reboot",
        "in a container of perhaps another machine", "no boot id",
    ],
)  # fmt: skip
def test_only_what_can_be_seen_from_here_is_called_dead(changes, here, dead):
    """O8: no such process id lives here, yet that proves something only where ids mean the same."""
    assert is_surely_dead(str(replace(BARE, **changes)), seen_from=here) is dead


# --- asking the destination


def uncertain(world, *, fault="lose", ended=None, **changes):
    draft = world.put(
        status=DraftStatus.UNCERTAIN,
        decided_by="owner",
        decided_via="test",
        error="no answer",
        **changes,
    )
    with world.store.effect() as session:
        session.add(
            Attempt(
                draft_id=draft.id,
                n=1,
                revision=1,
                delivery_key=draft.delivery_key,
                process=str(dead_process()),
                started_at=now(),
                deadline_at=now() + DEADLINE,
                ended_at=ended or now(),
                outcome=AttemptOutcome.UNKNOWN,
            )
        )
    if fault == "lose":
        world.server.accept(draft.args, draft.delivery_key)
    elif fault == "absent":
        world.server.fault = "absent"
    return draft


def verifier(world, at=None, **changes):
    return Verifier(
        store=world.store, desk=world.desk, note=keep_note, now=lambda: at or now(), **changes
    )


async def test_a_lost_answer_whose_message_is_found_was_sent(world):
    """O8."""
    draft = uncertain(world)
    (released,) = await verifier(world).verify(only_due=False)
    assert released.is_sent
    assert world.notes() == [
        f"The owner released draft {draft.id} (to ada@example.org: Hello): it was sent."
    ]
    stored = world.draft(draft.id)
    assert (stored.status, stored.decided_by, stored.error) == (DraftStatus.SENT, "owner", None)
    assert len(world.server.messages()) == 1


async def test_a_message_that_is_not_found_proves_nothing(world):
    """O7."""
    draft = uncertain(world, fault="break")
    assert await verifier(world).verify(only_due=False) == []
    assert world.draft(draft.id).status is DraftStatus.UNCERTAIN


async def test_where_a_repeat_is_harmless_an_absent_message_waits_again(world):
    draft = uncertain(world, fault="absent")
    (released,) = await verifier(world).verify(only_due=False)
    assert not released.is_sent
    stored = world.draft(draft.id)
    assert stored.status is DraftStatus.PENDING
    assert stored.error == "its destination says that it never arrived"


async def test_the_destination_is_asked_three_times_and_then_the_owner(world):
    ended = now()
    draft = uncertain(world, fault="break", ended=ended)
    asked = []
    for seconds in (29, 30, 31, 119, 120, 599, 600, 9_999):
        at = ended + timedelta(seconds=seconds)
        await verifier(world, at).verify()
        with world.store.read() as session:
            (attempt,) = all_attempts(session, draft.id)
        asked.append(attempt.verify_tries)
    assert asked == [0, 1, 1, 1, 2, 2, 3, 3]
    assert world.draft(draft.id).status is DraftStatus.UNCERTAIN


async def test_a_destination_that_cannot_be_asked_costs_a_try_and_the_others_go_on(world):
    lost = uncertain(world)
    with world.store.effect() as session:
        session.get(Draft, lost.id).tool = "gone"
    found = uncertain(world)
    (released,) = await verifier(world).verify(only_due=False)
    assert released.draft.id == found.id


class Unasked(FolderSender):
    """It breaks when it is asked about one address, and never answers about another."""

    async def verify(self, completed, delivery_key, ctx):
        if completed["to"] == ["broken@example.org"]:
            raise RuntimeError("a bug inside the sender")
        if completed["to"] == ["endless@example.org"]:
            await asyncio.Future()
        return await super().verify(completed, delivery_key, ctx)


async def test_a_destination_that_breaks_or_never_answers_costs_a_try_and_is_logged(world, caplog):
    """R2: the drafts beside it are asked about all the same, and no command waits for ever."""
    world.desk.entries["post_send"] = Entry(spec(), Unasked(spec()))
    args = a_draft().args
    silent = [
        uncertain(world, args={**args, "to": [f"{word}@example.org"]})
        for word in ("broken", "endless")
    ]
    found = uncertain(world)
    (released,) = await verifier(world, patience_seconds=0.2).verify(only_due=False)
    assert released.draft.id == found.id
    for draft in silent:
        with world.store.read() as session:
            (attempt,) = all_attempts(session, draft.id)
        assert (attempt.verify_tries, attempt.outcome) == (1, AttemptOutcome.UNKNOWN)
        assert world.draft(draft.id).status is DraftStatus.UNCERTAIN
    told = [record for record in caplog.records if record.action == "verification_broke"]
    assert {type(record.exc_info[1]).__name__ for record in told} == {
        "RuntimeError",
        "TimeoutError",
    }


class Unwritable:
    """A Store of a database that may be read alone."""

    def __init__(self, store):
        self._store = store

    def read(self):
        return self._store.read()

    def effect(self):
        raise AssertionError("the write lock was taken")


def test_looking_for_lost_deliveries_takes_no_lock_where_nothing_is_in_flight(world):
    """R1: a command that only reads does not wait for a writer."""
    world.put()
    idle = Verifier(store=Unwritable(world.store), desk=world.desk, note=keep_note, now=now)
    assert idle.settle() == []
    flying(world, current_process())
    with pytest.raises(AssertionError, match="the write lock"):
        idle.settle()


def test_the_three_times_are_half_a_minute_two_and_ten_minutes():
    times = [next_verify_at(AT, tries) for tries in range(4)]
    assert [time and (time - AT).total_seconds() for time in times] == [30, 120, 600, None]


# --- the owner's word


def by_word(world, draft, outcome, evidence="seen in Sent"):
    finding = Finding(outcome=outcome, evidence=evidence, decider=OWNER)
    with world.store.effect() as session:
        return reconcile(session, draft.id, finding, shape=SHAPE, now=now())


@pytest.mark.parametrize(
    ("outcome", "status", "attempt"),
    [
        (Reconciled.DELIVERED, DraftStatus.SENT, AttemptOutcome.SENT),
        (Reconciled.NOT_DELIVERED, DraftStatus.PENDING, AttemptOutcome.FAILED),
    ],
)
def test_reconciling_sends_nothing_and_keeps_the_evidence(world, outcome, status, attempt):
    """O7."""
    draft = uncertain(world, fault="break")
    stored = by_word(world, draft, outcome)
    assert stored.status is status
    assert "seen in Sent" in (stored.reason or stored.error)
    assert world.server.messages() == []
    with world.store.read() as session:
        (last,) = all_attempts(session, draft.id)
    assert (last.outcome, last.detail) == (attempt, "by the word of owner: seen in Sent")


def test_reconciling_needs_evidence_and_an_uncertain_draft(world):
    """O7."""
    draft = uncertain(world)
    with pytest.raises(NotAllowed, match="--evidence"):
        by_word(world, draft, Reconciled.DELIVERED, " ")
    pending = world.put()
    with pytest.raises(NotAllowed, match="is pending; only an uncertain one is reconciled"):
        by_word(world, pending, Reconciled.DELIVERED)


def test_reconciling_waits_for_an_attempt_that_may_still_end(world):
    """O7, O8."""
    alive = flying(world, current_process())
    with pytest.raises(NotAllowed, match="is still being sent and may end by itself; wait until 2"):
        by_word(world, alive, Reconciled.NOT_DELIVERED)
    assert world.draft(alive.id).status is DraftStatus.SENDING
    dead = flying(world, dead_process())
    assert by_word(world, dead, Reconciled.DELIVERED).status is DraftStatus.SENT


async def test_a_reconciled_draft_is_told_like_any_other_decision(world):
    draft = uncertain(world)
    by_word(world, draft, Reconciled.DELIVERED)
    with pytest.raises(Stale, match="was already sent at 2"):
        await world.releaser.approve(draft.id, revision=1, decider=OWNER)


def test_a_fresh_draft_needs_no_recovery(world):
    world.put(args=a_draft().args)
    assert settled(world) == []
