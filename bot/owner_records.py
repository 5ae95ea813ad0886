"""Records the owner made outside any conversation: contacts, own addresses, mail sent by hand.

Why only these: a collected address or a quoted header is what a stranger can plant. A mail in Sent
counts only if no draft and no attempt of steward's bears its key, because a released draft is
counted by its own record.
"""

from collections.abc import Callable, Iterator

from sqlmodel import select

from outbox.identifiers import Identifier, IdentifierKind, whole
from outbox.journal import Store
from outbox.tables import Attempt, Draft
from tools.mail.folders import Folder, list_folder
from tools.mail.settings import Mail
from tools.mail.stored import read_head_of

SENT_AT_MOST = 2000  # the newest; an older correspondent is asked about once more


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
            addresses = [*mail.contacts.values(), *_own(mail), *self._written_to(mail)]
            found = map(whole, addresses)
            self._known = frozenset(str(each) for each in found if each and _is_address(each))
        return self._known

    def _written_to(self, mail: Mail) -> Iterator[str]:
        with self._store.read() as session:
            by_steward = {
                *session.exec(select(Attempt.delivery_key)),
                *session.exec(select(Draft.delivery_key)),
            }
        for account in mail.accounts:
            if account.sent is None:
                continue
            stored, _ = list_folder(Folder(name="Sent", path=account.sent), mail.cache)
            stored.sort(key=lambda each: each.delivered, reverse=True)
            for each in stored[:SENT_AT_MOST]:
                head = read_head_of(each, mail.cache)
                if head is not None and head.message_id not in by_steward:
                    yield from (person.address for person in (*head.to, *head.cc))


def _own(mail: Mail) -> Iterator[str]:
    for account in mail.accounts:
        yield account.address
        yield from account.aliases


def _is_address(identifier: Identifier) -> bool:
    return identifier.kind is IdentifierKind.ADDRESS
