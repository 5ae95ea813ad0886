"""Judges a draft: gathers what the session and the owner's records know, and finds its marks."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, select

from outbox.attachments import Attached, Content, attached
from outbox.identifiers import Identifier, IdentifierKind, extract, whole
from outbox.journal import OwnerRecords, SessionText
from outbox.leaves import texts
from outbox.marks import Mark, Subject, find_marks
from outbox.provenance import Provenance, Vouched, parse_all, trace
from outbox.source import drawn_text
from outbox.tables import Draft, ReleasedTo
from tools.contract import ReviewShape
from tools.taint import taint_from_json

NAMES_AT_ONCE = 500  # a statement's variables are limited


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Knows where to look: the transcripts, the records the owner made, the bytes of attachments."""

    text: SessionText
    records: OwnerRecords
    content: Content

    def marks(self, session: Session, subject: Subject) -> tuple[Mark, ...]:
        """The marks of a draft at these arguments, from what the database holds now."""
        judged = replace(subject, attached=self.attached(subject.args))
        return find_marks(judged, self.provenance(session, subject))

    def attached(self, args: Mapping[str, Any]) -> tuple[Attached, ...]:
        """The attachments at these arguments, with as much of each as can be shown."""
        return attached(args, self.content)

    def provenance(self, session: Session, subject: Subject) -> Provenance:
        """Whose each identifier of the draft's session is."""
        named = {identifier for _, identifier in _named_in(subject)}
        for _, text in subject.attached_texts():
            named.update(extract(text, rejoin=True))
        vouched = Vouched(
            records=parse_all(self.records.identifiers()),
            released=_released(session, named),
            typed=parse_all(subject.owner_typed),
        )
        said = self.text.spans(session, subject.session_id)
        return trace((*said, *subject.drawn), vouched)

    def arguments(self, session: Session, subject: Subject) -> list[dict[str, Any]]:
        """For each identifier in the arguments `{path, kind, value, standing, source}`."""
        provenance = self.provenance(session, subject)
        return [
            {
                "path": path,
                "kind": identifier.kind.value,
                "value": identifier.value,
                "standing": provenance.standing(identifier).value,
                "source": provenance.source(identifier) or None,
            }
            for path, identifier in _named_in(subject)
            if identifier.kind is not IdentifierKind.HOST
        ]


def subject_of(draft: Draft, shape: ReviewShape) -> Subject:
    """What of a stored draft is judged."""
    return Subject(
        session_id=draft.session_id,
        args=draft.args,
        shape=shape,
        taint=taint_from_json(draft.taint),
        owner_typed=tuple(draft.owner_typed),
        drawn=drawn_text(draft.tool, draft.replying_to, draft.created_at),
    )


def record_released(session: Session, draft: Draft, shape: ReviewShape) -> None:
    """The recipients of a draft that was just sent become known as the owner's.

    Only the transaction that made the draft `sent` may call this, once.
    """
    targets = dict.fromkeys(
        found
        for name in shape.recipients
        for _, text in texts(draft.args.get(name), name)
        if (found := whole(text)) is not None
    )
    session.add_all(
        ReleasedTo(identifier=str(target), draft_id=draft.id, session_id=draft.session_id)
        for target in targets
    )


def _named_in(subject: Subject) -> Iterator[tuple[str, Identifier]]:
    for path, text in texts(subject.args):
        exact = whole(text)
        found = dict.fromkeys((exact,) if exact else ())
        found.update(dict.fromkeys(extract(text, rejoin=True)))
        for identifier in found:
            yield path, identifier


def _released(session: Session, named: Iterable[Identifier]) -> dict[Identifier, datetime]:
    """To which of them drafts went, and when the owner first let one go."""
    wanted = [str(identifier) for identifier in named]
    first: dict[Identifier, datetime] = {}
    for start in range(0, len(wanted), NAMES_AT_ONCE):
        some = wanted[start : start + NAMES_AT_ONCE]
        rows = session.exec(
            select(ReleasedTo.identifier, Draft.decided_at, Draft.updated_at)
            .join(Draft, col(Draft.id) == col(ReleasedTo.draft_id))
            .where(col(ReleasedTo.identifier).in_(some))
        )
        for text, decided_at, updated_at in rows:
            identifier, at = Identifier.parse(text), decided_at or updated_at
            first[identifier] = min(at, first.get(identifier, at))
    return first
