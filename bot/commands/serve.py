"""Run whatever waits and names no process: answers given elsewhere, rejections, drafts to verify."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from bot.commands.outbox import expire_drafts, settle_and_verify
from bot.service import Posture
from bot.wiring import House
from outbox.clock import seconds_awake_or_asleep
from outbox.errors import OutboxError
from triggers.ticker import Ticker

POLL_SECONDS = 1.0
EXPIRE_SECONDS = 60.0
BACKOFF_AT_MOST_SECONDS = 60.0

log = logging.getLogger("steward.serve")
Tell = Callable[[str], None]


async def serve(house: House, posture: Posture, stop: asyncio.Event, tell: Tell) -> None:
    """Claim and carry out causes until `stop` is set; the run in flight is finished first.

    `tell` is given one line for each thing that happened. A round that fails (a locked database, a
    full disk) is told, and the next one waits a little longer.
    """
    rounds = _Rounds(house=house, ticker=house.ticker(posture), tell=tell)
    failures = 0
    while not stop.is_set():
        pause = POLL_SECONDS
        try:
            if await rounds.round():
                pause = 0.0
            failures = 0
        except OutboxError as trouble:
            failures += 1
            pause = min(POLL_SECONDS * 2**failures, BACKOFF_AT_MOST_SECONDS)
            log.warning("a round failed: %s", trouble, extra={"action": "round-failed"})
            tell(f"{trouble}; steward stays up, and tries again in {pause:g} seconds")
        if pause:
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), pause)


@dataclass(slots=True, kw_only=True)
class _Rounds:
    house: House
    ticker: Ticker
    tell: Tell
    expired_at: float | None = None

    async def round(self) -> bool:
        """Whatever is due now; True if a cause was carried out. Raises: OutboxError."""
        for cause in self.ticker.recover():
            self.tell(
                f"session {cause.session_id}: its {cause.kind} was interrupted; nothing reran"
            )
        for line in await settle_and_verify(self.house):
            self.tell(line)
        self._expire()
        claim = self.ticker.claim()
        if claim is None:
            return False
        self.tell(f"session {claim.session_id}: {claim.kind} claimed")
        ended = await self.ticker.carry_out(claim)
        self.tell(f"session {claim.session_id}: {ended.outcome.get('stop_cause', ended.status)}")
        return True

    def _expire(self) -> None:
        at = seconds_awake_or_asleep()
        if self.expired_at is not None and at - self.expired_at < EXPIRE_SECONDS:
            return
        self.expired_at = at
        expired = expire_drafts(self.house)
        if expired:
            self.tell(f"{expired} drafts expired")
