"""Pure. What a reviewer sees of a draft: one projection, used by every surface, as plain text.

Each argument stands in it exactly once and whole, so that what is read is what goes out. Lines
that somebody else chose stand behind a gutter, and frame lines never do, so that no text can
imitate the frame.
"""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from outbox.identifiers import IdentifierKind, extract, whole
from outbox.leaves import texts
from outbox.marks import SHOWN_ONLY, Mark, marks_from_json
from outbox.source import read_when_drafting
from outbox.summary import address_first
from outbox.visible import CLOSE, OPEN, block, visible
from tools.contract import ReviewShape

EMPTY = f"{OPEN}empty{CLOSE}"
NOT_SET = f"{OPEN}not set{CLOSE}"
LABEL_WIDTH = 12
DIFFERENCE_LIMIT = 4000  # lines; comparing more takes too long to wait for


class Reviewable(Protocol):
    """What of a draft is shown; `outbox.tables.Draft` has it."""

    id: str
    tool: str
    args_before: dict[str, Any]
    args: dict[str, Any]
    revision: int
    marks: list[dict[str, Any]]
    replying_to: dict[str, Any] | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One argument: its name, and its value as lines; a single line stands beside the name."""

    name: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The projection, in the order it is read."""

    title: str
    marks: tuple[Mark, ...]
    headers: tuple[Field, ...]
    body: Field | None
    others: tuple[Field, ...]
    spellings: tuple[str, ...]  # non-ASCII domains and addresses, as machines read them
    edits: tuple[str, ...]
    answering: tuple[str, ...]
    error: str | None

    @property
    def fields(self) -> tuple[Field, ...]:
        """Every argument, each once."""
        return (*self.headers, *((self.body,) if self.body else ()), *self.others)


def project(draft: Reviewable, shape: ReviewShape) -> Review:
    """The projection of a draft as it is stored; of a shape without names, every argument as it comes."""
    args = draft.args
    headers = [name for name in dict.fromkeys(shape.headers) if name in args and name != shape.body]
    body = shape.body if shape.body in args else None
    others = [name for name in args if name not in headers and name != body]
    return Review(
        title=f"draft {draft.id}, revision {draft.revision}: {visible(draft.tool)}",
        marks=marks_from_json(draft.marks),
        headers=tuple(_field(name, args[name], shape) for name in headers),
        body=_body(body, args[body]) if body is not None else None,
        others=tuple(_field(name, args[name], shape) for name in others),
        spellings=tuple(dict.fromkeys(_spellings(args))),
        edits=tuple(_edits(draft.args_before, args)),
        answering=tuple(_answering(draft.replying_to)),
        error=visible(draft.error) if draft.error else None,
    )


def render(review: Review) -> str:
    """The projection as text, ending in a line break."""
    return "\n".join(_rendered(review)) + "\n"


def _rendered(review: Review) -> Iterator[str]:
    yield review.title
    for mark in review.marks:
        yield _mark_line(mark)
    if review.error:
        yield f"last error: {review.error}"
    yield ""
    for field in review.headers:
        yield from _field_lines(field)
    if review.body is not None:
        yield f"{visible(review.body.name)}:"
        yield from review.body.lines
    for field in review.others:
        yield from _field_lines(field)
    if review.spellings:
        yield "as machines read the names above:"
        yield from review.spellings
    if review.edits:
        yield ""
        yield "edited; what the agent wrote (-) and what goes out now (+):"
        yield from review.edits
    yield ""
    yield from review.answering


def _mark_line(mark: Mark) -> str:
    sign = "note" if mark.code in SHOWN_ONLY else "!!"
    where = f" {visible(mark.path)}:" if mark.path else ""
    return f"{sign} {mark.code.value.upper()}:{where} {visible(mark.text)}"


def _field_lines(field: Field) -> Iterator[str]:
    name = visible(field.name)
    if len(field.lines) == 1:
        yield f"{name + ':':<{LABEL_WIDTH}} {field.lines[0]}"
    else:
        yield f"{name}:"
        yield from field.lines


def _body(name: str, value: Any) -> Field:
    if isinstance(value, str) and value:
        return Field(name=name, lines=block(value))
    return Field(name=name, lines=block(_single(value)))


def _field(name: str, value: Any, shape: ReviewShape) -> Field:
    """A value in one line where it fits one, else in a block behind the gutter."""
    recipient = name in shape.recipients
    if isinstance(value, list) and len(value) == 1:
        return _field(name, value[0], shape)
    if isinstance(value, list) and value:
        lines = tuple(line for each in value for line in _entry(each, recipient=recipient))
        return Field(name=name, lines=lines)
    if isinstance(value, str) and "\n" in value:
        return Field(name=name, lines=block(value))
    return Field(name=name, lines=(_single(value, recipient=recipient),))


def _entry(value: Any, *, recipient: bool) -> Sequence[str]:
    if isinstance(value, str) and "\n" in value:
        return block(value)
    return (f"  - {_single(value, recipient=recipient)}",)


def _single(value: Any, *, recipient: bool = False) -> str:
    match value:
        case None:
            return NOT_SET
        case str():
            if not value:
                return EMPTY
            return _mailbox(value) if recipient else visible(value)
        case list() | dict() if not value:
            return EMPTY
        case Mapping() if all(_is_plain(inner) for inner in value.values()):
            return ", ".join(
                f"{visible(str(key))}: {_quoted(inner)}" for key, inner in value.items()
            )
        case _:
            return _quoted(value)


def _quoted(value: Any) -> str:
    """A value beside others: in quotes, so that no text can imitate its neighbours."""
    return visible(json.dumps(value, ensure_ascii=False))


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)


def _mailbox(text: str) -> str:
    """The address before the name that somebody gave it."""
    address, written = address_first(text), visible(text)
    return address if address == written else f"{address}   written as {written}"


def _spellings(args: Mapping[str, Any]) -> Iterator[str]:
    for path, text in texts(args):
        if text.isascii():
            continue
        found = dict.fromkeys((exact,) if (exact := whole(text)) else ())
        found.update(dict.fromkeys(extract(text)))
        for identifier in found:
            foreign = "xn--" in identifier.value or not identifier.value.isascii()
            if foreign and identifier.kind is not IdentifierKind.HOST:
                yield f"  {visible(path)}: {_in_ascii(identifier.value)}"


def _in_ascii(text: str) -> str:
    return "".join(
        char if char.isascii() and char.isprintable() else f"{OPEN}U+{ord(char):04X}{CLOSE}"
        for char in text
    )


def _edits(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            yield f"  {visible(name)}:"
            old, new = _as_lines(before.get(name)), _as_lines(after.get(name))
            yield from _difference(old, new)


def _difference(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    if len(old) + len(new) > DIFFERENCE_LIMIT:
        yield f"    {len(old)} lines became {len(new)}"
        return
    for line in islice(difflib.unified_diff(old, new, n=0), 2, None):
        if not line.startswith("@@"):
            yield f"    {line[0]} {visible(line[1:])}"


def _as_lines(value: Any) -> list[str]:
    if isinstance(value, str) and value:
        return value.split("\n")
    if isinstance(value, list) and value:
        return [each if isinstance(each, str) else json.dumps(each) for each in value]
    return [_single(value)]


def _answering(source: Mapping[str, Any] | None) -> Iterator[str]:
    if source is None:
        yield "It answers nothing."
    elif source["state"] == "gone":
        yield (
            f"It answers {visible(source['provider_id'])}, but its source is gone: nothing that "
            "this conversation read has that id."
        )
    else:
        who = (
            "read when drafting, never by the agent"
            if read_when_drafting(source)
            else source["tool"]
        )
        yield f"It answers this third-party text ({visible(who)}): {visible(source['title'])}"
        yield from block(source["text"])
        if source["cut_characters"]:
            yield f"  {OPEN}{source['cut_characters']} more characters not kept{CLOSE}"
