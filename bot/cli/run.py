"""`steward run`: one prompt, one answer."""

import argparse
import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.cli.exit_codes import DONE, ERROR, INTERRUPTED, NO_ANSWER, PARKED, REFUSED
from bot.cli.output import dim, plain, print_json, prose, say
from bot.cli.running import piped_text, run_until_stopped, tell_at_start
from bot.cli.watch import Silent, Watching, footer
from bot.commands.run import RunRequest
from bot.errors import BotError, UsageProblem
from bot.limits import StopCause
from bot.outcome import RunOutcome
from bot.wiring import House, open_house
from outbox.errors import OutboxError
from outbox.journal import Origin, Span
from tools.errors import ToolsError
from tools.taint import CLEAN
from triggers.errors import TriggersError

CODES = {
    "answered": DONE,
    "parked": PARKED,
    "refused": REFUSED,
    "empty": NO_ANSWER,
    "cancelled": INTERRUPTED,
}


def execute(args: argparse.Namespace) -> int:
    """Run it; the answer goes to stdout, everything else to stderr."""
    words = " ".join(args.prompt)
    piped = piped_text()
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
    watching = sys.stdout.isatty() and not args.json
    observer = Watching() if watching else Silent()
    try:
        house = open_house()
        tell_at_start(house)
        report = asyncio.run(run_until_stopped(house, request, args, observer))
    except (BotError, OutboxError, TriggersError, ToolsError) as problem:
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
    if "retry_at" in report:
        say(
            f"nothing is lost: 'steward up' tries again at {report['retry_at']}, or go on with: "
            f'steward run --resume {report["session"]} "..."'
        )
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
    """0 answered, 3 refused, 4 no answer, 5 parked; 1 for an error, a cut answer and every limit."""
    return CODES.get(report["stop_cause"], ERROR)
