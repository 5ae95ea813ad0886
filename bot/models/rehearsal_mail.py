"""Pure. The mail tools as the rehearsal uses them: their arguments, and the letters in their answers.

The format read here is the one `tools.mail.listing` promises.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Any

from tools.mail.addresses import parse_addresses
from tools.mail.dates import parse_date
from tools.mail.heads import without_reply_marks

LISTED_AT_MOST = 60
FOUND_AT_MOST = 10
OLD_AFTER = timedelta(days=60)

_HEAD = re.compile(r"(?m)^Message \d+ of \d+[ \t]*$")
_FIELD = re.compile(r"([A-Z][A-Za-z-]*): (.*)")
_TOTAL = re.compile(r"The newest \d+ of (\d+) messages")
_NOTHING = ("none", "unknown", "(no subject)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A message of a listing or thread; every text is as the tool wrote it, "" where it has none.

    `sender` is name and address, `date` the line as shown. `automatic` is the kind of automatic
    mail, "" for a person's. `topic` is the same for the messages of a conversation, as far as
    subject and people tell.
    """

    id: str
    sender: str
    name: str
    address: str
    recipients: tuple[str, ...]
    subject: str
    date: str
    automatic: str
    text: str
    from_owner: bool = False

    @property
    def can_be_quoted(self) -> bool:
        """True where it says who wrote, about what and when, in a date that can be read."""
        return bool(self.id and self.address and self.subject and self.at)

    @property
    def at(self) -> datetime | None:
        """When it came, None where its date cannot be read."""
        return parse_date(self.date)

    @property
    def line(self) -> str:
        """Date, sender and subject, as a list of messages shows them."""
        return f'{self.date or "no date"}, {self.sender or "no sender"}, "{self.subject}"'

    @property
    def topic(self) -> str:
        """Subject without reply marks and people; the message's own id where it has no subject."""
        subject = " ".join(without_reply_marks(self.subject).split()).casefold()
        people = sorted({self.address.casefold(), *self.recipients})
        return f"{subject}|{' '.join(people)}" if subject else self.id


def recent_args() -> Mapping[str, Any]:
    """Arguments of `mail_recent`: the newest, of any age, for a copied mailbox may be years old."""
    return {"limit": LISTED_AT_MOST}


def search_args(words: str, limit: int = FOUND_AT_MOST) -> Mapping[str, Any]:
    """Arguments of `mail_search`."""
    return {"query": words, "limit": limit}


def thread_args(message_id: str) -> Mapping[str, Any]:
    """Arguments of `mail_get_thread`."""
    return {"message_id": message_id}


def reply_args(message_id: str, body: str) -> Mapping[str, Any]:
    """Arguments of `mail_reply`, to the sender only."""
    return {"message_id": message_id, "body": body}


def send_args(to: str, subject: str, body: str) -> Mapping[str, Any]:
    """Arguments of `mail_send`."""
    return {"to": [to], "subject": subject, "body": body}


def total_in(listing: str) -> int | None:
    """How many messages the mailbox holds where a listing shows only the newest of them."""
    found = _TOTAL.match(listing)
    return int(found[1]) if found else None


def letters_in(text: str) -> tuple[Letter, ...]:
    """The messages of a tool's answer, in its order; what is no such block is passed over."""
    heads = list(_HEAD.finditer(text))
    starts = [head.end() for head in heads]
    ends = [head.start() for head in heads[1:]]
    return tuple(
        _letter(text[start:end].strip("\n"))
        for start, end in zip_longest(starts, ends, fillvalue=None)
    )


def likely_owner(letters: Sequence[Letter]) -> str:
    """The address that most of these messages went to: the owner's, as far as a mailbox tells."""
    counted = Counter(address for letter in letters for address in letter.recipients)
    most = max(counted.values(), default=0)
    return min((address for address, count in counted.items() if count == most), default="")


def newest_of(letters: Sequence[Letter], now: datetime | None) -> datetime | None:
    """When the newest came; a date later than tomorrow is nobody's, and does not count."""
    dates = [letter.at for letter in letters if letter.at is not None]
    possible = [date for date in dates if now is None or date <= now + timedelta(days=1)]
    return max(possible, default=None)


def is_old(letter: Letter, newest: datetime | None) -> bool:
    """True where the letter came more than 60 days before the newest of its mailbox."""
    return letter.at is not None and newest is not None and newest - letter.at > OLD_AFTER


def with_owner(letters: Sequence[Letter], owner: str) -> tuple[Letter, ...]:
    """The letters, those that this address wrote marked so."""
    return tuple(
        replace(letter, from_owner=bool(owner) and letter.address.casefold() == owner)
        for letter in letters
    )


def _letter(block: str) -> Letter:
    head, _, text = block.partition("\n\n")
    lines = (_FIELD.fullmatch(line) for line in head.split("\n"))
    fields: dict[str, str] = {line[1]: line[2] for line in lines if line is not None}
    sender = _present(fields.get("From", ""))
    writer = next((each for each in parse_addresses(sender) if each.address), None)
    recipients = parse_addresses(f"{fields.get('To', '')}, {fields.get('Cc', '')}")
    automatic = fields.get("Automatic", "no")
    return Letter(
        id=_present(fields.get("Message-ID", "")),
        sender=sender,
        name=writer.name if writer else "",
        address=writer.address if writer else "",
        recipients=tuple(dict.fromkeys(each.key for each in recipients if "@" in each.address)),
        subject=_present(fields.get("Subject", "")),
        date=_present(fields.get("Date", "")),
        automatic="" if automatic == "no" else automatic.partition(" ")[0],
        text=text.strip() or fields.get("Snippet", ""),
    )


def _present(value: str) -> str:
    value = value.strip()
    return "" if value in _NOTHING else value
