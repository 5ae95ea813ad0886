"""Run whatever waits and names no process: answers given elsewhere, rejections, drafts to verify."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from bot.commands.outbox import settle_and_verify
from bot.service import Posture
from bot.wiring import House

POLL_SECONDS = 1.0


async def serve(
    house: House, posture: Posture, stop: asyncio.Event, tell: Callable[[str], None]
) -> None:
    """Claim and carry out causes until `stop` is set; the run in flight is finished first.

    `tell` is given one line for each thing that happened.
    """
    ticker = house.ticker(posture)
    while not stop.is_set():
        for cause in ticker.recover():
            tell(f"session {cause.session_id}: its {cause.kind} was interrupted; nothing reran")
        for line in await settle_and_verify(house):
            tell(line)
        claim = ticker.claim()
        if claim is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), POLL_SECONDS)
            continue
        tell(f"session {claim.session_id}: {claim.kind} claimed")
        ended = await ticker.carry_out(claim)
        tell(f"session {claim.session_id}: {ended.outcome.get('stop_cause', ended.status)}")
