"""One HTTP/1.1 connection of a scripted server, spoken by hand so that it can break anywhere."""

import asyncio
import json
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

MAX_HEAD_BYTES = 64 * 1024

_MAX_BODY_BYTES = 256 * 1024 * 1024
_NO_HEADERS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request, its header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class HttpWire:
    """One connection: reads requests, writes bodies in chunks, and can break in any way."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def request(self) -> HttpRequest | None:
        """The next request, None when the client has gone."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        headers = {}
        for line in filter(None, lines):
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        size = int(headers.get("content-length", "0"))
        assert size <= _MAX_BODY_BYTES
        return HttpRequest(
            method=method, path=path, headers=headers, body=await self._reader.readexactly(size)
        )

    async def json(self, status: int, value: Any, headers: Mapping[str, str] = _NO_HEADERS) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        lines = [f"HTTP/1.1 {status} Scripted", "content-type: application/json"]
        lines += [f"{name}: {text}" for name, text in headers.items()]
        lines.append(f"content-length: {len(body)}")
        self._writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await self._writer.drain()

    async def begin_stream(self) -> None:
        self._writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        await self._writer.drain()

    async def piece(self, data: bytes) -> None:
        if data:
            self._writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            await self._writer.drain()

    async def end_stream(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def gone(self) -> None:
        """Wait until the client hangs up."""
        await self._reader.read()

    async def close(self, how: str = "close") -> None:
        if how == "reset":
            raw = self._writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._writer.transport.abort()
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()
