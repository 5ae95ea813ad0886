"""The ticker: one claimed cause, run to an ending that is always written down."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.database import Database
from bot.service import cut_short
from makers.house import make_database
from makers.triggers import HERE, THERE, at, cause, post_cause
from outbox.errors import LeaseLost
from triggers import mailbox
from triggers.lease import Lease
from triggers.mailbox import LEASE, Claim
from triggers.tables import CauseKind, CauseStatus
from triggers.ticker import Ended, Run, Ticker

DONE = Ended(status=CauseStatus.DONE, outcome={"stop_cause": "answered"})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Database]:
    database = make_database(tmp_path)
    yield database
    database.close()


def make_ticker(store: Database, run: Run) -> Ticker:
    return Ticker(
        store=store,
        run=run,
        owner=HERE,
        now=lambda: at(0),
        is_dead=lambda owner: False,
        had_effect=lambda session, row: False,
        cut_short=cut_short,
    )


def claimed(ticker: Ticker) -> Claim:
    claim = ticker.claim()
    assert claim is not None
    return claim


async def test_a_finished_run_leaves_its_report_on_the_cause(store: Database) -> None:
    posted = post_cause(store)

    async def run(lease: Lease) -> Ended:
        return DONE

    ticker = make_ticker(store, run)
    assert await ticker.carry_out(claimed(ticker)) == DONE
    row = cause(store, posted)
    assert (row.status, row.outcome) == (CauseStatus.DONE, {"stop_cause": "answered"})


async def test_a_bug_in_a_run_fails_the_cause_under_an_error_id(store: Database) -> None:
    posted = post_cause(store)

    async def run(lease: Lease) -> Ended:
        raise ZeroDivisionError

    ticker = make_ticker(store, run)
    await ticker.carry_out(claimed(ticker))
    row = cause(store, posted)
    assert row.status is CauseStatus.FAILED
    assert row.outcome is not None
    assert row.outcome["error"].startswith("unexpected ZeroDivisionError (error ")


async def test_a_stop_cancels_the_run_and_keeps_what_it_returns(store: Database) -> None:
    """L18: the run hears the cancel, may still say what it has, and its ending is written."""
    posted = post_cause(store)
    begun, stop = asyncio.Event(), asyncio.Event()

    async def run(lease: Lease) -> Ended:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return Ended(status=CauseStatus.INTERRUPTED, outcome={"answer": "half"})
        return DONE

    ticker = make_ticker(store, run)
    going = asyncio.ensure_future(ticker.carry_out(claimed(ticker), stop))
    await begun.wait()
    stop.set()
    assert (await going).outcome == {"answer": "half"}
    assert cause(store, posted).status is CauseStatus.INTERRUPTED


async def test_a_cancelled_ticker_writes_the_ending_before_it_leaves(store: Database) -> None:
    posted = post_cause(store)
    begun = asyncio.Event()

    async def run(lease: Lease) -> Ended:
        begun.set()
        await asyncio.Event().wait()
        return DONE

    ticker = make_ticker(store, run)
    going = asyncio.ensure_future(ticker.carry_out(claimed(ticker)))
    await begun.wait()
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    assert cause(store, posted).status is CauseStatus.INTERRUPTED


async def test_a_run_that_lost_its_lease_ends_as_interrupted(store: Database) -> None:
    """L34"""
    posted = post_cause(store)

    async def run(lease: Lease) -> Ended:
        raise LeaseLost("the run of session s1 was taken over")

    ticker = make_ticker(store, run)
    ended = await ticker.carry_out(claimed(ticker))
    assert ended.status is CauseStatus.INTERRUPTED
    assert cause(store, posted).status is CauseStatus.INTERRUPTED


def clock(*readings: float) -> Callable[[], float]:
    left = list(readings)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def test_a_laptop_that_slept_half_a_lease_writes_nothing_more(store: Database) -> None:
    """L34: the holder's own clock stops it even while the database still names it."""
    post_cause(store)
    ticker = make_ticker(store, lambda lease: asyncio.sleep(0, DONE))
    half = LEASE.total_seconds() / 2
    lease = Lease(claimed(ticker), now=lambda: at(0), clock=clock(0.0, half - 1, half + 1))
    with store.effect() as session:
        lease.check(session)
    with store.effect() as session, pytest.raises(LeaseLost, match="was not renewed in time"):
        lease.check(session)


def test_a_renewal_starts_the_holders_clock_anew(store: Database) -> None:
    post_cause(store)
    ticker = make_ticker(store, lambda lease: asyncio.sleep(0, DONE))
    half = LEASE.total_seconds() / 2
    lease = Lease(claimed(ticker), now=lambda: at(20), clock=clock(0.0, 20.0, 20.0, half + 10))
    lease.renew(store)
    with store.effect() as session:
        lease.check(session)


async def test_a_takeover_in_mid_run_ends_the_holder_without_another_word(
    store: Database,
) -> None:
    """L34: the holder's next transaction is refused, and its ending changes nothing."""
    posted = post_cause(store, kind=CauseKind.ANSWER)
    begun, taken = asyncio.Event(), asyncio.Event()

    async def run(lease: Lease) -> Ended:
        begun.set()
        await taken.wait()
        with store.effect() as session:
            lease.check(session)
        return DONE

    ticker = make_ticker(store, run)
    going = asyncio.ensure_future(ticker.carry_out(claimed(ticker)))
    await begun.wait()
    with store.effect() as session:
        late = at(LEASE.total_seconds() + 1)
        mailbox.recover(session, now=late, is_dead=lambda owner: False, had_effect=lambda *_: False)
        assert mailbox.claim(session, owner=THERE, now=late) is not None
    taken.set()
    ended = await going
    assert ended.status is CauseStatus.INTERRUPTED
    assert "was taken over" in str(ended.outcome["error"])
    row = cause(store, posted)
    assert (row.status, row.owner, row.outcome) == (CauseStatus.CLAIMED, THERE, None)
