"""Pure. The readable text of a message's parts, as a person's mail program would choose it."""

from dataclasses import dataclass, field
from enum import StrEnum

from tools.mail.charsets import decode_text
from tools.mail.dates import format_date
from tools.mail.heads import head_of
from tools.mail.html_text import html_to_text
from tools.mail.mime import Part, is_message
from tools.mail.plain_text import tidy, unflow

MAX_TEXT_CHARACTERS = 40_000_000
MAX_ATTACHED_TEXT_DEPTH = 5
_PREVIEWED_BYTES = 65_536

_REPORTS = frozenset({"message/delivery-status", "message/disposition-notification"})


class BodyKind(StrEnum):
    """What a reader of the message would see, attached messages left aside."""

    TEXT = "text"
    TEXT_AND_HTML = "text+html"
    HTML = "html"
    NONE = "none"


@dataclass(slots=True)
class _Reader:
    """Collects text up to a limit and remembers what was left out."""

    left: int = MAX_TEXT_CHARACTERS
    part_bytes: int | None = None  # how much of a part is decoded; all of it if None
    capped: list[str] = field(default_factory=list)

    def take(self, text: str) -> str:
        if len(text) > self.left:
            self.capped.append(f"text beyond {MAX_TEXT_CHARACTERS} characters was left out")
            text = text[: self.left]
        self.left -= len(text)
        return text


def is_body_text(part: Part) -> bool:
    """True for text that belongs to the body: no name, and not marked as attached."""
    readable = part.media_type in {"text/plain", "text/html", "text/enriched", "text/richtext"}
    return readable and not part.filename and part.disposition != "attachment"


def body_kind(root: Part) -> BodyKind:
    """Which kinds of text the body holds: parts that stand there, a lone one only with text."""
    kinds = {
        "html" if part.media_type == "text/html" else "plain"
        for part in root.walk()
        if not part.children
        and is_body_text(part)
        and (part is not root or part.raw[part.start : part.end].strip())
    }
    match ("plain" in kinds, "html" in kinds):
        case (True, True):
            return BodyKind.TEXT_AND_HTML
        case (True, False):
            return BodyKind.TEXT
        case (False, True):
            return BodyKind.HTML
        case _:
            return BodyKind.NONE


def full_text(root: Part) -> tuple[str, tuple[str, ...]]:
    """All readable text with attached messages below it, and what had to be left out."""
    reader = _Reader()
    blocks = _blocks(root, MAX_ATTACHED_TEXT_DEPTH, reader)
    return "\n\n".join(block for block in blocks if block), tuple(reader.capped)


def preview(root: Part, characters: int) -> str:
    """The beginning of the readable text; of a huge part only the front is decoded."""
    reader = _Reader(left=characters, part_bytes=max(_PREVIEWED_BYTES, characters * 8))
    return "\n\n".join(block for block in _blocks(root, 1, reader) if block)


def part_text(part: Part, limit: int | None = None) -> str:
    """The decoded text of one text part, or of as many whole lines as `limit` bytes hold."""
    data = part.decoded(limit)
    if limit is not None and limit < part.size_bytes:
        data = data[: data.rfind(b"\n") + 1] or data
    text = decode_text(data, part.content.parameters.get("charset"))
    if part.media_type == "text/html":
        return html_to_text(text)
    if part.content.parameters.get("format", "").lower() == "flowed":
        delete_space = part.content.parameters.get("delsp", "").lower() == "yes"
        text = unflow(text, delete_space=delete_space)
    return tidy(text)


def _blocks(part: Part, depth: int, reader: _Reader) -> list[str]:
    """The blocks of text below this part, in reading order."""
    if is_message(part.media_type):
        return _attached(part, depth, reader)
    if part.media_type == "multipart/alternative":
        return _best(part, depth, reader)
    if part.children:
        return [block for child in part.children for block in _blocks(child, depth, reader)]
    if reader.left and (is_body_text(part) or part.media_type in _REPORTS):
        return [reader.take(part_text(part, reader.part_bytes).strip("\n").rstrip())]
    return []


def _best(part: Part, depth: int, reader: _Reader) -> list[str]:
    """The plain alternative where it says anything, else the richest one that does."""
    plain = [child for child in part.children if child.media_type == "text/plain"]
    others = [child for child in reversed(part.children) if child not in plain]
    for child in [*plain, *others]:
        blocks = _blocks(child, depth, reader)
        if any(block.strip() for block in blocks):
            return blocks
    return []


def _attached(part: Part, depth: int, reader: _Reader) -> list[str]:
    if not part.children or depth == 0:
        return []
    inner = part.children[0]
    head = head_of(inner.fields)
    lines = [
        "----- Attached message -----",
        f"From: {', '.join(map(str, head.sender))}",
        f"To: {', '.join(map(str, head.to))}",
        f"Date: {format_date(head.date) if head.date else head.date_text or 'none'}",
        f"Subject: {head.subject or ''}",
    ]
    return [reader.take("\n".join(lines)), *_blocks(inner, depth - 1, reader)]
