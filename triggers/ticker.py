"""Claims one cause and runs it; the only place from which the loop is started.

The way to run an agent is handed in, so this floor knows no model, no tool and no door.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from outbox.errors import LeaseLost
from outbox.journal import Store
from tools.crashpoint import crash_point
from tools.ids import new_id
from triggers import mailbox
from triggers.lease import Lease
from triggers.mailbox import Claim, HadEffect
from triggers.tables import Cause, CauseStatus

log = logging.getLogger("steward.ticker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How the run of a cause ended, as the cause's row will say it.

    With `retry_at` nothing came of it (no model answered) and the cause is queued again.
    """

    status: CauseStatus
    outcome: Mapping[str, Any]
    retry_at: datetime | None = None


Run = Callable[[Lease], Awaitable[Ended]]
CutShort = Callable[[CauseStatus, str], Ended]  # how a run ends that could not say so itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticker:
    """One process's hand in the mailbox. `owner` is this process, as outbox.process writes it."""

    store: Store
    run: Run
    cut_short: CutShort
    owner: str
    now: Callable[[], datetime]
    is_dead: Callable[[str], bool]
    had_effect: HadEffect

    def recover(self) -> list[Cause]:
        """Mend what dead processes left; gives what is interrupted from now on."""
        with self.store.read() as session:
            if not mailbox.is_held_or_reserved(session):
                return []
        with self.store.effect() as session:
            interrupted = list(
                mailbox.recover(
                    session, now=self.now(), is_dead=self.is_dead, had_effect=self.had_effect
                )
            )
            session.expunge_all()
        return interrupted

    def claim(self, cause_id: str | None = None) -> Claim | None:
        """Claim that cause, or the oldest one that names no process."""
        now = self.now()
        with self.store.read() as session:
            if not mailbox.is_claimable(session, owner=self.owner, now=now, cause_id=cause_id):
                return None
        with self.store.effect() as session:
            claim = mailbox.claim(session, owner=self.owner, now=now, cause_id=cause_id)
        if claim is not None:
            crash_point("cause.claimed")
        return claim

    async def carry_out(self, claim: Claim, stop: asyncio.Event | None = None) -> Ended:
        """Run a claimed cause to its end, renewing the lease beside it.

        Setting `stop` cancels the run, which keeps what it has. A lost lease ends the run as
        `interrupted`, and then nothing more is written. The cause always gets its ending first,
        also when this very task is cancelled.
        """
        lease = Lease(claim, now=self.now)
        running = asyncio.ensure_future(self.run(lease))
        keeping = asyncio.ensure_future(lease.keep(self.store))
        stopping = asyncio.ensure_future((stop or asyncio.Event()).wait())
        try:
            await asyncio.wait({running, keeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not running.done():
                running.cancel()
            ended = _told(await self._ending(running), keeping)
            for beside in (keeping, stopping):
                beside.cancel()
            await asyncio.gather(keeping, stopping, return_exceptions=True)
            self._finish(claim, ended)
        return ended

    async def _ending(self, running: asyncio.Future[Ended]) -> Ended:
        """What the run came to; never raises for what the run did."""
        try:
            return await running
        except asyncio.CancelledError:
            return self.cut_short(CauseStatus.INTERRUPTED, "stopped")
        except LeaseLost as lost:
            return self.cut_short(CauseStatus.INTERRUPTED, str(lost))
        except Exception as bug:
            error_id = new_id(self.now())
            log.exception("a run raised", extra={"action": "run-broke", "error_id": error_id})
            text = f"unexpected {type(bug).__name__} (error {error_id}); the log has the trace"
            return self.cut_short(CauseStatus.FAILED, text)

    def _finish(self, claim: Claim, ended: Ended) -> None:
        crash_point("cause.ending")
        with self.store.effect() as session:
            if ended.retry_at is not None:
                mailbox.postpone(session, claim, ended.retry_at)
            else:
                mailbox.finish(
                    session, claim, status=ended.status, outcome=ended.outcome, now=self.now()
                )
        crash_point("cause.ended")


def _told(ended: Ended, keeping: asyncio.Future[None]) -> Ended:
    """The ending, with the reason where the lease could not be kept."""
    if not keeping.done() or keeping.cancelled():
        return ended
    reason = keeping.exception()
    log.warning("a lease was not kept: %s", reason, extra={"action": "lease-lost"})
    return Ended(status=CauseStatus.INTERRUPTED, outcome={**ended.outcome, "error": str(reason)})
