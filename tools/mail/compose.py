"""Pure. A mail's bytes from a staged mail: the same input gives the same bytes, on any machine.

Why `date` is an argument and no part of the draft: it is the moment of delivery. A draft approved
days later must not look days old at the other end, nor be filed under a day nobody looks at. The
draft shows all else, and Message-ID is the delivery key fixed when it was staged. Bcc is for the
envelope only and never in the bytes; there is no User-Agent.
"""

import binascii
import hashlib
import re
from base64 import encodebytes
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tools.mail.addresses import Address
from tools.mail.dates import format_date
from tools.mail.header_lines import address_field, file_name_parameter, id_field, text_field

_PLAIN_LINE = re.compile(rb"[\t -~]*")
MAX_LINE_BYTES = 998


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedBytes:
    """An attachment with its content."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """Everything of a mail but its Message-ID and Date."""

    sender: Address
    to: tuple[Address, ...]
    cc: tuple[Address, ...] = ()
    subject: str
    body: str
    in_reply_to: str = ""
    references: tuple[str, ...] = ()
    attachments: tuple[AttachedBytes, ...] = ()


def compose(mail: Outgoing, *, message_id: str, date: datetime) -> bytes:
    """RFC 5322 bytes with CRLF line ends, 7-bit throughout.

    The body is sent as written, with exactly one line break at its end.
    Raises: HeaderError for a value that no header may hold.
    """
    fields = [
        text_field("Date", format_date(date)),
        address_field("From", (mail.sender,)),
        *([address_field("To", mail.to)] if mail.to else []),
        *([address_field("Cc", mail.cc)] if mail.cc else []),
        text_field("Subject", mail.subject),
        id_field("Message-ID", (message_id,)),
        *([id_field("In-Reply-To", (mail.in_reply_to,))] if mail.in_reply_to else []),
        *([id_field("References", mail.references)] if mail.references else []),
        b"MIME-Version: 1.0\r\n",
    ]
    text = _text_part(mail.body)
    if not mail.attachments:
        return b"".join([*fields, text])
    parts = [text, *(_attachment(each) for each in mail.attachments)]
    boundary = _boundary(message_id, parts)
    kind = f'Content-Type: multipart/mixed; boundary="{boundary}"\r\n\r\n'.encode()
    delimited = [f"--{boundary}\r\n".encode() + part + b"\r\n" for part in parts]
    return b"".join([*fields, kind, *delimited, f"--{boundary}--\r\n".encode()])


def wire_body(body: str) -> str:
    """The body as it goes out: Unix line ends, one line break at the end."""
    return body.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n") + "\n"


def _text_part(body: str) -> bytes:
    data = wire_body(body).encode("utf-8", "replace")
    lines = data.split(b"\n")
    plain = all(len(line) <= MAX_LINE_BYTES and _PLAIN_LINE.fullmatch(line) for line in lines)
    charset = "us-ascii" if data.isascii() else "utf-8"
    encoding = "7bit" if plain else "quoted-printable"
    content = data if plain else binascii.b2a_qp(data, istext=True)
    head = (
        f"Content-Type: text/plain; charset={charset}\r\n"
        f"Content-Transfer-Encoding: {encoding}\r\n\r\n"
    )
    return head.encode() + content.replace(b"\n", b"\r\n")


def _attachment(attachment: AttachedBytes) -> bytes:
    head = (
        f"Content-Type: {attachment.media_type}\r\n"
        f"Content-Disposition: attachment; {file_name_parameter(attachment.name)}\r\n"
        "Content-Transfer-Encoding: base64\r\n\r\n"
    )
    return head.encode("ascii") + encodebytes(attachment.data).replace(b"\n", b"\r\n")


def _boundary(message_id: str, parts: Sequence[bytes]) -> str:
    """A delimiter that stands in no part, found the same way every time."""
    counter = 0
    while True:
        digest = hashlib.sha256(f"{message_id} {counter}".encode()).hexdigest()[:32]
        boundary = f"=_{digest}"
        if not any(boundary.encode() in part for part in parts):
            return boundary
        counter += 1
