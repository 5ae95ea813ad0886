"""The mailbox of causes: what is claimed by whom, and who may still write."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import Session

from bot.database import Database
from makers.house import make_database
from makers.triggers import HERE, NOON, THERE, at, cause, post_cause
from outbox.errors import LeaseLost
from triggers import mailbox
from triggers.mailbox import LEASE, Claim
from triggers.tables import CAUSE_MOVES, Cause, CauseKind, CauseStatus


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Database]:
    database = make_database(tmp_path)
    yield database
    database.close()


def claim(
    store: Database, owner: str = HERE, cause_id: str | None = None, seconds: float = 0
) -> Claim | None:
    with store.effect() as session:
        return mailbox.claim(session, owner=owner, now=at(seconds), cause_id=cause_id)


def no_effect(session: Session, row: Cause) -> bool:
    return False


def some_effect(session: Session, row: Cause) -> bool:
    return True


def recover(
    store: Database, *, dead: tuple[str, ...] = (), effect: bool = False, seconds: float = 0
) -> list[str]:
    with store.effect() as session:
        found = mailbox.recover(
            session,
            now=at(seconds),
            is_dead=lambda owner: owner in dead,
            had_effect=some_effect if effect else no_effect,
        )
        return [row.id for row in found]


def test_one_session_never_has_two_runs(store: Database) -> None:
    first, second = post_cause(store), post_cause(store)
    assert claim(store) is not None
    assert claim(store) is None
    assert {cause(store, each).status for each in (first, second)} == {
        CauseStatus.CLAIMED,
        CauseStatus.QUEUED,
    }


def test_another_session_is_claimed_meanwhile(store: Database) -> None:
    post_cause(store, session_id="s1")
    post_cause(store, session_id="s2")
    held = [claim(store), claim(store)]
    assert {each.session_id for each in held if each} == {"s1", "s2"}


def test_a_cause_that_names_a_process_is_left_to_it(store: Database) -> None:
    mine = post_cause(store, for_process=THERE)
    assert claim(store, owner=HERE) is None
    assert claim(store, owner=HERE, cause_id=mine) is None
    assert claim(store, owner=THERE, cause_id=mine) is not None


def test_a_cause_is_not_claimed_before_its_time(store: Database) -> None:
    post_cause(store, not_before=at(30))
    assert claim(store, seconds=29) is None
    assert claim(store, seconds=30) is not None


def test_two_threads_claim_one_cause_once(store: Database) -> None:
    for number in range(20):
        post_cause(store, session_id=f"s{number}")
    held: list[str] = []

    def work(owner: str) -> None:
        while (got := claim(store, owner=owner)) is not None:
            held.append(got.cause_id)

    workers = [threading.Thread(target=work, args=(owner,)) for owner in (HERE, THERE)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(held) == len(set(held)) == 20


def test_a_holder_whose_cause_was_taken_over_is_fenced(store: Database) -> None:
    """L34: the epoch that a takeover raises shuts the old holder out of every transaction."""
    post_cause(store, kind=CauseKind.ANSWER)
    old = claim(store)
    assert old is not None
    late = LEASE.total_seconds() + 1
    assert recover(store, seconds=late) == []
    new = claim(store, owner=THERE, seconds=late)
    assert new is not None
    assert new.epoch > old.epoch
    with store.effect() as session:
        mailbox.check_fence(session, new)
        with pytest.raises(LeaseLost, match="was taken over; nothing more is written by it"):
            mailbox.check_fence(session, old)
        assert not mailbox.renew(session, old, at(late))
        assert not mailbox.finish(session, old, status=CauseStatus.DONE, outcome={}, now=at(late))


def test_a_renewed_lease_is_not_taken_over(store: Database) -> None:
    post_cause(store, kind=CauseKind.ANSWER)
    held = claim(store)
    assert held is not None
    with store.effect() as session:
        assert mailbox.renew(session, held, at(50))
    recover(store, seconds=LEASE.total_seconds() + 1)
    with store.effect() as session:
        mailbox.check_fence(session, held)


@pytest.mark.parametrize(
    ("kind", "effect", "expected"),
    [
        pytest.param(CauseKind.ANSWER, False, CauseStatus.QUEUED, id="answer-without-effect"),
        pytest.param(CauseKind.ANSWER, True, CauseStatus.INTERRUPTED, id="answer-with-effect"),
        pytest.param(CauseKind.DECISION, False, CauseStatus.QUEUED, id="decision-without-effect"),
        pytest.param(CauseKind.PROMPT, False, CauseStatus.INTERRUPTED, id="prompt-at-a-terminal"),
    ],
)
def test_what_a_dead_process_held_runs_again_only_where_nothing_had_begun(
    store: Database, kind: CauseKind, effect: bool, expected: CauseStatus
) -> None:
    left = post_cause(store, kind=kind)
    assert claim(store) is not None
    interrupted = recover(store, dead=(HERE,), effect=effect)
    assert cause(store, left).status is expected
    assert interrupted == ([left] if expected is CauseStatus.INTERRUPTED else [])


def test_a_second_death_is_the_last(store: Database) -> None:
    left = post_cause(store, kind=CauseKind.ANSWER)
    for _ in range(2):
        assert claim(store) is not None
        recover(store, dead=(HERE,))
    assert cause(store, left).status is CauseStatus.INTERRUPTED
    assert cause(store, left).attempt == 2


def test_an_answer_queued_for_a_dead_process_is_open_to_all(store: Database) -> None:
    left = post_cause(store, kind=CauseKind.ANSWER, for_process=THERE)
    recover(store, dead=(THERE,))
    assert claim(store, owner=HERE) is not None
    assert cause(store, left).owner == HERE


def test_a_reservation_that_is_not_kept_opens_to_all_whatever_became_of_its_process(
    store: Database,
) -> None:
    """A container that is made anew has another host name, so nobody can say that it is dead."""
    left = post_cause(store, kind=CauseKind.ANSWER, for_process=THERE)
    with store.effect() as session:
        assert mailbox.keep_reserved(session, left, THERE, at(50))
    recover(store, seconds=LEASE.total_seconds() + 1)
    assert claim(store, owner=HERE, seconds=70) is None
    recover(store, seconds=LEASE.total_seconds() + 51)
    assert claim(store, owner=HERE, seconds=120) is not None


def test_a_prompt_queued_for_a_dead_process_is_seen_as_interrupted(store: Database) -> None:
    left = post_cause(store, for_process=THERE)
    assert recover(store, dead=(THERE,)) == [left]
    assert cause(store, left).status is CauseStatus.INTERRUPTED


def test_rejections_wait_in_one_cause_until_somebody_claims_it(store: Database) -> None:
    waiting = post_cause(store, kind=CauseKind.DECISION)
    with store.effect() as session:
        changed = mailbox.add_to_queued(
            session, waiting, payload={"rejections": [1, 2]}, not_before=at(30)
        )
    assert changed
    assert cause(store, waiting).payload == {"rejections": [1, 2]}
    assert claim(store, seconds=31) is not None
    with store.effect() as session:
        assert not mailbox.add_to_queued(session, waiting, payload={}, not_before=NOON)


def test_nothing_is_added_to_rejections_that_a_dead_run_may_have_told(store: Database) -> None:
    waiting = post_cause(store, kind=CauseKind.DECISION)
    assert claim(store) is not None
    recover(store, dead=(HERE,))
    assert cause(store, waiting).status is CauseStatus.QUEUED
    with store.effect() as session:
        assert not mailbox.add_to_queued(session, waiting, payload={}, not_before=NOON)


def test_a_folded_cause_is_done_and_says_into_which(store: Database) -> None:
    waiting = post_cause(store, kind=CauseKind.DECISION)
    with store.effect() as session:
        assert mailbox.fold(session, waiting, "another", NOON)
        assert not mailbox.fold(session, waiting, "a third", NOON)
    assert cause(store, waiting).outcome == {"folded_into": "another"}


def test_rounds_are_counted_since_the_last_prompt(store: Database) -> None:
    for moment, kind in enumerate(
        (CauseKind.DECISION, CauseKind.PROMPT, CauseKind.DECISION, CauseKind.DECISION)
    ):
        post_cause(store, kind=kind, posted=at(moment))
    with store.read() as session:
        assert mailbox.rounds_since_prompt(session, "s1", CauseKind.DECISION) == 2


def test_an_ended_cause_never_moves_again() -> None:
    for ended in (CauseStatus.DONE, CauseStatus.FAILED, CauseStatus.INTERRUPTED):
        assert CAUSE_MOVES[ended] == frozenset()
