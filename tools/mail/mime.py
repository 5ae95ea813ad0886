"""Pure. The tree of a MIME message over its raw bytes, without copying or decoding a part.

Why: the standard parser turns a message into text line by line; a 30 MB attachment then costs
many times its size although nobody reads it. Here a part is a range, decoded only when asked.
Every cap that was reached is said in `Structure.capped`.
"""

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tools.mail.fields import Fields, split_head
from tools.mail.parameters import Parameterised, media_type, parse_parameterised, safe_filename
from tools.mail.words import unfold

MAX_PARTS = 20_000
MAX_DEPTH = 30
MAX_DELIMITERS = 200_000

_FIRST_DELIMITER = re.compile(rb"^--([^\r\n]{1,200}?)[ \t]*\r?$", re.MULTILINE)
_LINE_END = re.compile(rb"(--)?[ \t]*(\r?\n|\r?\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One node. The body is `raw[start:end]`, still transfer-encoded.

    `filename` is decoded and safe to show, "" where the part has no name. A multipart has its
    parts as children; a message/rfc822 has the attached message as its only child.
    """

    raw: bytes
    start: int
    end: int
    fields: Fields
    media_type: str
    content: Parameterised
    disposition: str
    filename: str
    children: tuple["Part", ...] = ()

    @property
    def size_bytes(self) -> int:
        """The size of the body as it travelled."""
        return self.end - self.start

    def decoded(self, limit: int | None = None) -> bytes:
        """The body with its transfer encoding undone; damage costs only what it hit.

        `limit` bounds the encoded bytes that are looked at.
        """
        end = self.end if limit is None else min(self.end, self.start + limit)
        body = self.raw[self.start : end]
        return _undo(body, _encoding(self.fields))

    def walk(self) -> Iterator["Part"]:
        """This part and all below it in order, attached messages not entered."""
        yield self
        if not is_message(self.media_type):
            for child in self.children:
                yield from child.walk()


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """A message's tree and the caps that were reached while it was built."""

    root: Part
    capped: tuple[str, ...] = ()


@dataclass(slots=True)
class _Budget:
    parts: int = MAX_PARTS
    delimiters: int = MAX_DELIMITERS
    capped: list[str] = field(default_factory=list)

    def say(self, what: str) -> None:
        if what not in self.capped:
            self.capped.append(what)


def is_message(kind: str) -> bool:
    """True for a part that is itself a message."""
    return kind in {"message/rfc822", "message/global"}


def parse_structure(raw: bytes) -> Structure:
    """The tree of these bytes; never raises, whatever they are."""
    budget = _Budget()
    root = _part(raw, (0, len(raw)), "text/plain", MAX_DEPTH, budget)
    return Structure(root=root, capped=tuple(budget.capped))


def _part(raw: bytes, span: tuple[int, int], default: str, depth: int, budget: _Budget) -> Part:
    fields, body = split_head(raw, *span)
    if fields.cut:
        budget.say("a header block was longer than 256 KiB; the rest of it was not read")
    content = parse_parameterised(next(iter(fields.all("content-type")), b""))
    disposition = parse_parameterised(next(iter(fields.all("content-disposition")), b""))
    named = disposition.parameters.get("filename") or content.parameters.get("name") or ""
    part = Part(
        raw=raw,
        start=body,
        end=span[1],
        fields=fields,
        media_type=media_type(content, default),
        content=content,
        disposition=disposition.value,
        filename=safe_filename(named),
    )
    return _with_children(part, depth, budget)


def _with_children(part: Part, depth: int, budget: _Budget) -> Part:
    """The part with what is inside it; a multipart without any delimiter is plain text."""
    multipart = part.media_type.startswith("multipart/")
    if not multipart and not is_message(part.media_type):
        return part
    if depth == 0:
        budget.say(f"parts nested deeper than {MAX_DEPTH} are shown as they stand")
        return _as_text(part)
    if not multipart:
        return _replaced(part, (_attached(part, depth, budget),))
    default = "message/rfc822" if part.media_type == "multipart/digest" else "text/plain"
    children: list[Part] = []
    for span in _spans(part, budget):
        if budget.parts == 0:
            budget.say(f"only the first {MAX_PARTS} parts were read")
            break
        budget.parts -= 1
        children.append(_part(part.raw, span, default, depth - 1, budget))
    return _replaced(part, tuple(children)) if children else _as_text(part)


def _replaced(part: Part, children: tuple[Part, ...], kind: str | None = None) -> Part:
    return Part(
        raw=part.raw,
        start=part.start,
        end=part.end,
        fields=part.fields,
        media_type=kind or part.media_type,
        content=part.content,
        disposition=part.disposition,
        filename=part.filename,
        children=children,
    )


def _as_text(part: Part) -> Part:
    return _replaced(part, (), "text/plain")


def _attached(part: Part, depth: int, budget: _Budget) -> Part:
    """The message inside a message part, also where somebody encoded it as a whole."""
    if _encoding(part.fields) in {"base64", "quoted-printable"}:
        inner = part.decoded()
        return _part(inner, (0, len(inner)), "text/plain", depth - 1, budget)
    return _part(part.raw, (part.start, part.end), "text/plain", depth - 1, budget)


def _spans(part: Part, budget: _Budget) -> Iterator[tuple[int, int]]:
    """The ranges between the delimiter lines; the last one may lack its end."""
    raw, boundary = part.raw, _boundary(part)
    if not boundary:
        return
    begin: int | None = None
    for line_start, after, closing in _delimiters(raw, (part.start, part.end), boundary, budget):
        if begin is not None:
            yield begin, max(begin, _before_line_break(raw, line_start))
        begin = after
        if closing:
            return
    if begin is not None:
        yield begin, part.end


def _boundary(part: Part) -> bytes:
    """The declared boundary, or the first line that looks like one where none was declared."""
    declared = part.content.parameters.get("boundary", "").rstrip()
    if declared:
        return declared.encode("utf-8", "surrogateescape")[:200]
    window = part.raw[part.start : min(part.end, part.start + 65_536)]
    guess = _FIRST_DELIMITER.search(window)
    return guess[1] if guess else b""


def _delimiters(
    raw: bytes, span: tuple[int, int], boundary: bytes, budget: _Budget
) -> Iterator[tuple[int, int, bool]]:
    """Each delimiter line as (its start, the start of the next line, is it the last)."""
    needle = b"--" + boundary
    position, end = span
    while True:
        found = raw.find(needle, position, end)
        if found < 0:
            return
        budget.delimiters -= 1
        if budget.delimiters < 0:
            budget.say(f"more than {MAX_DELIMITERS} lines look like delimiters; the rest was left")
            return
        ending = _LINE_END.match(raw, found + len(needle), end)
        if ending and (found == span[0] or raw[found - 1 : found] == b"\n"):
            yield found, ending.end(), ending[1] is not None
            position = ending.end()
        else:
            position = found + len(needle)


def _before_line_break(raw: bytes, position: int) -> int:
    """Where the line break in front of a delimiter begins: it belongs to the delimiter."""
    if raw[position - 1 : position] != b"\n":
        return position
    return position - 2 if raw[position - 2 : position - 1] == b"\r" else position - 1


def _encoding(fields: Fields) -> str:
    values = fields.all("content-transfer-encoding")
    return unfold(values[0]).split(";")[0].strip().lower() if values else ""


def _undo(body: bytes, encoding: str) -> bytes:
    match encoding:
        case "base64":
            return _from_base64(body)
        case "quoted-printable":
            return binascii.a2b_qp(body)
        case "uuencode" | "x-uuencode" | "uue" | "x-uue":
            return _from_uuencode(body)
        case _:
            return body


def _from_base64(body: bytes) -> bytes:
    try:
        return binascii.a2b_base64(body)
    except binascii.Error:
        letters = re.sub(rb"[^A-Za-z0-9+/]", b"", body)
        return binascii.a2b_base64(letters[: len(letters) - (len(letters) % 4 == 1)] + b"===")


def _from_uuencode(body: bytes) -> bytes:
    lines = body.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith(b"begin ")), -1)
    data = b""
    for line in lines[first + 1 :]:
        if line.strip() in {b"end", b"`"}:
            break
        try:
            data += binascii.a2b_uu(line)
        except binascii.Error:
            continue
    return data
