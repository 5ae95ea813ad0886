"""A model that plays a script: what it answers, turn by turn, and what it was asked."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from bot.models.contract import (
    AssistantMessage,
    Finish,
    ModelError,
    ReasoningDelta,
    Reply,
    Request,
    TextDelta,
    Usage,
)
from tools.contract import ToolCall

SOME_USAGE = Usage(input_tokens=10, output_tokens=5, cached_tokens=0)


@dataclass(frozen=True, kw_only=True)
class Says:
    """One answer. `hangs`: the text streams and then nothing more ever comes."""

    text: str = ""
    calls: Sequence[ToolCall] = ()
    reasoning: str = ""
    finish: Finish = Finish.DONE
    usage: Usage = SOME_USAGE
    error: ModelError | None = None
    hangs: bool = False
    no_reply: bool = False


@dataclass
class ScriptedModel:
    """bot.models.contract.Model with a given script; the last answer repeats for ever."""

    script: Sequence[Says]
    name: str = "scripted"
    context_window: int | None = None
    loopback_only: bool = False
    requests: list[Request] = field(default_factory=list)
    seen: list[list[object]] = field(default_factory=list)
    streaming: asyncio.Event = field(default_factory=asyncio.Event)

    async def respond(
        self, request: Request
    ) -> AsyncGenerator[TextDelta | ReasoningDelta | Reply, None]:
        """The next answer of the script."""
        said = self.script[min(len(self.requests), len(self.script) - 1)]
        self.requests.append(request)
        self.seen.append(list(request.messages))
        if said.text:
            yield TextDelta(text=said.text)
        self.streaming.set()
        if said.hangs:
            await asyncio.Event().wait()
        if said.error is not None:
            raise said.error
        if not said.no_reply:
            message = AssistantMessage(
                text=said.text,
                reasoning=said.reasoning,
                calls=tuple(said.calls),
                producer=self.name,
            )
            yield Reply(message=message, finish=said.finish, usage=said.usage)
