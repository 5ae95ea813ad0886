"""The holder's side of a claim: it renews, and it stops by its own clock when it could not.

Why: a laptop that slept in mid-run wakes with its lease taken by another process. The database
would refuse its writes, but a network effect asks no database, so the holder also watches a clock
that counts sleep.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime

from sqlmodel import Session

from outbox.clock import seconds_awake_or_asleep
from outbox.errors import LeaseLost, StoreFailed
from outbox.journal import Store
from triggers import mailbox
from triggers.mailbox import LEASE, Claim

log = logging.getLogger("steward.lease")


class Lease:
    """One claim while its run lives."""

    def __init__(
        self,
        claim: Claim,
        *,
        now: Callable[[], datetime],
        clock: Callable[[], float] = seconds_awake_or_asleep,
    ) -> None:
        self.claim = claim
        self._now = now
        self._clock = clock
        self._renewed = clock()

    def check(self, session: Session) -> None:
        """Prove in this transaction that the run is still ours. Raises: LeaseLost."""
        self.check_clock()
        mailbox.check_fence(session, self.claim)

    def check_clock(self) -> None:
        """Raises: LeaseLost when half a lease passed without a renewal."""
        if self._clock() - self._renewed > LEASE.total_seconds() / 2:
            raise LeaseLost(
                f"the run of session {self.claim.session_id} was not renewed in time "
                "(the machine slept, or the database was away); it stopped"
            )

    def renew(self, store: Store) -> None:
        """Extend the lease. Raises: LeaseLost when it was taken, or half of it passed unrenewed."""
        self.check_clock()
        before = self._clock()
        with store.effect() as session:
            if not mailbox.renew(session, self.claim, self._now()):
                raise LeaseLost(f"the run of session {self.claim.session_id} was taken over")
        self._renewed = before

    async def keep(self, store: Store) -> None:
        """Renew at every sixth of the lease until cancelled.

        A database that fails is tried again while the holder's clock allows it.

        Raises: LeaseLost.
        """
        while True:
            await asyncio.sleep(LEASE.total_seconds() / 6)
            try:
                self.renew(store)
            except StoreFailed as failure:
                log.warning("a lease was not renewed: %s", failure, extra={"action": "lease"})
