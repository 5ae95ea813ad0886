"""The faults that a server speaking proper SMTP can show, on aiosmtpd."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from fakes.smtp_log import ServerLog

REAL_FAULTS = (
    "rcpt-550",
    "rcpt-450",
    "dot-550",
    "dot-450",
    "dot-421",
    "slow",
    "no-starttls",
    "bad-auth",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealServer:
    fault: str
    log: ServerLog
    delay_seconds: float
    starttls: ssl.SSLContext | None
    user: str | None
    password: str | None


class _Handler:
    def __init__(self, server: RealServer) -> None:
        self._server = server

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self._server.fault.startswith("rcpt-") and address.startswith("refused"):
            code = self._server.fault.removeprefix("rcpt-")
            return f"{code} {code[0]}.1.1 no such mailbox here"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 ok"

    async def handle_RSET(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        self._server.log.write("rset")
        return "250 2.0.0 ok"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        fault = self._server.fault
        if fault.startswith("dot-"):
            code = fault.removeprefix("dot-")
            return f"{code} {code[0]}.3.0 not taken"
        assert isinstance(envelope.content, bytes)
        sender = envelope.mail_from or ""
        self._server.log.accept(sender, list(envelope.rcpt_tos), envelope.content)
        if fault == "slow":
            await asyncio.sleep(self._server.delay_seconds)
        return "250 2.0.0 queued as 4711"


def real_connection(real: RealServer) -> Callable[[], SMTP]:
    """A factory of one protocol for each connection."""

    def authenticate(
        server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: object
    ) -> AuthResult:
        right = (
            real.fault != "bad-auth"
            and isinstance(data, LoginPassword)
            and data.login == (real.user or "").encode()
            and data.password == (real.password or "").encode()
        )
        return AuthResult(success=right, handled=False)  # handled=True would never answer

    def connection() -> SMTP:
        real.log.write("connected")
        return SMTP(
            _Handler(real),
            hostname="fake.example",
            ident="fake",
            data_size_limit=60_000_000,
            tls_context=real.starttls,
            require_starttls=real.starttls is not None,
            authenticator=authenticate,
            auth_required=real.user is not None,
            auth_require_tls=False,
        )

    return connection
