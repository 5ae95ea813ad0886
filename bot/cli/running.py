"""What `run`, `chat` and `questions answer` share: posture, and how Ctrl-C stops a run."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bot.cli.asking import is_present
from bot.cli.door import TerminalDoor
from bot.cli.output import say
from bot.cli.watch import Silent, Watching
from bot.commands.run import RunRequest, run_prompt
from bot.limits import ATTENDED, UNATTENDED
from bot.loop import Observer
from bot.service import Posture
from bot.startup import mistyped_tools
from bot.wiring import House
from outbox.approval import Door, NobodyDoor, YesDoor
from outbox.policy import Mode


def tell_at_start(house: House) -> None:
    """Say what a start must not hide: names that match nothing, and sessions that were cut off.

    What dead processes left behind is mended here. Raises: ConfigProblem for a route to nothing
    where the owner wants that to be an error.
    """
    for name in house.routed_to_nothing():
        say(f"warning: [outbox] names {name}, which matches no tool")
    for problem in mistyped_tools(house.settings, house.registry.names):
        say(f"warning: {problem}")
    unbuilt = len(house.settings.not_built)
    if unbuilt:
        settings = "1 setting has" if unbuilt == 1 else f"{unbuilt} settings have"
        say(f"warning: {settings} no effect yet; 'steward config check' lists what is not built")
    for cause in house.recover():
        say(
            f"session {cause.session_id} was interrupted; go on with: "
            f'steward run --resume {cause.session_id} "..."'
        )


def piped_text() -> str:
    """What was piped into the command, "" at a terminal; bytes that are no UTF-8 become U+FFFD."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    raw = getattr(sys.stdin, "buffer", None)
    return sys.stdin.read() if raw is None else raw.read().decode("utf-8", "replace")


def terminal_door(name: str, *, yes: bool = False, present: bool | None = None) -> Door:
    """The door of this terminal, or one behind which nobody stands."""
    someone = is_present() if present is None else present
    door: Door = TerminalDoor(name) if someone else NobodyDoor(name)
    return YesDoor(door) if yes else door


def posture(door: Door, observer: Observer, *, read_only: bool, model: str | None) -> Posture:
    """How a run from this terminal stands towards its owner."""
    return Posture(
        door=door,
        mode=Mode.READ_ONLY if read_only else Mode.NORMAL,
        limits=ATTENDED if door.present else UNATTENDED,
        observer=observer,
        take_steering=tuple,
        model=model,
    )


async def run_until_stopped(
    house: House, request: RunRequest, args: argparse.Namespace, observer: Watching | Silent
) -> Mapping[str, Any]:
    """Run the prompt; the first Ctrl-C or SIGTERM stops it with what it has, the second at once."""
    door = terminal_door(request.producer, yes=args.yes)
    how = posture(door, observer, read_only=args.read_only, model=args.model)
    return await stoppable(lambda stop: run_prompt(house, request, how, stop), observer)


async def stoppable(
    work: Callable[[asyncio.Event], Awaitable[Mapping[str, Any]]],
    observer: Watching | Silent | None = None,
) -> Mapping[str, Any]:
    """Do the work with an event that the first Ctrl-C or SIGTERM sets; the second ends the process.

    Whoever watches is told meanwhile that it still goes on.
    """
    stop = asyncio.Event()
    watched = observer if isinstance(observer, Watching) else None
    pulse = None if watched is None else asyncio.ensure_future(watched.pulse())
    try:
        with _signals_set(stop):
            return await work(stop)
    finally:
        if pulse is not None:
            pulse.cancel()


@contextmanager
def _signals_set(stop: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def on_signal(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()
        print("\nstopping; once more to leave at once", file=sys.stderr)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal, number)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
