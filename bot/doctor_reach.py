"""Checks of what steward talks to: model servers, mailboxes, mail servers. Nothing is sent."""

import os
import socket
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from bot import startup
from bot.doctor_check import Check, Finding, Subject, fail, ok, warn
from bot.settings_schema import SMTP_PORTS, MailAccount, MailKind, ModelEntry, ModelKind, Smtp
from tools.mail.settings import is_loopback

WAIT_SECONDS = 4.0
_SERVERS = {ModelKind.OPENAI: "https://api.openai.com/v1"}


def check_models(subject: Subject) -> list[Finding]:
    """The server of every model takes a connection; a key in clear text over a network is said."""
    settings = subject.settings
    if settings is None:
        return []
    if not settings.models:
        advice = startup.how_to_have_a_model(settings)
        where = f" in {settings.home.config}" if settings.home.config.exists() else ""
        return [warn("no model is configured, so nothing can answer", f"{advice}{where}")]
    found: list[Finding] = []
    for name, entry in settings.models.items():
        found += _model(name, entry)
    for agent in settings.agents:
        ambiguous = startup.without_model(settings, agent)
        if ambiguous is not None:
            found.append(warn(str(ambiguous), f"edit {settings.home.config}"))
    return found


def _model(name: str, entry: ModelEntry) -> list[Finding]:
    if entry.kind is ModelKind.REHEARSAL:
        return [warn(f"models.{name} is a rehearsal: it answers without any model")]
    url = entry.base_url or _SERVERS.get(entry.kind)
    if url is None:
        return []
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    reason = _connect(host, port)
    if reason is not None:
        advice = "start the server, or mend base_url"
        return [fail(f"models.{name}: {host} port {port} does not answer: {reason}", advice)]
    found = [ok(f"models.{name}: {host} port {port} answers")]
    if parts.scheme == "http" and entry.api_key is not None and not is_loopback(host):
        found.append(warn(f"models.{name}: the key crosses the network unprotected", "use https"))
    return found


def check_mail(subject: Subject) -> list[Finding]:
    """Every local mailbox can be read, and every mail server greets."""
    settings = subject.settings
    if settings is None:
        return []
    found: list[Finding] = []
    for name, account in settings.config.mail.accounts.items():
        if account.kind is MailKind.MAILDIR and account.path is not None:
            found.append(_mailbox(name, settings.path(account.path)))
        found += _smtp(name, account)
    return found


def _mailbox(name: str, path: Path) -> Finding:
    if not path.exists():
        return fail(f"mail.accounts.{name}: there is no {path}", "mend its path")
    if not os.access(path, os.R_OK):
        return fail(f"mail.accounts.{name}: {path} cannot be read", f"run: chmod -R u+rX {path}")
    is_maildir = path.is_dir() and any((path / part).is_dir() for part in ("cur", "new"))
    holds_maildirs = path.is_dir() and any(path.glob("*/cur"))
    if path.is_file() or is_maildir or holds_maildirs:
        return ok(f"mail.accounts.{name}: {path} can be read")
    return fail(f"mail.accounts.{name}: {path} is neither a Maildir nor an mbox", "mend its path")


def _smtp(name: str, account: MailAccount) -> list[Finding]:
    smtp = account.smtp
    if smtp is None:
        return [warn(f"mail.accounts.{name} has no smtp, so nothing can be sent from it")]
    if smtp.embedded:
        return [ok(f"mail.accounts.{name} sends to the tour's own server, on this machine")]
    host, port = _smtp_address(smtp)
    reason = _connect(host, port)
    if reason is None:
        return [ok(f"mail.accounts.{name}: {host} port {port} answers")]
    advice = "look at smtp.host and smtp.port, and whether this network lets mail out"
    text = f"mail.accounts.{name}: {host} port {port} does not answer: {reason}"
    return [fail(text, advice)]


def _smtp_address(smtp: Smtp) -> tuple[str, int]:
    assert smtp.host is not None, "smtp without a host does not load"
    return smtp.host, smtp.port or SMTP_PORTS[smtp.tls]


def _connect(host: str, port: int) -> str | None:
    """None where the port takes a connection within the wait, else the reason in words."""
    try:
        with closing(socket.create_connection((host, port), timeout=WAIT_SECONDS)):
            return None
    except TimeoutError:
        return f"no answer within {WAIT_SECONDS:.0f} s"
    except (OSError, UnicodeError) as error:  # UnicodeError: a host no name server can be asked
        return getattr(error, "strerror", None) or str(error)


CHECKS = (
    Check(name="models", run=check_models),
    Check(name="mail", run=check_mail),
)
