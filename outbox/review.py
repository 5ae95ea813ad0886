"""Pure. What a reviewer sees of a draft: one projection, used by every surface, as plain text.

Each argument stands in it exactly once and whole, so that what is read is what goes out. Lines
that somebody else chose stand behind a gutter, and frame lines never do, so that no text can
imitate the frame.
"""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

from outbox.attachments import Attached
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
THREADING = ("message_id", "thread_id", "in_reply_to", "references")
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
class Content:
    """An attachment: one line that describes it, and the whole of its text or why it is not shown."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The projection, in the order it is read.

    `empty` names the arguments that hold nothing; `threading` are identifiers that nobody reads.
    """

    title: str
    marks: tuple[Mark, ...]
    headers: tuple[Field, ...]
    empty: tuple[str, ...]
    body: Field | None
    others: tuple[Field, ...]
    threading: tuple[Field, ...]
    contents: tuple[Content, ...]
    spellings: tuple[str, ...]  # non-ASCII domains and addresses, as machines read them
    edits: tuple[str, ...]
    answering: tuple[str, ...]
    error: str | None

    @property
    def fields(self) -> tuple[Field, ...]:
        """Every argument that holds something, each once; `empty` names the others."""
        return (*self.headers, *((self.body,) if self.body else ()), *self.others, *self.threading)


def project(draft: Reviewable, shape: ReviewShape, attachments: Sequence[Attached] = ()) -> Review:
    """The projection of a draft as it is stored; of a shape without names, every argument as it comes."""
    args = draft.args
    body = shape.body if shape.body in args else None
    empty = [name for name in _reading_order(args, shape) if name != body and _is_empty(args[name])]
    shown = [name for name in args if name != body and name not in empty]
    headers = [name for name in dict.fromkeys(shape.headers) if name in shown]
    ids = {shape.source_id, shape.thread_id, *THREADING} - set(headers)
    threading = [name for name in shown if name in ids]
    others = [name for name in shown if name not in headers and name not in threading]
    return Review(
        title=f"draft {draft.id}, revision {draft.revision}: {visible(draft.tool)}",
        marks=tuple(_placed(mark, args) for mark in marks_from_json(draft.marks)),
        headers=tuple(_field(name, args[name], shape) for name in headers),
        empty=tuple(empty),
        body=_body(body, args[body]) if body is not None else None,
        others=tuple(_field(name, args[name], shape) for name in others),
        threading=tuple(_field(name, args[name], shape) for name in threading),
        contents=tuple(_content(number, each) for number, each in enumerate(attachments, start=1)),
        spellings=tuple(dict.fromkeys(_spellings(args))),
        edits=tuple(_edits(draft.args_before, args)),
        answering=tuple(_answering(draft.replying_to)),
        error=visible(draft.error) if draft.error else None,
    )


def _reading_order(args: Mapping[str, Any], shape: ReviewShape) -> Iterator[str]:
    return (name for name in dict.fromkeys((*shape.headers, *args)) if name in args)


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _placed(mark: Mark, args: Mapping[str, Any]) -> Mark:
    """The only entry of a list is called by the list's name, as it is shown."""
    name, _, index = (mark.path or "").partition("[")
    only = index == "0]" and isinstance(args.get(name), list) and len(args[name]) == 1
    return replace(mark, path=name) if only else mark


def _content(number: int, attachment: Attached) -> Content:
    """Its text behind the gutter; a file's own line ends are those of its text."""
    title = f"attachment {number}, {visible(attachment.described)}"
    odd = tuple(f"  !! {visible(oddity)}" for oddity in attachment.oddities)
    if attachment.text is None:
        return Content(title=f"{title}: not shown", lines=odd)
    lines = block(attachment.text.replace("\r\n", "\n"))
    return Content(title=f"{title}:", lines=(*odd, *lines))


def render(review: Review) -> str:
    """The projection as text, ending in a line break."""
    return "\n".join(_rendered(review)) + "\n"


def _rendered(review: Review) -> Iterator[str]:
    yield review.title
    yield from map(_mark_line, review.marks)
    if review.error:
        yield f"last error: {review.error}"
    yield ""
    yield from _arguments(review)
    for content in review.contents:
        yield content.title
        yield from content.lines
    if review.spellings:
        yield "as machines read the names above:"
        yield from review.spellings
    if review.edits:
        yield ""
        yield "edited; what the agent wrote (-) and what goes out now (+):"
        yield from review.edits
    yield ""
    yield from review.answering


def _arguments(review: Review) -> Iterator[str]:
    """Headers, the names of what is empty, the body, everything else, and the threading last."""
    for field in review.headers:
        yield from _field_lines(field)
    if review.empty:
        yield f"{'empty:':<{LABEL_WIDTH}} {', '.join(map(_as_name, review.empty))}"
    if review.body is not None:
        yield f"{visible(review.body.name)}:"
        yield from review.body.lines
    for field in review.others:
        yield from _field_lines(field)
    if review.threading:
        yield "threading:"
        for field in review.threading:
            yield from (f"  {line}" for line in _field_lines(field))


def _mark_line(mark: Mark) -> str:
    sign = "note" if mark.code in SHOWN_ONLY else "!!"
    where = f" {visible(mark.path)}:" if mark.path else ""
    return f"{sign} {mark.code.value.upper()}:{where} {visible(mark.text)}"


def _as_name(name: str) -> str:
    """A name among others: in quotes where it could pass for several."""
    return name if name.isidentifier() and name.isascii() else _quoted(name)


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
        yield "Not a reply."
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
