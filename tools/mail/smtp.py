"""One mail over SMTP, step by step, so that what is known afterwards is exactly known.

Why: a lost connection looks the same before and after the final dot, and `send()` of any library
hides which it was. Here the dot is written on its own, after the system took every byte before it:
until then nothing can have been accepted, from then on only the server's answer tells.
"""

import asyncio
import contextlib
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar, cast

import aiosmtplib
from aiosmtplib import SMTPException, SMTPRecipientRefused, SMTPResponseException
from aiosmtplib.protocol import SMTPProtocol

from tools.contract import CalledOff, Delivery, DeliveryOutcome, GoAhead
from tools.crashpoint import crash_point
from tools.mail.settings import SmtpServer, Tls

_LOCAL_NAME = "[127.0.0.1]"  # an address literal: the machine's own name is nobody's business
_QUIT_SECONDS = 5.0
_CHUNK_BYTES = 65_536
_START_INPUT = 354

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Who sends to whom, and the bytes with CRLF line ends."""

    sender: str
    recipients: tuple[str, ...]
    message: bytes


class _NotSent(Exception):  # noqa: N818 - an outcome, not a fault
    """Surely nothing went out; the text is for the owner."""


async def submit(server: SmtpServer, envelope: Envelope, go_ahead: GoAhead) -> Delivery:
    """Hand the mail over once. Never raises for what a server or a network may do.

    SENT: the server took it. FAILED: surely nothing went out (any refused recipient, a 5xx to the
    dot, a `go_ahead` that calls it off, anything before the dot). UNKNOWN: the dot was written and
    no clear answer came.
    """
    conversation = _Conversation(server)
    try:
        await _up_to_the_dot(conversation, envelope, server.before_dot_timeout_seconds)
        go_ahead(answer_within_seconds=server.answer_timeout_seconds)
        return await conversation.end()
    except (_NotSent, CalledOff) as reason:
        return Delivery(
            outcome=DeliveryOutcome.FAILED, detail=f"{server.host}: {reason}; nothing was sent"
        )
    finally:
        conversation.close()


async def _up_to_the_dot(conversation: "_Conversation", envelope: Envelope, seconds: float) -> None:
    """The server has everything but the dot. Raises: _NotSent, also when it took too long."""
    try:
        async with asyncio.timeout(seconds):
            await conversation.open()
            crash_point("smtp.connected")
            await conversation.address(envelope)
            crash_point("smtp.recipients")
            await conversation.send_text(envelope.message)
    except TimeoutError as late:
        raise _NotSent(f"the server was too slow: {seconds:g} seconds were over") from late


class _Conversation:
    """One connection. Every method but `end` raises _NotSent: until then nothing can be out."""

    def __init__(self, server: SmtpServer) -> None:
        self._server = server
        self._client = aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            username=server.user,
            password=server.password,
            use_tls=server.tls is Tls.TLS,
            start_tls=server.tls is Tls.STARTTLS,  # never None: that would fall back to clear text
            cert_bundle=None if server.ca_file is None else str(server.ca_file),
            local_hostname=_LOCAL_NAME,
            timeout=server.step_timeout_seconds,
        )
        self._writer: asyncio.StreamWriter | None = None  # closes the connection when collected

    def close(self) -> None:
        """End the connection, politely or not."""
        self._client.close()

    async def open(self) -> None:
        """Greeting, TLS as configured, login."""
        await _step(self._client.connect(), "connect")

    async def address(self, envelope: Envelope) -> None:
        """MAIL and every RCPT; one refusal resets them all."""
        options = []
        if self._client.supports_extension("size"):
            options.append(f"SIZE={len(envelope.message)}")
        await _step(self._client.mail(envelope.sender, options=options), "MAIL")
        refused: list[str] = []
        for recipient in envelope.recipients:
            try:
                await _step(self._recipient(recipient, refused), f"RCPT {recipient}")
            except _NotSent as reason:
                # Refusals heard so far matter more to the owner than the dropped connection.
                raise _NotSent("; ".join([*refused, str(reason)])) from reason
        if refused:
            with contextlib.suppress(SMTPException, OSError):
                await self._client.rset()
            raise _NotSent("; ".join(refused))

    async def _recipient(self, recipient: str, refused: list[str]) -> None:
        try:
            await self._client.rcpt(recipient)
        except SMTPRecipientRefused as error:
            refused.append(f"{recipient} refused: {error.code} {_one_line(error.message)}")

    async def send_text(self, message: bytes) -> None:
        """DATA, and all bytes but the final dot given to the system."""
        seconds = self._server.step_timeout_seconds
        protocol = self._connected()
        answer = await _step(protocol.execute_command(b"DATA", timeout=seconds), "DATA")
        if answer.code != _START_INPUT:
            raise _NotSent(f"DATA refused: {answer.code} {_one_line(answer.message)}")
        transport = cast("asyncio.WriteTransport", self._client.transport)
        transport.set_write_buffer_limits(high=0)  # drained then means: the system took it
        writer = asyncio.StreamWriter(transport, protocol, None, asyncio.get_running_loop())
        self._writer = writer
        stuffed = dot_stuffed(message)
        for start in range(0, len(stuffed), _CHUNK_BYTES):
            writer.write(stuffed[start : start + _CHUNK_BYTES])
            await _step(asyncio.wait_for(writer.drain(), seconds), "sending the text")
        self._connected()

    def _connected(self) -> SMTPProtocol:
        protocol = self._client.protocol
        if protocol is None or not protocol.is_connected:
            raise _NotSent("the connection was lost")
        return protocol

    async def end(self) -> Delivery:
        """Write the final dot and hear what became of the mail."""
        protocol = self._connected()
        try:
            protocol.write(b".\r\n")
            crash_point("smtp.data")
            answer = await protocol.read_response(timeout=self._server.answer_timeout_seconds)
        except SMTPResponseException as error:
            return self._unknown(f"an answer that is no answer, {_one_line(error.message)}")
        except (SMTPException, OSError) as error:
            return self._unknown(_one_line(str(error)) or type(error).__name__)
        word = f"{answer.code} {_one_line(answer.message)}"
        if 200 <= answer.code < 300:
            crash_point("smtp.accepted")
            await self._quit()
            detail = f"{self._server.host} took it: {word}"
            return Delivery(outcome=DeliveryOutcome.SENT, detail=detail)
        if 500 <= answer.code < 600:
            raise _NotSent(f"the mail was refused: {word}")
        return self._unknown(word)

    def _unknown(self, why: str) -> Delivery:
        detail = f"{self._server.host} had the whole mail and gave no clear answer: {why}"
        return Delivery(outcome=DeliveryOutcome.UNKNOWN, detail=detail)

    async def _quit(self) -> None:
        """A polite end; the mail is accepted whatever comes of it."""
        with contextlib.suppress(SMTPException, OSError):
            await self._client.quit(timeout=_QUIT_SECONDS)


async def _step(action: Awaitable[Answer], name: str) -> Answer:
    """The step's answer. Raises: _NotSent with the server's word for why there is none."""
    try:
        return await action
    except SMTPResponseException as error:
        raise _NotSent(f"{name} refused: {error.code} {_one_line(error.message)}") from error
    except (SMTPException, OSError, ValueError) as error:
        raise _NotSent(f"{name} failed: {_one_line(str(error)) or type(error).__name__}") from error


def dot_stuffed(message: bytes) -> bytes:
    """The text as DATA wants it: ends with a line break, lines that begin with a dot get another."""
    ended = message if message.endswith(b"\r\n") else message + b"\r\n"
    stuffed = ended.replace(b"\r\n.", b"\r\n..")
    return b"." + stuffed if stuffed.startswith(b".") else stuffed


def _one_line(text: str) -> str:
    """A server's text, fit to be shown: one line, printable, at most 300 characters."""
    return "".join(char if char.isprintable() else " " for char in text).strip()[:300]
