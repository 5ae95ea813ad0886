"""Which model servers the tour could use instead of the rehearsal: seen, never used unasked."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import httpx
from pydantic import BaseModel, ValidationError

USUAL_PORTS = (8080, 11434, 1234)  # llama.cpp, Ollama, LM Studio
OPENAI_BASE_URL = "https://api.openai.com/v1"
# Chat completions refuses function tools on the newest models; this one takes them.
OPENAI_MODEL = "gpt-4.1-mini"

_PATIENCE_SECONDS = 0.8
_ANSWER_LIMIT_BYTES = 256 * 1024
_CANNOT_CHAT = ("embed", "rerank", "whisper", "tts", "clip")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServer:
    """A server that speaks chat completions. `api_key` is a reference such as `env:NAME`."""

    base_url: str
    model: str
    api_key: str | None = None
    leaves_machine: bool = False

    def __str__(self) -> str:
        return f"{self.model} at {self.base_url}"


class _Listed(BaseModel):
    id: str


class _Listing(BaseModel):
    data: list[_Listed]


async def seen_servers(
    *, has_openai_key: bool, ports: Sequence[int] = USUAL_PORTS
) -> tuple[ModelServer, ...]:
    """The servers on these loopback ports that list a model that can chat, then OpenAI if a key is set.

    Each port is given 0.8 s, all at the same time; nothing off the machine is contacted.
    """
    timeout = httpx.Timeout(_PATIENCE_SECONDS)
    async with httpx.AsyncClient(timeout=timeout, trust_env=False) as client:
        answers = await asyncio.gather(*(_ask(client, port) for port in ports))
    seen = [server for server in answers if server is not None]
    if has_openai_key:
        seen.append(
            ModelServer(
                base_url=OPENAI_BASE_URL,
                model=OPENAI_MODEL,
                api_key="env:OPENAI_API_KEY",
                leaves_machine=True,
            )
        )
    return tuple(seen)


async def _ask(client: httpx.AsyncClient, port: int) -> ModelServer | None:
    base_url = f"http://127.0.0.1:{port}/v1"
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            listing = _Listing.model_validate_json(await _body(client, f"{base_url}/models"))
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, ValidationError):
        return None  # another kind of server, or none
    for listed in listing.data:
        if not any(word in listed.id.casefold() for word in _CANNOT_CHAT):
            return ModelServer(base_url=base_url, model=listed.id)
    return None


async def _body(client: httpx.AsyncClient, url: str) -> bytes:
    """The body of a 200, cut at 256 KiB so that an endless stream is no listing."""
    body = bytearray()
    async with client.stream("GET", url) as response:
        response.raise_for_status()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _ANSWER_LIMIT_BYTES:
                break
    return bytes(body)
