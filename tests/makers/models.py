"""Makers for models: requests, an adapter on a scripted server, and what is heard from it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from bot.models.chat_completions import ChatCompletions, ChatSettings
from bot.models.contract import (
    Message,
    Model,
    ModelError,
    ReasoningDelta,
    Reply,
    Request,
    TextDelta,
    ToolMessage,
    ToolSchema,
    UserMessage,
)
from bot.models.transport import new_client
from fakes.openai_picky import Rules
from fakes.openai_script import Scripted
from fakes.openai_server import FakeOpenAI

ANY_SERVER = Rules()
READ_MAIL = ToolSchema(
    name="read_mail",
    description="Read one mail. Do not use it to search.",
    parameters={
        "type": "object",
        "properties": {"id": {"type": "string", "description": "such as <1@example.org>"}},
        "required": ["id"],
    },
)


def make_request(
    *messages: Message | str,
    system: str = "Help.",
    tools: Sequence[ToolSchema] = (READ_MAIL,),
    max_output_tokens: int | None = None,
) -> Request:
    """A request; a plain string is what a user says."""
    return Request(
        system=system,
        messages=[
            UserMessage(text=message) if isinstance(message, str) else message
            for message in messages or ("Hello?",)
        ],
        tools=tools,
        max_output_tokens=max_output_tokens,
    )


def results_for(reply: Reply, text: str = "done") -> list[Message]:
    """The answer as history, followed by a result for each of its calls."""
    results = [ToolMessage(call_id=call.id, text=text) for call in reply.message.calls]
    return [reply.message, *results]


@dataclass(slots=True, kw_only=True)
class Heard:
    """What a model streamed for one request."""

    pieces: list[TextDelta | ReasoningDelta] = field(default_factory=list)
    last: Reply | None = None
    error: ModelError | None = None

    @property
    def reply(self) -> Reply:
        assert self.last is not None, f"no reply: {self.error}"
        return self.last

    @property
    def failure(self) -> ModelError:
        assert self.error is not None, f"no failure: {self.last}"
        return self.error

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces if isinstance(piece, TextDelta))

    @property
    def reasoning(self) -> str:
        return "".join(piece.text for piece in self.pieces if isinstance(piece, ReasoningDelta))


async def hear(model: Model, request: Request | None = None) -> Heard:
    """Everything a model streams for one request; nothing may follow the Reply."""
    heard = Heard()
    try:
        async for piece in model.respond(request or make_request()):
            assert heard.last is None, "something came after the Reply"
            if isinstance(piece, Reply):
                heard.last = piece
            else:
                heard.pieces.append(piece)
    except ModelError as error:
        heard.error = error
    return heard


@dataclass(slots=True, kw_only=True)
class Talk:
    """A scripted server and a model that asks it; `waits` are the seconds it would have slept."""

    server: FakeOpenAI
    model: ChatCompletions
    waits: list[float]

    async def hear(self, *messages: Message | str, **request: Any) -> Heard:
        """What the model answers to these messages."""
        return await hear(self.model, make_request(*messages, **request))


@asynccontextmanager
async def talking(
    *turns: Scripted, rules: Rules = ANY_SERVER, drop_reused: int = 0, **settings: Any
) -> AsyncIterator[Talk]:
    """A model on a server that plays these turns; settings are fields of ChatSettings."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async with FakeOpenAI(turns, rules=rules) as server, new_client() as client:
        server.drop_reused = drop_reused
        given = {"name": "local", "model": "scripted", "base_url": server.base_url}
        model = ChatCompletions(
            ChatSettings(**(given | settings)), client, sleep=sleep, random=Random(1)
        )
        yield Talk(server=server, model=model, waits=waits)
