"""Local model servers are seen, named and not used; whatever else answers on a port is ignored."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bot.tour.servers import seen_servers


@asynccontextmanager
async def _server(answer: bytes, *, silent: bool = False) -> AsyncIterator[int]:
    asked: set[asyncio.Task] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        asked.add(task)
        try:
            await reader.readuntil(b"\r\n\r\n")
            if silent:
                await reader.read()
            writer.write(answer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
    await asyncio.gather(*asked)


def _http(body: bytes, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


async def test_a_server_that_lists_models_is_seen_with_the_first_that_can_chat():
    listing = b'{"object":"list","data":[{"id":"nomic-embed-text"},{"id":"qwen3-14b","x":1}]}'
    async with _server(_http(listing)) as port:
        [seen] = await seen_servers(has_openai_key=False, ports=[port])
    assert (seen.base_url, seen.model) == (f"http://127.0.0.1:{port}/v1", "qwen3-14b")
    assert (seen.api_key, seen.leaves_machine) == (None, False)


@pytest.mark.parametrize(
    "answer",
    [
        _http(b"<html>hello</html>"),
        _http(b'{"data":[]}'),
        _http(b'{"data":[{"name":"no id"}]}'),
        _http(b'{"data":[{"id":"bge-embed"}]}'),
        _http(b'{"error":"no"}', "404 Not Found"),
        _http(b"", "302 Found\r\nLocation: http://127.0.0.1:1/"),
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 2_000_000,
    ],
    ids=["page", "empty", "other", "embeddings", "missing", "redirect", "ssh", "hangup", "endless"],
)
async def test_whatever_is_no_such_server_is_ignored(answer):
    async with _server(answer) as port:
        assert await seen_servers(has_openai_key=False, ports=[port]) == ()


async def test_a_port_that_never_answers_holds_nobody_up():
    loop = asyncio.get_running_loop()
    async with _server(b"", silent=True) as port:
        began = loop.time()
        assert await seen_servers(has_openai_key=False, ports=[port, port, port]) == ()
        assert loop.time() - began < 3


async def test_a_key_is_offered_as_a_reference_and_said_to_leave_the_machine():
    [seen] = await seen_servers(has_openai_key=True, ports=[])
    assert (seen.api_key, seen.leaves_machine) == ("env:OPENAI_API_KEY", True)
