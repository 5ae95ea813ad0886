"""Finds the one row a person means by a piece of its id: the whole of it, its head or its tail."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sqlmodel import Session, col, select

from outbox.errors import Ambiguous, NotFound

CANDIDATES_NAMED = 5
_HIGHEST = "\x7f"  # sorts after every character of an id


class HasId(Protocol):
    """A table whose ids are small letters and digits."""

    id: str


Row = TypeVar("Row", bound=HasId)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What rows of a table are called, one and several, and the command that lists them."""

    one: str
    several: str
    lister: str


def find_by_handle(session: Session, table: type[Row], handle: str, kind: Kind) -> Row:
    """The row whose id is, begins with or ends with the handle; an id itself always means its row.

    Raises: NotFound; Ambiguous naming some of the ids that fit.
    """
    word = handle.strip().lower()
    row = session.get(table, word)
    found = [] if row is not None or not word.isalnum() else _fitting(session, table, word)
    if len(found) > 1:
        more = ", ..." if len(found) > CANDIDATES_NAMED else ""
        raise Ambiguous(
            f"'{word}' fits several {kind.several}: {', '.join(found[:CANDIDATES_NAMED])}{more}; "
            "type more of the one you mean"
        )
    if found:
        row = session.get(table, found[0])
    if row is None:
        raise NotFound(f"there is no {kind.one} '{handle.strip()}'; '{kind.lister}' lists them")
    return row


def _fitting(session: Session, table: type[Row], word: str) -> Sequence[str]:
    """At most one id more than are named, in order. A head is looked up in the index."""
    ident = col(table.id)
    some = select(ident).order_by(ident).limit(CANDIDATES_NAMED + 1)
    heads = session.exec(some.where(ident >= word, ident < word + _HIGHEST)).all()
    tails = session.exec(some.where(ident.endswith(word, autoescape=True))).all()
    return sorted({*heads, *tails})
