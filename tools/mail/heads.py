"""Pure. What a message says of itself in its header: who, when, about what, and its identifiers."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime

from tools.mail.addresses import Address, parse_addresses
from tools.mail.dates import parse_date
from tools.mail.fields import Fields
from tools.mail.words import unfold

_BARE_ID = re.compile(r"[^\s<>@]{1,400}@[^\s<>@]{1,400}")
_REPLY_MARK = re.compile(
    r"^\s*(re|aw|antw|sv|odp|vs|rif|res|ynt|回复|答复|回覆|回信)\s*(\[\d{1,3}\]|\(\d{1,3}\))?\s*[:：]\s*",
    re.IGNORECASE,
)
SYNTHETIC_DOMAIN = "local.invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A header, decoded. `date` has the offset that was written; `subject` is None without one.

    `message_id` is None where the message has none, and anybody can copy somebody else's.
    `fingerprint` tells messages apart all the same; copies of one message share it. `id` names the
    message where nothing else claims its Message-ID.
    """

    sender: tuple[Address, ...]
    to: tuple[Address, ...]
    cc: tuple[Address, ...]
    reply_to: tuple[Address, ...]
    subject: str | None
    date: datetime | None
    date_text: str | None
    message_id: str | None
    in_reply_to: tuple[str, ...]
    references: tuple[str, ...]
    fingerprint: str

    @property
    def id(self) -> str:
        """The Message-ID, else the fingerprint."""
        return self.message_id or self.fingerprint

    @property
    def parents(self) -> tuple[str, ...]:
        """Every message this one says it answers, eldest first."""
        return tuple(dict.fromkeys((*self.references, *self.in_reply_to)))

    @property
    def participants(self) -> frozenset[str]:
        """The keys of everyone named in From, To and Cc."""
        return frozenset(each.key for each in (*self.sender, *self.to, *self.cc) if each.address)

    @property
    def is_reply(self) -> bool:
        """True if the subject says so."""
        return bool(self.subject and _REPLY_MARK.match(self.subject))

    @property
    def base_subject(self) -> str:
        """The subject for comparing: without reply marks, blanks collapsed, case folded."""
        return " ".join(without_reply_marks(self.subject or "").split()).casefold()


def without_reply_marks(subject: str) -> str:
    """The subject without any "Re:" in front, in the languages whose mailers write their own."""
    rest = subject.strip()
    while match := _REPLY_MARK.match(rest):
        rest = rest[match.end() :]
    return rest


def head_of(fields: Fields) -> Head:
    """The head that these fields make."""
    date_text = fields.text("date")
    message_id = _message_id(fields)
    return Head(
        sender=_mailboxes(fields, "from"),
        to=_mailboxes(fields, "to"),
        cc=_mailboxes(fields, "cc"),
        reply_to=_mailboxes(fields, "reply-to"),
        subject=fields.text("subject"),
        date=parse_date(date_text) if date_text else None,
        date_text=date_text,
        message_id=message_id,
        in_reply_to=fields.ids("in-reply-to"),
        references=fields.ids("references"),
        fingerprint=_fingerprint(fields, message_id),
    )


def _mailboxes(fields: Fields, name: str) -> tuple[Address, ...]:
    """All fields of that name together: three Cc lines are one list."""
    return tuple(address for raw in fields.all(name) for address in parse_addresses(unfold(raw)))


def _message_id(fields: Fields) -> str | None:
    ids = fields.ids("message-id")
    if ids:
        return ids[0]
    bare = (fields.raw("message-id") or "").strip()
    return f"<{bare}>" if _BARE_ID.fullmatch(bare) else None


def _fingerprint(fields: Fields, message_id: str | None) -> str:
    """An identifier made of what the sender wrote, so that a copy in another folder keeps it.

    Without a Message-ID the way the message came (Received) tells two alike apart.
    """
    digest = hashlib.sha256((message_id or "").encode("utf-8", "replace") + b"\n")
    names = ("date", "from", "to", "cc", "subject")
    for name in names if message_id else (*names, "received"):
        for value in fields.all(name):
            digest.update(name.encode() + b":" + b" ".join(value.split()) + b"\n")
    return f"<sha256-{digest.hexdigest()[:40]}@{SYNTHETIC_DOMAIN}>"


def is_synthetic(message_id: str) -> bool:
    """True for an identifier made here, which no other mail system has heard of."""
    return message_id.endswith(f"@{SYNTHETIC_DOMAIN}>") and message_id.startswith("<sha256-")


def bracketed(message_id: str) -> str:
    """The identifier as messages carry it, with its angle brackets."""
    return f"<{message_id.strip().strip('<>')}>"
