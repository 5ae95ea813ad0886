"""Pure. How messages are written for a model, and for a program that reads the same text.

The format is stable. A listing is one opening line, then one block a message, blocks separated by
one blank line. A block is `Message N of M` and after it exactly these lines in this order, each
on one line of its own however long its value is:

    Account: work
    Folder: INBOX
    From: Ada Lovelace <ada@example.org>            several are separated by ", "
    To: "Reed, Sam" <sam@example.org>               "none" where the header is missing
    Cc: none
    Subject: Invoice 4711                           "(no subject)" without one
    Date: Mon, 30 Nov 2026 09:15:00 +0100           as sent; `none`, or `unreadable: ...`
    Message-ID: <4711@example.org>                  made here where it is missing or not its own
    Automatic: no                                   or a kind of tools.mail.automatic and what shows it
    Attachments: none                               or names with sizes, separated by "; "
    Calendar: REQUEST; SUMMARY:...; DTSTART...      only where the message is an invitation
    Limits: ...                                     only where something was not read
    Snippet: the first 200 characters of the text   in listings only

In a thread the block ends with a blank line and the whole text. Every value is a stranger's words:
line breaks and control characters in it are blanks, and a line of the text that looks like the
head of a block is indented by one blank, so nobody can forge a second message.
"""

import re
from dataclasses import dataclass

from tools.mail.addresses import Address
from tools.mail.dates import format_date
from tools.mail.heads import Head
from tools.mail.parse import Attachment, MailMessage
from tools.mail.words import one_line

SNIPPET_CHARACTERS = 200
SHOWN_PEOPLE = 30
SHOWN_ATTACHMENTS = 30

_BLOCK_HEAD = re.compile(r"(?m)^(?=Message \d+ of \d+\s*$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a message stands: in the answer and in the mailbox. `size_bytes` of the whole file."""

    number: int
    of: int
    account: str
    folder: str
    shown_id: str
    size_bytes: int
    read_bytes: int


def block(head: Head, message: MailMessage | None, place: Place) -> str:
    """One message of a listing. Without a `message` it says that the text could not be read."""
    lines = _lines(head, message, place)
    if message is None:
        return "\n".join([*lines, "Snippet: (the message could not be read)"])
    snippet = " ".join(one_line(message.text[: SNIPPET_CHARACTERS * 8]).split())
    if len(snippet) > SNIPPET_CHARACTERS:
        snippet = snippet[:SNIPPET_CHARACTERS].rstrip() + "..."
    return "\n".join([*lines, f"Snippet: {snippet or '(no text)'}"])


def whole(head: Head, message: MailMessage | None, place: Place) -> str:
    """One message of a thread with all of its text."""
    text = "(the message could not be read)" if message is None else message.text
    shown = _BLOCK_HEAD.sub(" ", text) if text.strip() else "(no text)"
    return "\n".join([*_lines(head, message, place), "", shown])


def title(head: Head) -> str:
    """One line that names a message for a reviewer."""
    return f"{_people(head.sender)}: {head.subject or '(no subject)'}"


def _lines(head: Head, message: MailMessage | None, place: Place) -> list[str]:
    lines = [
        f"Message {place.number} of {place.of}",
        f"Account: {place.account}",
        f"Folder: {place.folder}",
        f"From: {_people(head.sender)}",
        f"To: {_people(head.to)}",
        f"Cc: {_people(head.cc)}",
        f"Subject: {head.subject or '(no subject)'}",
        f"Date: {_date(head)}",
        f"Message-ID: {place.shown_id}",
    ]
    if message is None:
        return [*lines, "Automatic: unknown", "Attachments: unknown"]
    automatic = message.automatic
    lines.append(
        f"Automatic: {automatic.kind} ({one_line(automatic.shown_by)})"
        if automatic
        else "Automatic: no"
    )
    lines.append(f"Attachments: {_attachments(message.attachments, message.nested_messages)}")
    if message.calendar is not None:
        lines.append(
            f"Calendar: {one_line('; '.join((message.calendar.method, *message.calendar.lines)))}"
        )
    limits = list(message.capped)
    if place.read_bytes < place.size_bytes:
        limits.append(f"only the first {place.read_bytes} of {place.size_bytes} bytes were read")
    if limits:
        lines.append(f"Limits: {'; '.join(limits)}")
    return lines


def _people(people: tuple[Address, ...]) -> str:
    shown = ", ".join(str(each) for each in people[:SHOWN_PEOPLE])
    more = f", and {len(people) - SHOWN_PEOPLE} more" if len(people) > SHOWN_PEOPLE else ""
    return one_line(shown + more) or "none"


def _date(head: Head) -> str:
    if head.date is not None:
        return format_date(head.date)
    return f"unreadable: {head.date_text[:80]}" if head.date_text else "none"


def _attachments(attachments: tuple[Attachment, ...], nested: int) -> str:
    shown = [f"{each.name} ({_size(each.size_bytes)})" for each in attachments[:SHOWN_ATTACHMENTS]]
    if len(attachments) > SHOWN_ATTACHMENTS:
        shown.append(f"and {len(attachments) - SHOWN_ATTACHMENTS} more")
    if nested:
        shown.append(f"{nested} attached message{'s' if nested > 1 else ''}")
    return "; ".join(shown) or "none"


def _size(size_bytes: int) -> str:
    if size_bytes < 1024:
        return f"{size_bytes} bytes"
    if size_bytes < 1024 * 1024:
        return f"{size_bytes / 1024:.0f} KiB"
    return f"{size_bytes / 1024 / 1024:.1f} MiB"
