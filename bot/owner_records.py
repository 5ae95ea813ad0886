"""Records the owner made outside any conversation: contacts, own addresses, mail sent by hand.

Why only these: a collected address or a quoted header is what a stranger can plant. A mail in Sent
counts only if no draft and no attempt of steward's bears its key, because a released draft is
counted by its own record. A provider may rewrite that key, so an address that steward sent to
counts only for mail that is surely older than the first draft that went there.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from sqlmodel import Session, col, select

from outbox.identifiers import IdentifierKind, whole
from outbox.journal import Store
from outbox.tables import Attempt, Draft, ReleasedTo
from tools.mail.folders import Folder, list_folder
from tools.mail.heads import Head
from tools.mail.settings import Mail
from tools.mail.stored import read_head_of

SENT_AT_MOST = 2000  # the newest; an older correspondent is asked about once more
SURELY_OLDER = timedelta(days=1)  # whole seconds, skewed clocks, an mbox line without a time zone


class MailRecords:
    """outbox.journal.OwnerRecords over the configured accounts; read once, when first asked."""

    def __init__(self, mail: Callable[[], Mail], store: Store) -> None:
        self._mail = mail
        self._store = store
        self._known: frozenset[str] | None = None

    def identifiers(self) -> frozenset[str]:
        """Addresses the owner vouches for, in the normal form of outbox.identifiers."""
        if self._known is None:
            mail = self._mail()
            vouched = (*mail.contacts.values(), *_own(mail))
            found = (known for each in vouched if (known := _address(each)))
            self._known = frozenset((*found, *self._written_to(mail)))
        return self._known

    def _written_to(self, mail: Mail) -> Iterator[str]:
        sent = list(_sent(mail))  # before the outbox is read, which knows then what lies there
        with self._store.read() as session:
            by_steward = {
                *session.exec(select(Attempt.delivery_key)),
                *session.exec(select(Draft.delivery_key)),
            }
            drafted = _first_drafted(session)
        for head, at in sent:
            if head.message_id not in by_steward:
                for person in (*head.to, *head.cc):
                    known = _address(person.address)
                    if known and (known not in drafted or at < drafted[known] - SURELY_OLDER):
                        yield known


def _sent(mail: Mail) -> Iterator[tuple[Head, datetime]]:
    """The newest mails in Sent, each with the latest time at which it may have been sent."""
    for account in mail.accounts:
        if account.sent is None:
            continue
        stored, _ = list_folder(Folder(name="Sent", path=account.sent), mail.cache)
        stored.sort(key=lambda each: each.delivered, reverse=True)
        for each in stored[:SENT_AT_MOST]:
            head = read_head_of(each, mail.cache)
            if head is not None:
                yield head, max(each.delivered, head.date or each.delivered)


def _first_drafted(session: Session) -> dict[str, datetime]:
    """When the first draft that went to an address was made, by the address."""
    rows = session.exec(
        select(ReleasedTo.identifier, Draft.created_at).join(
            Draft, col(Draft.id) == col(ReleasedTo.draft_id)
        )
    )
    first: dict[str, datetime] = {}
    for identifier, at in rows:
        first[identifier] = min(at, first.get(identifier, at))
    return first


def _own(mail: Mail) -> Iterator[str]:
    for account in mail.accounts:
        yield account.address
        yield from account.aliases


def _address(text: str) -> str | None:
    found = whole(text)
    return str(found) if found and found.kind is IdentifierKind.ADDRESS else None
