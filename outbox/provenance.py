"""Pure. Whose words an identifier is: decided by where in a session it stood first.

Why first: an address that a stranger's mail brought stays the stranger's, also after the owner
typed it in an answer or a rejection, because the owner may only have copied what he was shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from outbox.identifiers import Identifier, extract
from outbox.journal import Origin, Span


class Standing(StrEnum):
    """Whose an identifier is."""

    OWN = "own"
    THIRD_PARTY = "third-party"
    ELSEWHERE = "elsewhere"  # only in the agent's words or in what the owner's files hold
    NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Where an identifier stood first in one kind of text."""

    position: int
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouched:
    """Identifiers the owner vouched for outside of this session's words.

    `records`: contacts, mail sent without steward, drafts released in other sessions; they stand
    before everything. `released_here`: drafts released in this session; `typed`: newly typed in an
    edit. Those two come late, so they do not outweigh third-party text of the session.
    """

    records: frozenset[Identifier] = frozenset()
    released_here: frozenset[Identifier] = frozenset()
    typed: frozenset[Identifier] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What is known of the identifiers of one session."""

    owner: Mapping[Identifier, Seen]
    third_party: Mapping[Identifier, Seen]
    elsewhere: Mapping[Identifier, Seen]
    vouched: Vouched = Vouched()

    def standing(self, identifier: Identifier) -> Standing:
        """Whose it is."""
        if identifier in self.vouched.records:
            return Standing.OWN
        owner, stranger = self.owner.get(identifier), self.third_party.get(identifier)
        if owner and (stranger is None or owner.position < stranger.position):
            return Standing.OWN
        if stranger:
            return Standing.THIRD_PARTY
        if identifier in self.vouched.released_here or identifier in self.vouched.typed:
            return Standing.OWN
        return Standing.ELSEWHERE if identifier in self.elsewhere else Standing.NOWHERE

    def source(self, identifier: Identifier) -> str:
        """The call or door that made it whose it is; "" where that is a record, or nobody knows."""
        match self.standing(identifier):
            case Standing.OWN:
                seen = self.owner.get(identifier)
            case Standing.THIRD_PARTY:
                seen = self.third_party.get(identifier)
            case Standing.ELSEWHERE:
                seen = self.elsewhere.get(identifier)
            case Standing.NOWHERE:
                seen = None
        return "" if seen is None else seen.source


def trace(spans: Sequence[Span], vouched: Vouched) -> Provenance:
    """The provenance of every identifier in a session's text, given oldest first."""
    owner: dict[Identifier, Seen] = {}
    third_party: dict[Identifier, Seen] = {}
    elsewhere: dict[Identifier, Seen] = {}
    for position, span in enumerate(spans):
        match span.origin:
            case Origin.OWNER | Origin.CONFIGURED:
                kind = owner
            case Origin.THIRD_PARTY:
                kind = third_party
            case Origin.PRIVATE | Origin.AGENT:
                kind = elsewhere
        seen = Seen(position=position, source=span.source)
        for identifier in extract(span.text, rejoin=span.origin is Origin.THIRD_PARTY):
            kind.setdefault(identifier, seen)
    return Provenance(owner=owner, third_party=third_party, elsewhere=elsewhere, vouched=vouched)


def parse_all(texts: Iterable[str]) -> frozenset[Identifier]:
    """The identifiers that `str(Identifier)` wrote."""
    return frozenset(map(Identifier.parse, texts))
