"""`steward chat`: a conversation in the terminal, turn by turn, on one session."""

import argparse
import asyncio
import sys
from io import TextIOWrapper
from pathlib import Path

from bot.cli.asking import is_present
from bot.cli.exit_codes import DONE
from bot.cli.output import dim, plain, say
from bot.cli.run import tell_report
from bot.cli.running import run_until_stopped, tell_at_start
from bot.cli.watch import Silent, Watching
from bot.commands.run import RunRequest
from bot.errors import BotError
from bot.wiring import House, open_house
from outbox.errors import OutboxError
from outbox.journal import Origin, Span
from triggers.errors import TriggersError

LEAVE = ("/quit", "/exit", "/q")
HELP = "Type and press Enter. /new starts a new session, /help says this, /quit (or Ctrl-D) leaves."
PROMPT = "you> "  # without colour: line editing would count it as columns


def execute(args: argparse.Namespace) -> int:
    """Talk until /quit or the end of input; without a terminal each line is a piped prompt.

    A paste of several lines is not the owner's typing (readline gives it as one input).
    """
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    house = open_house()
    tell_at_start(house)
    if args.resume is None:
        house.model_name(house.agent(args.agent), args.model)
    typed = is_present()
    if typed:
        say(dim(HELP))
    session = _talk(house, args, typed=typed)
    if session is not None:
        say(dim(f"go on with: steward chat --resume {session}"))
    return DONE


def _talk(house: House, args: argparse.Namespace, *, typed: bool) -> str | None:
    """Line after line; gives the session that was talked in last."""
    session: str | None = args.resume
    while (line := _next_line(typed=typed)) is not None:
        words = line.strip()
        if typed and words.startswith("/") and not words.startswith("//"):
            if words in LEAVE:
                break
            session = _obeyed(words, session)
        elif words:
            said = words.removeprefix("/") if words.startswith("//") else words
            session = _answered(house, args, said, session, typed=typed)
    return session


def _obeyed(words: str, session: str | None) -> str | None:
    """Do what a /command says; gives the session to go on with."""
    if words == "/new":
        say(dim("a new session"))
        return None
    known = "" if words == "/help" else f"no command {plain(words)}; begin with // to say it. "
    say(known + HELP)
    return session


def _next_line(*, typed: bool) -> str | None:
    if not typed:
        return None if sys.stdin is None else sys.stdin.readline() or None
    import readline  # noqa: F401 - line editing and history for input()

    try:
        return input(PROMPT)
    except (EOFError, KeyboardInterrupt):
        print(file=sys.stderr)
        return None


def _answered(
    house: House, args: argparse.Namespace, words: str, session: str | None, *, typed: bool
) -> str | None:
    """As `_answer`; what cannot be answered is said, and the talk goes on."""
    try:
        return _answer(house, args, words, session, typed=typed)
    except (BotError, OutboxError, TriggersError) as problem:
        say(f"steward chat: {plain(str(problem))}")
        return session


def _answer(
    house: House, args: argparse.Namespace, words: str, session: str | None, *, typed: bool
) -> str:
    """Run one prompt; gives the session to go on with."""
    if typed and "\n" in words:
        say(dim("several lines at once are taken as pasted: as text that is not yours"))
    own = typed and "\n" not in words
    source = "" if own else "a paste" if typed else "standard input"
    origin = Origin.OWNER if own else Origin.THIRD_PARTY
    request = RunRequest(
        spans=[Span(seq=0, origin=origin, text=words, source=source)],
        producer="chat",
        piped=not typed,
        agent=args.agent if session is None else None,
        model=args.model,
        resume=session,
        workspace=Path(args.workspace) if args.workspace and session is None else None,
    )
    observer = Watching() if typed else Silent()
    report = asyncio.run(run_until_stopped(house, request, args, observer))
    tell_report(report, observer, house)
    return str(report["session"])
