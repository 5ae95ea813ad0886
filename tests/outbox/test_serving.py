"""`steward up` round by round: it looks without locking, and outlives a database in trouble."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import Session

from bot.cli.watch import Silent
from bot.commands.serve import serve
from bot.limits import UNATTENDED
from bot.service import Posture
from bot.settings import load_settings
from bot.wiring import House
from makers.house import furnish
from makers.outbox import a_draft, now
from outbox.approval import NobodyDoor
from outbox.errors import StoreFailed
from outbox.journal import Store
from outbox.policy import Mode
from outbox.tables import Draft, DraftStatus

HOW = Posture(
    door=NobodyDoor("up"),
    mode=Mode.READ_ONLY,
    limits=UNATTENDED,
    observer=Silent(),
    take_steering=tuple,
)


class Troubled:
    """A Store that fails its first `failures` reads, and counts how often it was written to."""

    def __init__(self, store: Store, failures: int) -> None:
        self._store = store
        self._failures = failures
        self.writes = 0

    def read(self) -> AbstractContextManager[Session]:
        if self._failures:
            self._failures -= 1
            raise StoreFailed("the database is locked by another program")
        return self._store.read()

    def effect(self) -> AbstractContextManager[Session]:
        self.writes += 1
        return self._store.effect()

    record = effect


class TroubledHouse(House):
    """A house whose database is in trouble at first."""

    store: Troubled  # type: ignore[assignment]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[TroubledHouse]:
    root = tmp_path / "home"
    furnish(root)
    (root / "config.toml").write_text("[outbox]\nexpire_days = 2\n", encoding="utf-8")
    made = TroubledHouse(load_settings(root, {}))
    real = House(made.settings).store
    made.store = Troubled(real, 0)
    yield made
    real.close()  # type: ignore[attr-defined]


async def told(
    house: House, enough: Callable[[list[str]], bool], seconds: float = 30.0
) -> list[str]:
    """What is told until it is enough, or the time is over."""
    stop, lines = asyncio.Event(), list[str]()

    def tell(line: str) -> None:
        lines.append(line)
        if enough(lines):
            stop.set()

    serving = asyncio.create_task(serve(house, HOW, stop, tell))
    await asyncio.wait({serving}, timeout=seconds)
    stop.set()
    await serving
    return lines


def pending(house: TroubledHouse, *, days_old: int) -> str:
    draft = a_draft(created_at=now() - timedelta(days=days_old))
    with house.store.effect() as session:
        session.add(draft)
        return draft.id


async def test_a_round_that_fails_is_told_and_the_next_one_goes_on(house: TroubledHouse) -> None:
    """R1, R2: a locked database for a moment is no reason to go down."""
    old = pending(house, days_old=3)
    house.store = Troubled(house.store, failures=1)
    lines = await told(house, lambda lines: "expired" in lines[-1])
    assert lines == [
        "the database is locked by another program; steward stays up, and tries again in 2 seconds",
        "1 drafts expired",
    ]
    with house.store.read() as session:
        draft = session.get(Draft, old)
        assert draft is not None
        assert draft.status is DraftStatus.EXPIRED


async def test_while_nothing_is_due_nobody_is_locked_out(house: TroubledHouse) -> None:
    """R1"""
    pending(house, days_old=1)
    house.store.writes = 0
    assert await told(house, lambda _: True, seconds=0.3) == []
    assert house.store.writes == 0
