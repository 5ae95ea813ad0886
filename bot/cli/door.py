"""The terminal as a door: what it shows before a yes, and how it reads one line without blocking.

Plain Enter is no, and so is the end of input.
"""

import asyncio
import json
import os
import sys
from collections.abc import Sequence

from bot.cli.output import bold, loud, plain, say
from outbox.approval import YES, Approval, ApprovalRequest, no


async def read_line(prompt: str) -> str | None:
    """One line from the terminal, or None at the end of input; other tasks go on meanwhile.

    Why not `input`: in a thread it cannot be cancelled, and here it would stop the lease.
    """
    print(prompt, end="", flush=True, file=sys.stderr)
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[bytes] = loop.create_future()

    def take() -> None:
        if not arrived.done():
            arrived.set_result(os.read(sys.stdin.fileno(), 65536))

    loop.add_reader(sys.stdin.fileno(), take)
    try:
        line = await arrived
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return line.decode(errors="replace").rstrip("\r\n") if line else None


class TerminalDoor:
    """outbox.approval.Door on a terminal where somebody sits."""

    present = True

    def __init__(self, name: str) -> None:
        self.name = name

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Show the whole call and ask; anything but a clear yes is a no with its reason."""
        say(loud(f"\n{plain(request.tool)} asks to run"))
        for reason in request.reasons:
            say(f"  {plain(reason)}")
        for name, value in request.arguments.items():
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            say(bold(f"{plain(name)}:") + f" {plain(shown)}")
        line = await read_line("Run it? [y/N, or why not] ")
        if line is None:
            return no("the terminal was closed")
        words = line.strip()
        if words.lower() in ("y", "yes"):
            return YES
        return no("" if words.lower() in ("", "n", "no") else words)

    async def ask(self, question: str, options: Sequence[str]) -> str | None:
        """The owner's answer as typed, or the option whose number was typed; None: not now."""
        say(bold("\n" + plain(question)))
        for number, option in enumerate(options, start=1):
            say(f"  {number}. {plain(option)}")
        line = await read_line("Your answer (Enter: later): ")
        words = (line or "").strip()
        if not words:
            return None
        if words.isascii() and words.isdigit() and 1 <= int(words) <= len(options):
            return options[int(words) - 1]
        return words
