"""What a message holds, in the form that `expected.jsonl` writes down."""

import json
from pathlib import Path
from typing import Any

from tools.mail.addresses import Address
from tools.mail.body import is_body_text, part_text
from tools.mail.mime import Part, parse_structure
from tools.mail.parse import parse_message


def expectations(file: Path) -> list[dict[str, Any]]:
    """Every expectation about a mail; none where the file is not there."""
    if not file.is_file():
        return []
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line["kind"] == "mail"]


def first_text(root: Part) -> str:
    """The first plain part's text; of an HTML-only message what is visible; "" without any."""
    texts = [part for part in root.walk() if not part.children and is_body_text(part)]
    plain = [part for part in texts if part.media_type != "text/html"]
    return next(filter(str.strip, map(part_text, plain or texts)), "")


def asserted(expected: dict[str, Any]) -> dict[str, Any]:
    """The fields of an expectation that a parser can be held to."""
    wanted = {key: value for key, value in expected.items() if key not in {"file", "kind", "basis"}}
    if "automatic" in wanted:
        wanted["automatic"] = {
            key: value for key, value in wanted["automatic"].items() if key in {"is", "kind"}
        }
    return wanted


def found(raw: bytes) -> dict[str, Any]:
    """The same fields as read from the bytes."""
    message = parse_message(raw)
    first = first_text(parse_structure(raw).root)
    head = message.head
    automatic: dict[str, Any] = {"is": message.automatic is not None}
    if message.automatic is not None:
        automatic["kind"] = str(message.automatic.kind)
    return {
        "from": _people(head.sender),
        "to": _people(head.to),
        "cc": _people(head.cc),
        "subject": head.subject,
        "date": None if head.date is None else head.date.isoformat(),
        "body": str(message.body),
        "text60": " ".join(first.split())[:60].rstrip(),
        "attachments": [attachment.name for attachment in message.attachments],
        "nested_messages": message.nested_messages,
        "calendar_method": None if message.calendar is None else message.calendar.method,
        "automatic": automatic,
        "message_id": head.message_id,
        "references": list(head.references),
    }


def _people(addresses: tuple[Address, ...]) -> list[dict[str, str]]:
    return [{"name": each.name, "address": each.address} for each in addresses]
