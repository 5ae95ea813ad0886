"""`steward run`: one prompt, one answer."""

import argparse
import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.cli.exit_codes import DONE, ERROR, INTERRUPTED, NO_ANSWER, PARKED, REFUSED
from bot.cli.output import dim, plain, print_json, prose, say
from bot.cli.running import add_run_options, run_until_stopped, tell_at_start
from bot.cli.watch import Silent, Watching, footer
from bot.commands.run import RunRequest
from bot.errors import BotError, UsageProblem
from bot.limits import StopCause
from bot.outcome import RunOutcome
from bot.wiring import House, open_house
from outbox.journal import Origin, Span
from tools.errors import ToolsError
from tools.taint import CLEAN
from triggers.errors import TriggersError

CODES = {"answered": DONE, "parked": PARKED, "refused": REFUSED, "error": ERROR}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the words."""
    parser.add_argument("prompt", nargs="*", help="the prompt; piped text comes after it")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    parser.add_argument("--resume", metavar="SESSION", help="go on with a session")
    add_run_options(parser)


def execute(args: argparse.Namespace) -> int:
    """Run it; the answer goes to stdout, everything else to stderr."""
    words = " ".join(args.prompt)
    piped = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()
    if not words.strip() and not piped.strip():
        raise UsageProblem('no prompt; give it as words: steward run "what is new?"')
    spans = [Span(seq=0, origin=Origin.OWNER, text=words)] if words.strip() else []
    if piped.strip():
        spans.append(Span(seq=0, origin=Origin.THIRD_PARTY, text=piped, source="standard input"))
    request = RunRequest(
        spans=spans,
        producer="run",
        piped=bool(piped.strip()),
        agent=args.agent,
        model=args.model,
        resume=args.resume,
        workspace=Path(args.workspace) if args.workspace else None,
    )
    house = open_house()
    tell_at_start(house)
    watching = sys.stdout.isatty() and not args.json
    observer = Watching() if watching else Silent()
    try:
        report = asyncio.run(run_until_stopped(house, request, args, observer))
    except (BotError, TriggersError, ToolsError) as problem:
        if args.json:
            print_json(never_begun(str(problem)))
        raise
    if args.json:
        print_json(report)
    else:
        tell_report(report, observer, house)
    return exit_code(report)


def tell_report(report: Mapping[str, Any], observer: Watching | Silent, house: House) -> None:
    """The answer on stdout (unless it streamed there), the rest and one line of counts on stderr."""
    if isinstance(observer, Watching):
        observer.end_line()
    elif report["answer"]:
        print(prose(report["answer"]))
    if report.get("error"):
        say(f"steward: {plain(report['error'])}")
    for question in report["parked"]:
        say(f'waiting for you: steward questions answer {question} "..."')
    for draft in report["staged"]:
        say(f"waiting for you: steward outbox show {draft}")
    say(dim(footer(report, house.warnings())))


def never_begun(error: str) -> dict[str, Any]:
    """The report of a run that could not begin: no session, nothing counted, and why."""
    outcome = RunOutcome(stop_cause=StopCause.ERROR, error=error)
    return {**outcome.as_json(), "session": None, "taint": CLEAN.flags()}


def exit_code(report: Mapping[str, Any]) -> int:
    """0 answered, 1 error, 3 refused, 4 no answer, 5 parked; a limit with an answer is an answer."""
    stop = report["stop_cause"]
    if stop == "cancelled":
        return INTERRUPTED
    return CODES.get(stop, DONE if report["answer"] and stop != "empty" else NO_ANSWER)
