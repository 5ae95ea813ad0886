"""Pure. What a run came to, and how it is told: one report for people and for `--json`."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from bot.limits import Spent, StopCause


@dataclass(slots=True, kw_only=True)
class RunOutcome:
    """How a run ended and what it did. `answer` is the last text there was, also when cut short."""

    stop_cause: StopCause = StopCause.ANSWERED
    answer: str = ""
    error: str | None = None
    spent: Spent = field(default_factory=Spent)
    staged: list[str] = field(default_factory=list)
    parked: list[str] = field(default_factory=list)
    blocked_sends: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    tool_calls: int = 0
    tool_errors: int = 0
    ended_on_failed_call: bool = False

    def as_json(self) -> dict[str, Any]:
        """The counts as `steward run --json` prints them; tokens nobody counted are null."""
        spent = self.spent
        return {
            "answer": self.answer,
            "stop_cause": self.stop_cause.value,
            "turns": spent.turns,
            "usage": {
                "input_tokens": spent.input_tokens,
                "output_tokens": spent.output_tokens,
                "cached_tokens": spent.cached_tokens,
            },
            "cost_usd": None if spent.cost_usd is None else float(spent.cost_usd),
            "staged": list(self.staged),
            "parked": list(self.parked),
            "blocked_sends": self.blocked_sends,
            "refusals": dict(self.refusals),
            "tool_calls": self.tool_calls,
            "tool_errors": self.tool_errors,
            "ended_on_failed_call": self.ended_on_failed_call,
            **({"error": self.error} if self.error else {}),
        }
