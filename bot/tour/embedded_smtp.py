"""A small SMTP server on loopback that files whatever it accepts, for homes that send nowhere else.

Why: the tour sends over real SMTP, with the same client and the same failures as any account; only
the far end lives in this process, for as long as the command that needs it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from aiosmtpd.smtp import SMTP, Envelope, Session

from bot.tour.maildir import Slot, file_message, make_maildir

HOST = "127.0.0.1"
MESSAGE_LIMIT_BYTES = 40 * 1024 * 1024


class FilingHandler:
    """Answers DATA by filing the message. A duplicate Message-ID is filed again, so that it shows."""

    def __init__(self, sent: Path) -> None:
        self._sent = make_maildir(sent)

    async def handle_DATA(  # noqa: N802 - the name is aiosmtpd's
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        """The reply to the final dot: 250 once the bytes are on disk as received, 451 otherwise."""
        del server, session
        content = envelope.content
        assert isinstance(content, bytes)
        name = f"{int(datetime.now(UTC).timestamp())}.{uuid4().hex}.steward"
        try:
            await asyncio.to_thread(file_message, self._sent, Slot(name=name), [content])
        except OSError as error:
            return f"451 4.3.0 not stored: {error.strerror}"
        return "250 2.0.0 filed"


def _quiet_library_log() -> None:
    """aiosmtpd would log every command with its addresses; a log of steward's holds none."""
    logging.getLogger("mail.log").setLevel(logging.WARNING)


@asynccontextmanager
async def embedded_smtp(
    sent: Path, *, limit_bytes: int = MESSAGE_LIMIT_BYTES
) -> AsyncIterator[int]:
    """The loopback port of a server that files into the Maildir `sent` until the context ends.

    Accepts messages up to the limit without authentication, from this machine only. Two processes
    may file into one Maildir at the same time.

    Raises: OSError when `sent` cannot be made or no port is free.
    """
    _quiet_library_log()
    handler = FilingHandler(sent)
    connections: list[SMTP] = []

    def connection() -> SMTP:
        protocol = SMTP(
            handler,
            hostname="localhost",
            data_size_limit=limit_bytes,
            enable_SMTPUTF8=True,
            ident="steward tour",
        )
        connections.append(protocol)
        return protocol

    server = await asyncio.get_running_loop().create_server(connection, HOST, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for protocol in connections:
            if protocol.transport is not None:
                protocol.transport.close()
        await server.wait_closed()
        await asyncio.sleep(0)  # lets closed transports tell their protocols
