"""`steward up`: everything that is configured, in one process, until it is told to stop."""

import argparse
import asyncio

from bot.cli.exit_codes import DONE
from bot.cli.output import plain, say
from bot.cli.running import posture, stoppable, tell_at_start
from bot.cli.watch import Silent
from bot.commands.serve import serve
from bot.wiring import open_house
from outbox.approval import NobodyDoor


def execute(args: argparse.Namespace) -> int:
    """Serve until SIGTERM or Ctrl-C: the run in flight is finished; the second signal leaves at once."""
    del args
    house = open_house()
    tell_at_start(house)
    say("steward is up: it runs answers and rejections that wait, and verifies uncertain drafts.")
    how = posture(NobodyDoor("up"), Silent(), read_only=True, model=None)

    async def work(stop: asyncio.Event) -> dict[str, object]:
        await serve(house, how, stop, lambda line: say(plain(line)))
        return {}

    asyncio.run(stoppable(work))
    say("steward is down")
    return DONE
