"""What the mail tools are handed: accounts, their servers, and the owner's contacts."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from tools.mail.read_cache import ReadCache


class Tls(StrEnum):
    """How a connection is protected. There is no opportunistic kind: it falls back to clear text."""

    TLS = "tls"  # from the first byte (port 465)
    STARTTLS = "starttls"  # demanded before anything else is said (port 587)
    NONE = "none"  # loopback hosts only


class AccountKind(StrEnum):
    """Where an account's mail lies."""

    MAILDIR = "maildir"  # a Maildir, a folder of Maildirs, or an mbox file


def is_loopback(host: str) -> bool:
    """True for localhost and for literal addresses of this machine; names are not looked up."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpServer:
    """A submission server. `password` is already resolved and never shown.

    `files_sent`: the server files a copy of what it accepts, so steward must not.
    `before_dot_timeout_seconds` is for everything before the final dot together: with the answer's
    wait it must fit into the quarter of an hour that an attempt has.
    `answer_timeout_seconds` is the wait for the answer to the final dot; RFC 5321 section
    4.5.3.2.6 asks for ten minutes, because giving up early is how a mail is sent twice.
    """

    host: str
    port: int
    tls: Tls
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    files_sent: bool = False
    ca_file: Path | None = None  # a private authority's certificates; default: the system's
    step_timeout_seconds: float = 120.0
    before_dot_timeout_seconds: float = 240.0
    answer_timeout_seconds: float = 600.0

    def __post_init__(self) -> None:
        if self.tls is Tls.NONE and not is_loopback(self.host):
            raise ValueError(
                f'smtp host {self.host}: tls = "none" would send mail and password in clear text '
                'and is for loopback hosts only; use tls = "starttls" (port 587) or "tls" (465)'
            )
        if not 0 < self.port < 65536:
            raise ValueError(f"smtp host {self.host}: {self.port} is no port (1 to 65535)")
        if (self.user is None) != (self.password is None):
            raise ValueError(f"smtp host {self.host}: give both user and password, or neither")


@dataclass(frozen=True, slots=True, kw_only=True)
class MailAccount:
    """One mailbox of the owner. `sent` is the Maildir of sent mail, wherever it lies."""

    name: str
    kind: AccountKind
    address: str
    path: Path
    display_name: str = ""
    aliases: tuple[str, ...] = ()
    sent: Path | None = None
    smtp: SmtpServer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """`ctx.needs["mail"]`: every account, and the owner's contacts by the name they wrote down."""

    accounts: tuple[MailAccount, ...]
    contacts: Mapping[str, str] = field(default_factory=dict)
    cache: ReadCache = field(default_factory=ReadCache, compare=False, repr=False)

    def account(self, name: str) -> MailAccount | None:
        """The account of exactly this name."""
        return next((each for each in self.accounts if each.name == name), None)
