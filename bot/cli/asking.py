"""Where a person at the terminal is asked something that decides, and what only one may decide.

What was typed before the question stood there answers nothing, and what a paste left behind its
first line answers nothing that is asked later. Plain Enter and the end of input are no.
"""

import asyncio
import os
import sys
import termios

from bot.errors import UsageProblem

LINE_BYTES = 65_536  # more than a terminal holds of one line

YES_WORDS = ("y", "yes")


def is_present() -> bool:
    """True where a person sits at this terminal and can be asked."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def needs_owner(what: str, *, scripts: bool, piped: bool = False) -> None:
    """Nothing happens at a terminal, or where `[outbox] scripts` lets programs decide.

    `piped`: standard input carries the content, and somebody at a terminal may have filled it.

    Raises: UsageProblem.
    """
    if scripts or is_present() or (piped and sys.stderr.isatty()):
        return
    raise UsageProblem(f"{what} needs a terminal, unless [outbox] scripts = true is configured")


def ask_line(question: str) -> str | None:
    """The line typed after the question was printed, as typed; None at the end of input."""
    _print_alone(question)
    return _line(os.read(sys.stdin.fileno(), LINE_BYTES))


def ask_yes(question: str) -> bool:
    """True for a clear yes only."""
    return is_yes(ask_line(question))


async def ask_line_meanwhile(question: str) -> str | None:
    """As `ask_line`, while other tasks go on; a cancel takes the question back.

    Why no thread: one that waits for the terminal cannot be cancelled, and here it would stop the
    lease.
    """
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[bytes] = loop.create_future()
    terminal = sys.stdin.fileno()

    def take() -> None:
        if not arrived.done():
            arrived.set_result(os.read(terminal, LINE_BYTES))

    _print_alone(question)
    loop.add_reader(terminal, take)
    try:
        typed = await arrived
    finally:
        loop.remove_reader(terminal)
    return _line(typed)


def is_yes(line: str | None) -> bool:
    """True for `y` or `yes`, in any case; neither Enter nor the end of input is one."""
    return line is not None and line.strip().lower() in YES_WORDS


def _print_alone(question: str) -> None:
    sys.stdout.flush()
    _forget_typed()
    print(question, end="", flush=True, file=sys.stderr)


def _line(typed: bytes) -> str | None:
    """One line; without a line end the input ended before Enter was pressed."""
    _forget_typed()
    if not typed.endswith((b"\n", b"\r")):
        print(file=sys.stderr)
        return None
    return typed.decode(errors="replace").rstrip("\r\n")


def _forget_typed() -> None:
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
