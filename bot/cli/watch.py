"""What a person at the terminal sees while a run goes: the answer as it streams, the calls beside it."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bot.cli.output import dim, loud, plain, say
from outbox.gate import CallOutcome
from tools.contract import ToolCall

SHOWN_OF_ARGUMENTS = 100


class Silent:
    """Watches nothing, for programs."""

    def text(self, delta: str) -> None:
        """Nothing."""

    def calls(self, calls: Sequence[ToolCall]) -> None:
        """Nothing."""

    def outcome(self, outcome: CallOutcome) -> None:
        """Nothing."""


class Watching:
    """Prints the answer to stdout as it comes, and what is called to stderr."""

    def __init__(self) -> None:
        self._in_line = False

    def text(self, delta: str) -> None:
        """A piece of the answer."""
        shown = plain(delta)
        sys.stdout.write(shown)
        sys.stdout.flush()
        self._in_line = not shown.endswith("\n")

    def calls(self, calls: Sequence[ToolCall]) -> None:
        """One dim line a call."""
        self.end_line()
        for call in calls:
            arguments = plain(" ".join(call.arguments.split()))
            if len(arguments) > SHOWN_OF_ARGUMENTS:
                arguments = arguments[:SHOWN_OF_ARGUMENTS] + "…"
            say(dim(f"→ {plain(call.name)} {arguments}"))

    def outcome(self, outcome: CallOutcome) -> None:
        """Only what did not simply work."""
        if outcome.draft_id is not None:
            say(dim(f"  staged as draft {outcome.draft_id}; nothing was sent"))
        elif outcome.refusal is not None:
            say(loud(f"  {outcome.call.name} refused ({outcome.refusal.value})"))
        elif outcome.result.is_error:
            first = plain(outcome.result.text).strip().partition("\n")[0]
            say(dim(f"  {outcome.call.name}: {first}"))

    def end_line(self) -> None:
        """The next thing printed stands on a line of its own."""
        if self._in_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._in_line = False


def footer(report: Mapping[str, Any], warnings: Sequence[str] = ()) -> str:
    """One line about the run that ended: turns, tokens, cost, and whatever the owner must know."""
    parts = [f"session {report['session']}", _counted(report["turns"], "turn")]
    usage = report["usage"]
    parts.append(f"{usage['input_tokens']}+{usage['output_tokens']} tokens")
    cost = report["cost_usd"]
    parts.append("cost unknown" if cost is None else f"${cost:.4f}")
    told: tuple[tuple[str, Callable[[Any], str]], ...] = (
        ("staged", lambda ids: f"{_counted(len(ids), 'draft')} staged"),
        ("parked", lambda ids: f"{_counted(len(ids), 'question')} waiting"),
        ("refusals", lambda by: "refused: " + ", ".join(f"{n} {c}" for c, n in by.items())),
        ("tool_errors", lambda n: f"{_counted(n, 'failed call')}"),
    )
    parts += [tell(report[key]) for key, tell in told if report[key]]
    if report["stop_cause"] not in ("answered", "parked"):
        parts.append(f"ended: {report['stop_cause']}")
    if report["ended_on_failed_call"]:
        parts.append("its last call had failed")
    return " · ".join([*parts, *warnings])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
