"""A process of its own that approves every pending draft of a World, or stages one.

`python -m makers.outbox_process FOLDER NAME WORK [POINT]`: WORK is `approve` or `stage`; it begins
when a line arrives on stdin and prints one JSON document. At the crash point POINT it kills itself.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from makers.outbox import World, keep_note, now
from outbox.drafts import list_page
from outbox.errors import Stale
from outbox.recovery import Verifier
from outbox.states import Decider
from outbox.tables import DraftStatus
from tools.crashpoint import install_hook


async def approve_all(world: World, name: str, *, meets: bool) -> dict[str, Any]:
    """Ids this process sent, and those it was told somebody else had decided.

    With `meets` it says "first" after its first one and goes on when a line arrives.
    """
    sent, lost = [], {}
    with world.store.read() as session:
        drafts = list_page(session, limit=500)
    for draft in drafts:
        try:
            released = await world.releaser.approve(
                draft.id, revision=draft.revision, decider=Decider(by=name, via="process")
            )
        except Stale as stale:
            lost[draft.id] = str(stale)
        else:
            if released.draft.status is DraftStatus.SENT:
                sent.append(draft.id)
                if meets and len(sent) == 1:
                    print("first", flush=True)
                    sys.stdin.readline()
    return {"sent": sent, "lost": lost}


async def recover(world: World) -> dict[str, Any]:
    """What a start finds out by itself."""
    verifier = Verifier(store=world.store, desk=world.desk, note=keep_note, now=now)
    settled = [draft.id for draft in verifier.settle()]
    known = [each.draft.id for each in await verifier.verify(only_due=False)]
    return {"settled": settled, "known": known}


async def work(world: World, name: str, task: str) -> dict[str, Any]:
    """One of the tasks."""
    match task:
        case "approve":
            return await approve_all(world, name, meets=False)
        case "meet":
            return await approve_all(world, name, meets=True)
        case "stage":
            return {"draft": (await world.stage()).draft_id}
        case "recover":
            return await recover(world)
        case _:
            raise ValueError(task)


def main(folder: str, name: str, task: str, point: str = "") -> None:
    """Wait for the word, then work."""

    def maybe_die(reached: str) -> None:
        if reached == point:
            os.kill(os.getpid(), signal.SIGKILL)

    install_hook(maybe_die)
    world = World(Path(folder))
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(asyncio.run(work(world, name, task))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
