"""Mail for tests: messages, mailboxes, accounts, tool contexts, certificates, a mail server process."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tools.blobs import BlobStore
from tools.contract import ToolContext
from tools.jail import Jail
from tools.mail.fields import split_head
from tools.mail.heads import Head, head_of
from tools.mail.settings import AccountKind, Mail, MailAccount, SmtpServer, Tls

TESTS = Path(__file__).parent.parent
NOW = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)


def read_head(raw: bytes) -> Head:
    """The head of a message's bytes."""
    return head_of(split_head(raw)[0])


def message(text: str = "Hello.\n", **fields: str) -> bytes:
    """A small message. Field names use `_` for `-`; a field set to "" is left out."""
    headers = {
        "From": "Ada Lovelace <ada@example.org>",
        "To": "Sam Reed <sam@example.net>",
        "Subject": "Tea",
        "Date": "Mon, 30 Nov 2026 09:00:00 +0100",
        "Message_ID": "<tea-1@example.org>",
        **fields,
    }
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items() if value]
    return ("\n".join(lines) + "\n\n" + text).encode()


def maildir(path: Path, messages: Mapping[str, bytes] | None = None) -> Path:
    """A Maildir with these messages in `cur`, by file name."""
    for box in ("cur", "new", "tmp"):
        (path / box).mkdir(parents=True, exist_ok=True)
    for name, data in (messages or {}).items():
        (path / "cur" / name).write_bytes(data)
    return path


def delivered(when: datetime, tail: str = "1") -> str:
    """A Maildir file name of a message that arrived then."""
    return f"{int(when.timestamp())}.M{tail}P1.host:2,S"


def account(path: Path, **changes: Any) -> MailAccount:
    """The account of sam@example.net over a mailbox."""
    facts: dict[str, Any] = {
        "name": "work",
        "kind": AccountKind.MAILDIR,
        "address": "sam@example.net",
        "display_name": "Sam Reed",
        "path": path,
    }
    return MailAccount(**{**facts, **changes})


def server(port: int, **changes: Any) -> SmtpServer:
    """A loopback server in clear text, with time-outs that let a test fail soon."""
    facts: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": port,
        "tls": Tls.NONE,
        "step_timeout_seconds": 20.0,
        "answer_timeout_seconds": 20.0,
    }
    return SmtpServer(**{**facts, **changes})


def clear(*, answer_within_seconds: float) -> None:
    """tools.contract.GoAhead of a release that nothing stands in the way of."""


class _NoTaint:
    def is_untrusted(self, path: Path) -> bool:
        return False

    def any_untrusted(self, root: Path) -> bool:
        return False


def context(
    folder: Path, *accounts: MailAccount, contacts: Mapping[str, str] | None = None
) -> ToolContext:
    """A context whose workspace, blobs and spill lie below the folder; it is always NOW."""
    (folder / "workspace").mkdir(exist_ok=True)
    (folder / "spill").mkdir(exist_ok=True)
    return ToolContext(
        jail=Jail(root=folder / "workspace", spill_dir=folder / "spill"),
        spill_dir=folder / "spill",
        output_budget_bytes=48_000,
        session_id="session",
        producer="chat",
        agent="assistant",
        call_id="call",
        turn=1,
        now=lambda: NOW,
        timezone=ZoneInfo("Europe/Oslo"),
        file_taint=_NoTaint(),
        needs={
            "mail": Mail(accounts=accounts, contacts=contacts or {}),
            "blobs": BlobStore(folder / "blobs"),
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeSmtp:
    """A running `fakes.smtp` process."""

    port: int
    log: Path
    maildir: Path

    def events(self) -> list[dict[str, Any]]:
        """Everything the server logged so far."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def accepted(self) -> list[dict[str, Any]]:
        """Every message the server holds, oldest first."""
        return [event for event in self.events() if event["event"] == "accepted"]

    def messages(self) -> list[bytes]:
        """The bytes of every message the server holds."""
        return [path.read_bytes() for path in sorted((self.maildir / "new").glob("*"))]


@contextmanager
def smtp_process(folder: Path, fault: str = "none", *options: str) -> Iterator[FakeSmtp]:
    """A mail server in a process of its own until the context ends; see `fakes.smtp`."""
    folder.mkdir(parents=True, exist_ok=True)
    log, sent = folder / "smtp.log", folder / "accepted"
    command = [
        sys.executable, "-W", "ignore", "-m", "fakes.smtp", "--port", "0", "--log", str(log),
        "--maildir", str(sent), "--fault", fault, "--until-eof", *options,
    ]  # fmt: skip
    process = subprocess.Popen(
        command,
        cwd=TESTS,
        env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(TESTS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            assert process.stderr is not None
            raise RuntimeError(f"fakes.smtp did not start: {process.stderr.read().decode()}")
        yield FakeSmtp(port=json.loads(line)["port"], log=log, maildir=sent)
    finally:
        process.kill()
        process.communicate()


def closed_port() -> int:
    """A loopback port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1 and its key, as two files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    cert_file, key_file = folder / "cert.pem", folder / "key.pem"
    cert_file.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return cert_file, key_file
