"""The last question before a delivery can no longer be taken back: may this attempt still do it?

Why: a laptop that slept in mid-conversation wakes with its attempt called lost, perhaps with the
draft given back and sent by somebody else. Its connection may well be alive still. So whoever
delivers asks here right before the point of no return, when nothing has gone out yet.
"""

from collections.abc import Callable
from dataclasses import dataclass

from outbox.attempts import DEADLINE, still_in_flight
from outbox.errors import StoreFailed
from outbox.journal import Store
from outbox.tables import Attempt
from tools.contract import CalledOff

MARGIN_SECONDS = 10.0  # to write the answer down, and because the database counts whole seconds


@dataclass(slots=True, kw_only=True)
class Fence:
    """tools.contract.GoAhead of one attempt. `opened` is what `clock` said before it was opened."""

    store: Store
    attempt: Attempt
    clock: Callable[[], float]
    opened: float
    passed: bool = False

    def __call__(self, *, answer_within_seconds: float) -> None:
        """Nothing, if the attempt is still in flight and an answer would come before its deadline.

        Raises: CalledOff, also where the database cannot be asked.
        """
        try:
            with self.store.read() as session:
                holds = still_in_flight(session, self.attempt)
        except StoreFailed as failure:
            raise CalledOff(f"the outbox could not be asked a last time: {failure}") from failure
        if not holds:
            raise CalledOff("the draft was decided otherwise before the hand-over")
        left = DEADLINE.total_seconds() - MARGIN_SECONDS - (self.clock() - self.opened)
        if left < answer_within_seconds:
            raise CalledOff(
                "so much time passed before the hand-over that the answer could come too late "
                "(the machine slept, or the server was slow)"
            )
        self.passed = True
