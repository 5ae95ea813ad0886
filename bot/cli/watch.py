"""What a person at the terminal sees while a run goes: the answer as it streams, the calls beside it."""

import asyncio
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bot.cli.output import dim, loud, plain, say, terminal_width
from bot.cli.wrap import Wrapper, cut
from outbox.gate import CallOutcome
from outbox.policy import RefusalCause
from tools.contract import ToolCall

PLAIN_WIDTH = 100
PULSE_SECONDS = 1.0
QUIET_SECONDS = 2.0
WAITING_COLUMNS = 45
REFUSED_BY = {
    RefusalCause.POLICY: "by steward's policy",
    RefusalCause.HOOK: "by a hook of yours",
    RefusalCause.RULE: "by a rule of yours",
    RefusalCause.OWNER: "by you",
    RefusalCause.UNANSWERED: "nobody answered",
}


class Silent:
    """Watches nothing, for programs."""

    def asked(self) -> None:
        """Nothing."""

    def text(self, delta: str) -> None:
        """Nothing."""

    def calls(self, calls: Sequence[ToolCall]) -> None:
        """Nothing."""

    def outcome(self, outcome: CallOutcome) -> None:
        """Nothing."""


class Watching:
    """Prints the answer to stdout as it comes, and what is called to stderr."""

    def __init__(self, width: int | None = None) -> None:
        self._width = width or terminal_width() or PLAIN_WIDTH
        self._wrapper = Wrapper(self._width)
        self._in_line = False
        self._waiting_shown = False
        self._asked_at: float | None = None

    def asked(self) -> None:
        """From now on the owner may wonder whether anything happens."""
        self._asked_at = time.monotonic()

    def text(self, delta: str) -> None:
        """A piece of the answer."""
        self._write(self._wrapper.feed(plain(delta)))

    def calls(self, calls: Sequence[ToolCall]) -> None:
        """One dim line a call."""
        self.end_line()
        for call in calls:
            arguments = plain(" ".join(call.arguments.split()))
            say(dim(cut(f"→ {plain(call.name)} {arguments}", self._width)))

    def outcome(self, outcome: CallOutcome) -> None:
        """Only what did not simply work."""
        self.end_line()
        if outcome.draft_id is not None:
            say(dim(f"  staged as draft {outcome.draft_id}; nothing was sent"))
        elif outcome.refusal is not None:
            say(loud(f"  {plain(outcome.call.name)} was refused ({REFUSED_BY[outcome.refusal]})"))
        elif outcome.result.is_error:
            first = plain(outcome.result.text).strip().partition("\n")[0]
            say(dim(f"  {plain(outcome.call.name)}: {first}"))

    def end_line(self) -> None:
        """The next thing printed stands on a line of its own."""
        self._write(self._wrapper.rest())
        self._wrapper = Wrapper(self._width)
        self._answer_came()
        if self._in_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._in_line = False

    async def pulse(self) -> None:
        """While nothing comes, one line that says for how long; it erases itself. Ends by cancel."""
        if not sys.stderr.isatty():
            return
        while True:
            await asyncio.sleep(PULSE_SECONDS)
            quiet = 0.0 if self._asked_at is None else time.monotonic() - self._asked_at
            if quiet >= QUIET_SECONDS:
                sys.stderr.write(f"\r… waiting for the answer, {quiet:.0f} s ")
                sys.stderr.flush()
                self._waiting_shown = True

    def _write(self, shown: str) -> None:
        if not shown:
            return
        self._answer_came()
        sys.stdout.write(shown)
        sys.stdout.flush()
        self._in_line = not shown.endswith("\n")

    def _answer_came(self) -> None:
        self._asked_at = None
        if self._waiting_shown:
            sys.stderr.write("\r" + " " * min(self._width - 1, WAITING_COLUMNS) + "\r")
            sys.stderr.flush()
            self._waiting_shown = False


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
        (
            "refusals",
            lambda by: (
                "refused: "
                + ", ".join(f"{n} ({REFUSED_BY[RefusalCause(c)]})" for c, n in by.items())
            ),
        ),
        ("tool_errors", lambda n: f"{_counted(n, 'failed call')}"),
    )
    parts += [tell(report[key]) for key, tell in told if report[key]]
    if report["stop_cause"] not in ("answered", "parked"):
        parts.append(f"ended: {report['stop_cause']}")
    if report["ended_on_failed_call"]:
        parts.append("the last call had failed")
    return " · ".join([*parts, *warnings])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
