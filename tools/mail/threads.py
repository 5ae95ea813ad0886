"""Pure. Which messages belong together.

Chosen: two messages are one thread if one names the other, or a common third, in References or
In-Reply-To. Only a message that says "Re:" and carries no such header at all is joined by subject,
and only to a message with the same subject, at most 60 days apart, where each one's sender takes
part in the other. Nothing fuzzier: two "Hello" from two strangers stay two threads.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tools.mail.heads import Head

SUBJECT_WINDOW = timedelta(days=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A message's head and its moment; `position` is where the caller keeps it."""

    position: int
    head: Head
    moment: datetime


class _Sets:
    """Disjoint sets of identifiers."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def find(self, name: str) -> str:
        root = name
        while (parent := self._parents.get(root, root)) != root:
            root = parent
        while name != root:
            self._parents[name], name = root, self._parents.get(name, name)
        return root

    def join(self, one: str, other: str) -> None:
        self._parents[self.find(other)] = self.find(one)


def thread_of(message_id: str, entries: Sequence[Entry]) -> list[Entry]:
    """The entries of the thread that holds the message, oldest first, each message once.

    `message_id` may be a fingerprint. Empty where no entry has that identifier.
    """
    sets = _Sets()
    for entry in entries:
        for parent in entry.head.parents:
            sets.join(entry.head.id, parent)
    seed = next((entry for entry in entries if message_id in _names(entry.head)), None)
    if seed is None:
        return []
    root = sets.find(seed.head.id)
    members = [entry for entry in entries if sets.find(entry.head.id) == root]
    joined = _distinct([*members, *_by_subject(members, entries)])
    return sorted(joined, key=lambda entry: (entry.moment, entry.position))


def _names(head: Head) -> tuple[str, str]:
    return head.id, head.fingerprint


def _by_subject(members: Sequence[Entry], entries: Sequence[Entry]) -> list[Entry]:
    """Messages without any reference that a reply mark, a subject and two people tie to a member."""
    subjects = {member.head.base_subject for member in members} - {""}
    return [
        entry
        for entry in entries
        if entry.head.base_subject in subjects
        and any(_tied(entry, member) or _tied(member, entry) for member in members)
    ]


def _tied(reply: Entry, other: Entry) -> bool:
    head = reply.head
    if not head.is_reply or head.parents or not head.base_subject:
        return False
    return (
        head.base_subject == other.head.base_subject
        and abs(reply.moment - other.moment) <= SUBJECT_WINDOW
        and _takes_part(head, other.head)
        and _takes_part(other.head, head)
    )


def _takes_part(sender: Head, other: Head) -> bool:
    return any(address.key in other.participants for address in sender.sender if address.address)


def _distinct(entries: Iterable[Entry]) -> list[Entry]:
    """Each message once, copies left out; a stranger's message under a copied id stays."""
    seen: dict[str, Entry] = {}
    for entry in entries:
        seen.setdefault(entry.head.fingerprint, entry)
    return list(seen.values())
