"""Pure. A message's bytes as everything the tools show of it. Never raises, for any bytes."""

import re
from dataclasses import dataclass

from tools.mail.automatic import Automatic, Evidence, automatic
from tools.mail.body import BodyKind, body_kind, full_text, preview
from tools.mail.charsets import decode_text
from tools.mail.heads import Head, head_of
from tools.mail.mime import Part, Structure, is_message, parse_structure

_METHOD = re.compile(r"(?im)^METHOD:[ \t]*(\w+)")
_EVENT_LINE = re.compile(r"(?im)^(SUMMARY|DTSTART|DTEND|LOCATION|RRULE|ORGANIZER)([;:][^\r\n]*)$")
_CALENDAR_BYTES = 262_144


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A named part: its name made safe to show, and its size as it travelled."""

    name: str
    media_type: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarNote:
    """An invitation inside a message: its method (REQUEST, CANCEL, REPLY) and its main lines."""

    method: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MailMessage:
    """A parsed message. `text` is whole, or its beginning where only a preview was asked for.

    `capped` says, one line each, what was too large to be read.
    """

    head: Head
    automatic: Automatic | None
    body: BodyKind
    text: str
    attachments: tuple[Attachment, ...]
    nested_messages: int
    calendar: CalendarNote | None
    capped: tuple[str, ...]


def parse_message(raw: bytes) -> MailMessage:
    """The message in these bytes, or in as much of it as they hold."""
    structure = parse_structure(raw)
    text, left_out = full_text(structure.root)
    return _message(structure, text, (*structure.capped, *left_out))


def preview_message(raw: bytes, characters: int) -> MailMessage:
    """The same with only the beginning of the text, quick whatever the size of the message."""
    structure = parse_structure(raw)
    return _message(structure, preview(structure.root, characters), structure.capped)


def _message(structure: Structure, text: str, capped: tuple[str, ...]) -> MailMessage:
    root = structure.root
    head = head_of(root.fields)
    parts = list(root.walk())
    evidence = Evidence(
        fields=root.fields,
        root=root,
        senders=tuple(address.key for address in head.sender),
        subject=head.subject or "",
    )
    return MailMessage(
        head=head,
        automatic=automatic(evidence),
        body=body_kind(root),
        text=text,
        attachments=tuple(
            Attachment(name=part.filename, media_type=part.media_type, size_bytes=part.size_bytes)
            for part in parts
            if part.filename
        ),
        nested_messages=sum(is_message(part.media_type) for part in parts),
        calendar=_calendar(parts),
        capped=capped,
    )


def _calendar(parts: list[Part]) -> CalendarNote | None:
    """The first part that is an invitation, by its type or by its name."""
    for part in parts:
        if part.media_type != "text/calendar" and not part.filename.lower().endswith(".ics"):
            continue
        text = decode_text(
            part.decoded(limit=_CALENDAR_BYTES), part.content.parameters.get("charset")
        )
        unfolded = re.sub(r"\r?\n[ \t]", "", text)
        written = _METHOD.search(unfolded)
        method = part.content.parameters.get("method") or (written[1] if written else "")
        if method:
            return CalendarNote(method=method.upper(), lines=_event_lines(unfolded))
    return None


def _event_lines(text: str) -> tuple[str, ...]:
    """The lines of the first event that say what, when and where."""
    begin = text.find("BEGIN:VEVENT")
    event = text[begin : text.find("END:VEVENT", begin)] if begin >= 0 else ""
    return tuple(f"{name}{value}"[:300] for name, value in _EVENT_LINE.findall(event))
