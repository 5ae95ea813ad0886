"""Whether a run that died had an effect, which decides whether it may begin once more."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.service import had_effect
from makers.gate import NOON, SESSION, Bench, call, make_bench, make_journal, make_spec, sender
from outbox.settings import GateSettings, OutboxSettings
from outbox.tables import Draft
from tools.result import ToolResult
from tools.taint import CLEAN
from triggers.tables import Cause


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    settings = GateSettings(outbox=OutboxSettings(tools=("send",)))
    made = make_bench(tmp_path, [sender("send"), make_spec("look")], settings=settings)
    yield made
    made.store.close()


def effect_of(bench: Bench, cause_id: str, **changes: object) -> bool:
    """What is said of that cause, whose row first gets these values."""
    with bench.store.effect() as session:
        cause = session.get(Cause, cause_id)
        assert cause is not None
        for name, value in changes.items():
            setattr(cause, name, value)
        session.flush()
        return had_effect(session, cause)


async def test_a_draft_is_an_effect_of_the_run_that_staged_it_whatever_the_clock_says(
    bench: Bench,
) -> None:
    """O8: the clock was put back after the run was claimed."""
    assert not effect_of(bench, bench.cause_id)
    await bench.one(call("look"))
    assert not effect_of(bench, bench.cause_id)
    await bench.one(call("send"))
    assert len(bench.drafts()) == 1
    assert effect_of(bench, bench.cause_id, claimed_at=NOON + timedelta(hours=1))


async def test_a_draft_of_another_run_of_the_session_is_no_effect_of_this_one(
    bench: Bench,
) -> None:
    await bench.one(call("send"))
    with bench.store.effect() as session:
        cause = session.get(Cause, bench.cause_id)
        draft = session.get(Draft, bench.drafts()[0].id)
        assert cause is not None
        assert draft is not None
        cause.status = cause.status.DONE
        draft.created_at = NOON + timedelta(hours=1)
    journal, other = make_journal(bench.store)
    assert journal.session_id == SESSION
    with journal.record() as session:
        journal.call_finished(session, call("look", "look-2"), ToolResult.ok("seen"), CLEAN)
    assert not effect_of(bench, other)
