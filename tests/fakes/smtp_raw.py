"""The faults that no proper server shows: connections that end, or say nothing, at a chosen moment."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable

from fakes.smtp_log import ServerLog

RAW_FAULTS = (
    "drop-connect",
    "greet-421",
    "greet-554",
    "drop-mail",
    "drop-rcpt",
    "drop-data",
    "silent-rcpt",
    "drop-body",
    "drop-after-dot",
    "silent-after-dot",
    "drop-after-250",
    "garbage-after-dot",
)

Connection = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class _Talk:
    """One connection: just enough SMTP to get to the fault."""

    def __init__(
        self, fault: str, log: ServerLog, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._fault = fault
        self._log = log
        self._reader = reader
        self._writer = writer
        self._sender = ""
        self._recipients: list[str] = []

    async def say(self, line: str) -> None:
        self._writer.write(line.encode() + b"\r\n")
        await self._writer.drain()

    async def run(self) -> None:
        self._log.write("connected")
        if self._fault == "drop-connect":
            return
        if self._fault.startswith("greet-"):
            code = self._fault.removeprefix("greet-")
            await self.say(f"{code} fake.example not now")
            return
        await self.say("220 fake.example ready")
        while line := await self._reader.readline():
            verb = line[:4].upper().decode("latin-1").strip()
            if self._fault == f"drop-{verb.lower()}":
                return
            if self._fault == f"silent-{verb.lower()}":
                self._log.write("silent")
                await self._reader.read()
                return
            if verb == "DATA":
                await self.say("354 go on")
                await self.data()
                return
            await self.say(self._answer(verb, line.decode("latin-1")))
            if verb == "QUIT":
                return

    def _answer(self, verb: str, line: str) -> str:
        match verb:
            case "MAIL":
                self._sender = line.partition("<")[2].partition(">")[0]
                self._recipients = []
            case "RCPT":
                self._recipients.append(line.partition("<")[2].partition(">")[0])
            case "RSET":
                self._log.write("rset")
            case "QUIT":
                return "221 bye"
        return "250 ok"

    async def data(self) -> None:
        if self._fault == "drop-body":
            await self._reader.read(1_000)
            self._reset()
            return
        lines: list[bytes] = []
        while (line := await self._reader.readline()) != b".\r\n":
            if not line:
                return  # the client went away before the dot: a server discards what it has
            lines.append(line[1:] if line.startswith(b".") else line)
        self._log.accept(self._sender, self._recipients, b"".join(lines))
        match self._fault:
            case "silent-after-dot":
                await self._reader.read()
            case "garbage-after-dot":
                await self.say("well, perhaps")
            case "drop-after-250":
                await self.say("250 queued")

    def _reset(self) -> None:
        """End with RST, as a machine does that was switched off in mid-sentence."""
        connection = self._writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def raw_connection(fault: str, log: ServerLog) -> Connection:
    """The handler of one connection."""

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _Talk(fault, log, reader, writer).run()
        except (ConnectionError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    return connection
