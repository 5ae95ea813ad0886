"""Pure. Whose words an identifier is: decided by where in a session it stood first.

Why first: an address that a stranger's mail brought stays the stranger's, also after the owner
typed it in an answer or a rejection, because the owner may only have copied what he was shown.
The agent's own text counts as well once it has read a stranger: a mail that spells out an address
in words says it to the model, and the model's plain spelling is all that can be compared.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from outbox.identifiers import Identifier, extract
from outbox.journal import Origin, Span


class Standing(StrEnum):
    """Whose an identifier is."""

    OWN = "own"
    THIRD_PARTY = "third-party"
    AGENT = "agent"  # the agent named it first, after it had read text of others
    ELSEWHERE = "elsewhere"  # only in the agent's words or in what the owner's files hold
    NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Where an identifier stood first in one kind of text."""

    position: int
    source: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouched:
    """Identifiers the owner vouched for outside of this session's words.

    `records`: contacts and mail sent without steward; they stand before everything. `released`:
    when a draft first went to it, in any session; that counts from then on, so it does not outweigh
    a stranger of this session, or an agent that had read one, who named it earlier or nobody knows
    when: one careless release must not open the conversations where it was planted. `typed`: newly
    typed in an edit, which comes after everything.
    """

    records: frozenset[Identifier] = frozenset()
    released: Mapping[Identifier, datetime] = field(default_factory=dict)
    typed: frozenset[Identifier] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What is known of the identifiers of one session."""

    owner: Mapping[Identifier, Seen]
    third_party: Mapping[Identifier, Seen]
    swayed: Mapping[Identifier, Seen]  # the agent's text after it had read others'
    elsewhere: Mapping[Identifier, Seen]
    vouched: Vouched = Vouched()

    def standing(self, identifier: Identifier) -> Standing:
        """Whose it is."""
        if identifier in self.vouched.records or self._owner_was_first(identifier):
            return Standing.OWN
        if self._was_released_first(identifier):
            return Standing.OWN
        if identifier in self.third_party:
            return Standing.THIRD_PARTY
        if identifier in self.swayed:
            return Standing.AGENT
        if identifier in self.vouched.typed:
            return Standing.OWN
        return Standing.ELSEWHERE if identifier in self.elsewhere else Standing.NOWHERE

    def _owner_was_first(self, identifier: Identifier) -> bool:
        owner = self.owner.get(identifier)
        return owner is not None and all(
            owner.position < rival.position for rival in self._rivals(identifier)
        )

    def _was_released_first(self, identifier: Identifier) -> bool:
        released = self.vouched.released.get(identifier)
        return released is not None and all(
            rival.at is not None and released < rival.at for rival in self._rivals(identifier)
        )

    def _rivals(self, identifier: Identifier) -> list[Seen]:
        rivals = (self.third_party.get(identifier), self.swayed.get(identifier))
        return [rival for rival in rivals if rival is not None]

    def source(self, identifier: Identifier) -> str:
        """The call or door that made it whose it is; "" where that is a record, or nobody knows."""
        where = {
            Standing.OWN: self.owner,
            Standing.THIRD_PARTY: self.third_party,
            Standing.AGENT: self.swayed,
            Standing.ELSEWHERE: self.elsewhere,
        }
        seen = where.get(self.standing(identifier), {}).get(identifier)
        return "" if seen is None else seen.source


def trace(spans: Sequence[Span], vouched: Vouched) -> Provenance:
    """The provenance of every identifier in a session's text, given oldest first."""
    owner: dict[Identifier, Seen] = {}
    third_party: dict[Identifier, Seen] = {}
    swayed: dict[Identifier, Seen] = {}
    elsewhere: dict[Identifier, Seen] = {}
    for position, span in enumerate(spans):
        match span.origin:
            case Origin.OWNER | Origin.CONFIGURED:
                kind = owner
            case Origin.THIRD_PARTY:
                kind = third_party
            case Origin.AGENT if span.after_others:
                kind = swayed
            case Origin.PRIVATE | Origin.AGENT | Origin.VERDICT:
                kind = elsewhere
        seen = Seen(position=position, source=span.source, at=span.at)
        suspected = kind is third_party or kind is swayed
        for identifier in extract(span.text, rejoin=suspected):
            kind.setdefault(identifier, seen)
    return Provenance(
        owner=owner,
        third_party=third_party,
        swayed=swayed,
        elsewhere=elsewhere,
        vouched=vouched,
    )


def parse_all(texts: Iterable[str]) -> frozenset[Identifier]:
    """The identifiers that `str(Identifier)` wrote."""
    return frozenset(map(Identifier.parse, texts))
