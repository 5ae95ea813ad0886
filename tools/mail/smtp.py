"""One mail over SMTP, step by step, so that what is known afterwards is exactly known.

Why: a lost connection looks the same before and after the final dot, and `send()` of any library
hides which it was. Here the dot is written on its own, after the system took every byte before it:
until then nothing can have been accepted, from then on only the server's answer tells.
"""

import asyncio
import contextlib
from collections.abc import Awaitable
from dataclasses import dataclass
from ssl import SSLError
from typing import TypeVar, cast

import aiosmtplib
from aiosmtplib import SMTPException, SMTPRecipientRefused, SMTPResponseException

from tools.contract import Delivery, DeliveryOutcome
from tools.crashpoint import crash_point
from tools.mail.settings import SmtpServer, Tls

_LOCAL_NAME = "[127.0.0.1]"  # an address literal: the machine's own name is nobody's business
_QUIT_SECONDS = 5.0

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Who sends to whom, and the bytes with CRLF line ends."""

    sender: str
    recipients: tuple[str, ...]
    message: bytes


class _NotSent(Exception):  # noqa: N818 - an outcome, not a fault
    """Surely nothing went out; the text is for the owner."""


async def submit(server: SmtpServer, envelope: Envelope) -> Delivery:
    """Hand the mail over once. Never raises for what a server or a network may do.

    SENT: the server took it. FAILED: surely nothing went out (any refused recipient, a 5xx to the
    dot, anything before the dot). UNKNOWN: the dot was written and no clear answer came.
    """
    client = _client(server)
    try:
        try:
            await _step(client.connect(), "connect")
            crash_point("smtp.connected")
            await _envelope(client, envelope)
            crash_point("smtp.recipients")
            await _body(client, envelope.message, server.step_timeout_seconds)
        except _NotSent as reason:
            return Delivery(
                outcome=DeliveryOutcome.FAILED, detail=f"{server.host}: {reason}; nothing was sent"
            )
        return await _dot(client, server)
    finally:
        client.close()


def _client(server: SmtpServer) -> aiosmtplib.SMTP:
    return aiosmtplib.SMTP(
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


async def _step(action: Awaitable[Answer], name: str) -> Answer:
    """The step's answer. Raises: _NotSent with the server's word for why there is none."""
    try:
        return await action
    except SMTPResponseException as error:
        raise _NotSent(f"{name} refused: {error.code} {_one_line(error.message)}") from error
    except (SMTPException, SSLError, OSError, ValueError) as error:
        raise _NotSent(f"{name} failed: {_one_line(str(error)) or type(error).__name__}") from error


async def _envelope(client: aiosmtplib.SMTP, envelope: Envelope) -> None:
    """MAIL and every RCPT; one refusal resets it all. Raises: _NotSent."""
    options = []
    if client.supports_extension("size"):
        options.append(f"SIZE={len(envelope.message)}")
    await _step(client.mail(envelope.sender, options=options), "MAIL")
    refused: list[str] = []
    for recipient in envelope.recipients:
        try:
            await _step(_rcpt(client, recipient, refused), f"RCPT {recipient}")
        except _NotSent as reason:
            # Refusals heard so far matter more to the owner than the dropped connection.
            raise _NotSent("; ".join([*refused, str(reason)])) from reason
    if refused:
        with contextlib.suppress(SMTPException, OSError):
            await client.rset()
        raise _NotSent("; ".join(refused))


async def _rcpt(client: aiosmtplib.SMTP, recipient: str, refused: list[str]) -> None:
    try:
        await client.rcpt(recipient)
    except SMTPRecipientRefused as error:
        refused.append(f"{recipient} refused: {error.code} {_one_line(error.message)}")


async def _body(client: aiosmtplib.SMTP, message: bytes, timeout_seconds: float) -> None:
    """DATA and all bytes but the final dot, given to the system. Raises: _NotSent."""
    protocol, transport = client.protocol, client.transport
    if protocol is None or transport is None:
        raise _NotSent("connection lost before DATA")
    answer = await _step(protocol.execute_command(b"DATA", timeout=timeout_seconds), "DATA")
    if answer.code != 354:
        raise _NotSent(f"DATA refused: {answer.code} {_one_line(answer.message)}")
    transport = cast("asyncio.WriteTransport", transport)
    transport.set_write_buffer_limits(high=0)
    writer = asyncio.StreamWriter(transport, protocol, None, asyncio.get_running_loop())
    for start in range(0, len(stuffed := dot_stuffed(message)), _CHUNK_BYTES):
        protocol.write(stuffed[start : start + _CHUNK_BYTES])
        await _step(asyncio.wait_for(writer.drain(), timeout_seconds), "sending the text")


_CHUNK_BYTES = 65_536


async def _dot(client: aiosmtplib.SMTP, server: SmtpServer) -> Delivery:
    """Write the final dot and hear what became of the mail."""
    protocol = client.protocol
    if protocol is None or not protocol.is_connected:
        detail = f"{server.host}: connection lost before the end of the text; nothing was sent"
        return Delivery(outcome=DeliveryOutcome.FAILED, detail=detail)
    try:
        protocol.write(b".\r\n")
        crash_point("smtp.data")
        answer = await protocol.read_response(timeout=server.answer_timeout_seconds)
    except SMTPResponseException as error:
        return _unknown(server, f"unreadable answer {error.code}")
    except (SMTPException, OSError) as error:
        return _unknown(server, _one_line(str(error)) or type(error).__name__)
    word = f"{answer.code} {_one_line(answer.message)}"
    if 200 <= answer.code < 300:
        crash_point("smtp.accepted")
        await _quit(client)
        return Delivery(outcome=DeliveryOutcome.SENT, detail=f"{server.host} took it: {word}")
    if 500 <= answer.code < 600:
        detail = f"{server.host} refused the mail: {word}; nothing was sent"
        return Delivery(outcome=DeliveryOutcome.FAILED, detail=detail)
    return _unknown(server, word)


def _unknown(server: SmtpServer, why: str) -> Delivery:
    detail = f"{server.host} had the whole mail and gave no clear answer: {why}"
    return Delivery(outcome=DeliveryOutcome.UNKNOWN, detail=detail)


async def _quit(client: aiosmtplib.SMTP) -> None:
    """A polite end; the mail is accepted whatever comes of it."""
    with contextlib.suppress(SMTPException, OSError):
        await client.quit(timeout=_QUIT_SECONDS)


def dot_stuffed(message: bytes) -> bytes:
    """The text as DATA wants it: ends with a line break, lines that begin with a dot get another."""
    ended = message if message.endswith(b"\r\n") else message + b"\r\n"
    stuffed = ended.replace(b"\r\n.", b"\r\n..")
    return b"." + stuffed if stuffed.startswith(b".") else stuffed


def _one_line(text: str) -> str:
    """A server's text, fit to be shown: one line, printable, at most 300 characters."""
    return "".join(char if char.isprintable() else " " for char in text).strip()[:300]
