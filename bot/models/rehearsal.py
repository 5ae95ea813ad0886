"""Pure. A stand-in for a model: a fixed, deterministic planner that really drives the loop.

Why: steward can be tried, and tested, with no key and no server. Every answer says that no model
was used, and what it drafts is released to this machine only.
"""

import json
import re
from collections.abc import AsyncGenerator

from bot.models.contract import AssistantMessage, Finish, Reply, Request, TextDelta, Usage
from bot.models.rehearsal_briefing import Briefing
from bot.models.rehearsal_chat import chat
from bot.models.rehearsal_steps import Move, Progress, progress
from tools.contract import ToolCall

_BRIEFING = re.compile(r"\b(briefing|brief me|my morning)\b", re.IGNORECASE)


class RehearsalModel:
    """Answers from the request alone: the same request gets the same answer, whenever it is asked."""

    def __init__(self, name: str = "rehearsal", *, context_window: int | None = None) -> None:
        self._name = name
        self._context_window = context_window

    @property
    def name(self) -> str:
        """The entry of [models] it was built from."""
        return self._name

    @property
    def context_window(self) -> int | None:
        """None unless configured: it forgets nothing, however long the conversation."""
        return self._context_window

    @property
    def loopback_only(self) -> bool:
        """True: what it drafts never leaves the machine."""
        return True

    async def respond(self, request: Request) -> AsyncGenerator[TextDelta | Reply, None]:
        """Stream the next move line by line, a Reply last. Uses no tokens, and never fails."""
        now = progress(request)
        move = next_move(now)
        for line in move.text.splitlines(keepends=True):
            yield TextDelta(text=line)
        yield Reply(
            message=AssistantMessage(text=move.text, calls=_calls(move, now), producer=self._name),
            finish=Finish.DONE,
            usage=Usage(input_tokens=0, output_tokens=0, cached_tokens=0, cache_write_tokens=0),
        )


def next_move(now: Progress) -> Move:
    """What a planner without a model does next, from nothing but the conversation so far."""
    return Briefing(now).move() if _BRIEFING.search(now.words) else chat(now)


def _calls(move: Move, now: Progress) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            id=f"rehearsal-{number}",
            name=name,
            arguments=json.dumps(args, ensure_ascii=False, sort_keys=True),
        )
        for number, (name, args) in enumerate(move.calls, start=now.calls_made + 1)
    )
