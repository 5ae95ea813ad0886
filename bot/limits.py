"""Pure. How far a run may go, and which limit it met."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class StopCause(StrEnum):
    """Why a run ended."""

    ANSWERED = "answered"
    REFUSED = "refused"
    EMPTY = "empty"
    PARKED = "parked"
    CANCELLED = "cancelled"
    TURNS = "turns"
    TOKENS = "tokens"
    COST = "cost"
    TIME = "time"
    CALLS = "calls"
    LOOP = "loop"
    TRUNCATED = "truncated"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most a run may use; None is no limit."""

    turns: int
    calls: int | None = 400
    output_tokens: int | None = None
    cost_usd: Decimal | None = None
    wall_seconds: float | None = None


ATTENDED = Limits(turns=40)
UNATTENDED = Limits(turns=60, wall_seconds=1200.0)


@dataclass(slots=True, kw_only=True)
class Spent:
    """What a run has used so far. A cost of None is unknown, which is not zero."""

    turns: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: Decimal | None = Decimal(0)
    wall_seconds: float = 0.0


def limit_met(limits: Limits, spent: Spent) -> StopCause | None:
    """The limit that forbids another turn, if one does."""
    met = (
        (StopCause.TURNS, spent.turns, limits.turns),
        (StopCause.CALLS, spent.calls, limits.calls),
        (StopCause.TOKENS, spent.output_tokens, limits.output_tokens),
        (StopCause.TIME, spent.wall_seconds, limits.wall_seconds),
    )
    for cause, used, allowed in met:
        if allowed is not None and used >= allowed:
            return cause
    if limits.cost_usd is not None and spent.cost_usd is not None:
        return StopCause.COST if spent.cost_usd >= limits.cost_usd else None
    return None


def is_last_turn(limits: Limits, spent: Spent) -> bool:
    """True when the next turn is the last one permitted, and so must be an answer."""
    return spent.turns + 1 >= limits.turns
