"""Pure. What a reviewer must not miss about a draft: structural marks, and what each one asks for.

A mark is decided from where text came from, never from what a model says about it. A new mark is a
member of `MarkCode`, a function in `MARKERS`, and its place in the two sets below.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from outbox.attachments import Attached
from outbox.identifiers import (
    Identifier,
    IdentifierKind,
    extract,
    host_and_parents,
    link_host,
    mailto_address,
    whole,
)
from outbox.journal import Span
from outbox.leaves import texts
from outbox.provenance import Provenance, Standing
from tools.contract import ReviewShape
from tools.taint import Source, Taint

KINDS_NAMED = 3
_KINDS = {
    "mail": "mail of others",
    "fs": "files of others",
    "grep": "files of others",
    "unknown": "text that nobody recorded",
}  # by the first word of the tool's name; any other is called as it is
LINKS_NAMED = 3


class MarkCode(StrEnum):
    """The marks of DESIGN section 9."""

    TAINTED = "tainted"
    UNOWNED = "unowned"
    LINK = "link"
    QUOTED = "quoted"
    PRIVATE = "private"
    FIRST_TIME = "first-time"
    MOVED_ON = "moved-on"
    PAST = "past"
    OPAQUE = "opaque"


SHOWN_ONLY = frozenset({MarkCode.TAINTED, MarkCode.FIRST_TIME})
BLOCKS_UNREAD = frozenset({MarkCode.UNOWNED, MarkCode.OPAQUE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One mark: what it says, the argument it is about, and the third-party call behind it."""

    code: MarkCode
    text: str
    path: str | None = None  # `to[0]`, `body`; None for the whole draft
    source: str | None = None

    def as_json(self) -> dict[str, Any]:
        """`{code, text, path, source}`."""
        return {
            "code": self.code.value,
            "text": self.text,
            "path": self.path,
            "source": self.source,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What of a draft is judged. `drawn`: text of others that completing it put into it."""

    session_id: str
    args: Mapping[str, Any]
    shape: ReviewShape
    taint: Taint
    owner_typed: tuple[str, ...] = ()
    drawn: tuple[Span, ...] = ()
    attached: tuple[Attached, ...] = ()

    def attached_texts(self) -> Iterator[tuple[str, str]]:
        """What can be shown of the attachments, each with its path."""
        for each in self.attached:
            if each.text:
                yield each.path, each.text


def marks_from_json(rows: Iterable[Mapping[str, Any]]) -> tuple[Mark, ...]:
    """The marks a draft keeps. Raises: ValueError for a code nobody knows."""
    return tuple(
        Mark(code=MarkCode(row["code"]), text=row["text"], path=row["path"], source=row["source"])
        for row in rows
    )


def needs_confirmation(marks: Iterable[Mark]) -> bool:
    """True if a release must be asked for once more, under the whole text."""
    return any(mark.code not in SHOWN_ONLY for mark in marks)


def blocks_unread(marks: Iterable[Mark]) -> bool:
    """True if the draft may not be released by anybody who has not been shown all of it."""
    return any(mark.code in BLOCKS_UNREAD for mark in marks)


def find_marks(subject: Subject, provenance: Provenance) -> tuple[Mark, ...]:
    """Every mark of a draft at its present arguments."""
    return tuple(mark for marker in MARKERS for mark in marker(subject, provenance))


def _tainted(subject: Subject, provenance: Provenance) -> Iterator[Mark]:
    del provenance
    untrusted, private = subject.taint.untrusted, subject.taint.private
    legs = [_of_others(untrusted)] if untrusted else []
    legs += ["private data"] if private else []
    if legs:
        every = dict.fromkeys(map(str, (*untrusted, *private)))
        said = f"written after reading {' and '.join(legs)}"
        yield Mark(code=MarkCode.TAINTED, text=said, source="; ".join(every))


def _of_others(sources: Sequence[Source]) -> str:
    """`mail of others (8 reads)`: kinds of text in their order, each with how often it was read."""
    counted = Counter(_KINDS.get(source.tool.partition("_")[0], source.tool) for source in sources)
    named = [f"{kind} ({count} read{'s' if count > 1 else ''})" for kind, count in counted.items()]
    more = len(named) - KINDS_NAMED
    shown = ", ".join(named[:KINDS_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown


def _unowned(subject: Subject, provenance: Provenance) -> Iterator[Mark]:
    declared = subject.shape.recipients
    targets = _declared_targets(subject) if declared else _possible_targets(subject)
    for path, text, identifier in targets:
        if identifier is None:
            yield Mark(
                code=MarkCode.UNOWNED,
                text=f"{text} is no single plain address, account or link, so nobody can "
                "tell whose it is",
                path=path,
            )
        elif provenance.standing(identifier) is not Standing.OWN:
            yield _unowned_mark(path, identifier, provenance)


def _declared_targets(subject: Subject) -> Iterator[tuple[str, str, Identifier | None]]:
    for name in subject.shape.recipients:
        for path, text in texts(subject.args.get(name), name):
            yield path, text, whole(text)


def _possible_targets(subject: Subject) -> Iterator[tuple[str, str, Identifier | None]]:
    """A tool that does not say which arguments are targets: all of them may be, except the prose."""
    shape = subject.shape
    for name, value in subject.args.items():
        if name not in (shape.body, shape.source_id, shape.thread_id):
            for path, text in texts(value, name):
                for identifier in extract(text):
                    if identifier.kind is not IdentifierKind.HOST:
                        yield path, text, identifier


def _unowned_mark(path: str, identifier: Identifier, provenance: Provenance) -> Mark:
    match provenance.standing(identifier):
        case Standing.THIRD_PARTY:
            source = provenance.source(identifier) or "text that is not yours"
            said = f"{identifier.value} first stood in third-party text ({source})"
            return Mark(code=MarkCode.UNOWNED, text=said, path=path, source=source)
        case Standing.AGENT:
            said = f"{identifier.value} first came from the agent, after it read text of others"
        case _:
            said = f"{identifier.value} stands in nothing you asked for and in no record you made"
    return Mark(code=MarkCode.UNOWNED, text=said, path=path)


def _link(subject: Subject, provenance: Provenance) -> Iterator[Mark]:
    for path, text in (*texts(subject.args), *subject.attached_texts()):
        foreign: dict[str, str] = {}
        for identifier in extract(text, rejoin=True):
            if identifier.kind is IdentifierKind.LINK:
                source = _foreign_source(identifier, provenance)
                if source is not None:
                    foreign.setdefault(identifier.value, source)
        if foreign:
            yield _link_mark(path, foreign)


def _foreign_source(link: Identifier, provenance: Provenance) -> str | None:
    """The third-party source of a link: of the very link, or of the nearest domain that it leads to
    and that somebody named."""
    for named in _leads_to(link):
        match provenance.standing(named):
            case Standing.THIRD_PARTY:
                return provenance.source(named)
            case Standing.OWN:
                return None
    return None


def _leads_to(link: Identifier) -> Iterator[Identifier]:
    yield link
    address = mailto_address(link)
    if address is not None:
        yield address
    else:
        yield from host_and_parents(link_host(link))


def _link_mark(path: str, foreign: Mapping[str, str]) -> Mark:
    links = list(foreign)
    named = ", ".join(links[:LINKS_NAMED])
    more = f" and {len(links) - LINKS_NAMED} more" if len(links) > LINKS_NAMED else ""
    source = foreign[links[0]] or "text that is not yours"
    return Mark(
        code=MarkCode.LINK,
        text=f"carries a link first seen in third-party text ({source}): {named}{more}",
        path=path,
        source=source,
    )


def _opaque(subject: Subject, provenance: Provenance) -> Iterator[Mark]:
    del provenance
    for number, each in enumerate(subject.attached, start=1):
        if each.text is None:
            odd = "".join(f"; {oddity}" for oddity in each.oddities)
            said = f"{each.described} cannot be shown here{odd}"
        elif each.is_markup:
            said = f"{each.described} is shown here as its source, and elsewhere as what it draws"
        else:
            continue
        yield Mark(
            code=MarkCode.OPAQUE,
            text=f"{said}; 'steward outbox show ID --attachment {number} > FILE' writes it",
            path=each.path,
        )


MARKERS: tuple[Callable[[Subject, Provenance], Iterator[Mark]], ...] = (
    _tainted,
    _unowned,
    _link,
    _opaque,
)
