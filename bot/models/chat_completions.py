"""Any server that speaks chat completions: llama.cpp, Ollama, vLLM, OpenRouter, OpenAI, others."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from random import Random
from urllib.parse import urlsplit

import httpx

from bot.models.accumulate import Assembly
from bot.models.contract import (
    AssistantMessage,
    FailureClass,
    Finish,
    ModelError,
    ReasoningDelta,
    Reply,
    Request,
    TextDelta,
)
from bot.models.exchange import Exchange, Failed, Post
from bot.models.quirks import Quirks, usual_quirks
from bot.models.refusals import Asked
from bot.models.retry import Attempts, Failure
from bot.models.symptoms import warning
from bot.models.wire import Encoder

Piece = TextDelta | ReasoningDelta | Reply

_UNUSABLE_KEY = Failure(
    failure=FailureClass.AUTH,
    what="the key holds characters that no key has, such as a line break",
    advice="store it again, then run `steward doctor`",
)
_UNUSABLE_ADDRESS = Failure(
    failure=FailureClass.INVALID,
    what="base_url is no address of an HTTP server",
    advice="correct base_url, such as http://127.0.0.1:8080/v1, then run `steward doctor`",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """One entry of [models] with kind = "openai".

    `quirks`: None starts from what the host is known for; what a refusal teaches is added to it.
    """

    name: str
    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    context_window: int | None = None
    max_output_tokens: int | None = None
    read_timeout_seconds: float = 600.0
    quirks: Quirks | None = None


class ChatCompletions:
    """A Model behind an HTTP address. One instance serves every conversation at once."""

    def __init__(
        self,
        settings: ChatSettings,
        client: httpx.AsyncClient,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Random | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._settings = replace(settings, api_key=(settings.api_key or "").strip() or None)
        self._client = client
        self._sleep = sleep
        self._random = random or Random()  # noqa: S311 - spreads tries, names calls, guards nothing
        self._now = now
        self._shown_url, host = _address(settings.base_url)
        self._encoder = self._new_encoder(settings.quirks or usual_quirks(host))

    @property
    def name(self) -> str:
        """The entry of [models] it was built from."""
        return self._settings.name

    @property
    def context_window(self) -> int | None:
        """Tokens, or None when nobody knows."""
        return self._settings.context_window

    @property
    def loopback_only(self) -> bool:
        """False: a model answers here, and its drafts may go out once they are approved."""
        return False

    async def respond(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Stream one answer, a Reply last.

        A request that failed before any of its answer came is tried again; after that it never is:
        a cut is then a truncated Reply, and an error is a ModelError with `partial`.

        Raises: ModelError.
        """
        attempts = Attempts(self._random)
        encoder = self._encoder
        refused = {encoder.quirks}
        while True:
            answer = Assembly(producer=self.name, think_prefilled=encoder.quirks.think_prefilled)
            try:
                exchange = Exchange(self._client, self._post(request, encoder), answer)
                async with aclosing(exchange.deltas()) as deltas:
                    async for delta in deltas:
                        yield delta
                break
            except Failed as failed:
                if failed.learnt is not None and failed.learnt not in refused:
                    refused.add(failed.learnt)
                    encoder = self._new_encoder(failed.learnt)
                    continue
                wait = None
                if not answer.started:
                    wait = attempts.wait_seconds(failed.failure)
                if wait is None:
                    raise self._error(failed.failure, answer, attempts.made) from None
            await self._sleep(wait)
        self._remember(encoder)
        for piece in self._close(request, exchange):
            yield piece

    def _new_encoder(self, quirks: Quirks) -> Encoder:
        return Encoder(producer=self.name, model=self._settings.model, quirks=quirks)

    def _remember(self, encoder: Encoder) -> None:
        """Keep what was learnt, and the past that is encoded already."""
        if encoder.quirks != self._encoder.quirks:
            self._encoder = encoder

    def _post(self, request: Request, encoder: Encoder) -> Post:
        settings = self._settings
        if not self._shown_url:
            raise Failed(_UNUSABLE_ADDRESS)
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        if settings.api_key is not None:
            if not (settings.api_key.isascii() and settings.api_key.isprintable()):
                raise Failed(_UNUSABLE_KEY)
            headers["authorization"] = f"Bearer {settings.api_key}"
        limit = request.max_output_tokens or settings.max_output_tokens
        return Post(
            url=settings.base_url.rstrip("/") + "/chat/completions",
            headers=headers,
            body=encoder.body(request, limit),
            quirks=encoder.quirks,
            asked=Asked(
                entry=settings.name,
                model=settings.model,
                key_sent=settings.api_key is not None,
                tools_sent=bool(request.tools),
            ),
            read_seconds=settings.read_timeout_seconds,
            context_window=settings.context_window,
            now=self._now(),
        )

    def _close(self, request: Request, exchange: Exchange) -> list[Piece]:
        taken = {
            call.id
            for message in request.messages
            if isinstance(message, AssistantMessage)
            for call in message.calls
        }
        deltas, reply = exchange.answer.close(mint=self._mint, taken=taken, cut=exchange.cut)
        if reply.finish is not Finish.REFUSED:
            told = warning(
                reply,
                prompt_bytes=exchange.prompt_bytes,
                tools={tool.name for tool in request.tools},
            )
            detail = "; ".join(filter(None, (reply.detail, told)))
            reply = replace(reply, detail=detail)
        return [*deltas, reply]

    def _mint(self) -> str:
        return f"call_{self._random.getrandbits(64):016x}"

    def _error(self, failure: Failure, answer: Assembly, tries: int) -> ModelError:
        often = f" ({tries} tries)" if tries > 1 else ""
        where = f" at {self._shown_url}" if self._shown_url else ""
        text = f"model {self.name!r}{where}: {failure.what}{often}; {failure.advice}"
        return ModelError(
            failure.failure,
            _without(text, self._settings.api_key),
            usage=answer.usage,
            partial=answer.text,
        )


def _address(base_url: str) -> tuple[str, str]:
    """What to show of an address (scheme, host, port, never a password), and its host name.

    Both are empty where it is no address of an HTTP server.
    """
    try:
        url = urlsplit(base_url)
        host = url.hostname or ""
        port = f":{url.port}" if url.port else ""
    except ValueError:
        return "", ""
    if url.scheme not in ("http", "https") or not host:
        return "", ""
    shown = f"[{host}]" if ":" in host else host
    return f"{url.scheme}://{shown}{port}", host


def _without(text: str, secret: str | None) -> str:
    """The text without the secret, also where a server's words were cut inside it."""
    if not secret:
        return text
    text = text.replace(secret, "[key]")
    for size in range(len(secret) - 1, 3, -1):
        text = text.replace(secret[:size] + "…", "[key]…")
    return text
