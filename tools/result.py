"""What a tool call gives back: content for the model, and facts about it for the gate."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """Text for the model."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePart:
    """A picture for models that see; always arms both legs of the taint."""

    media_type: str
    data: bytes


Part = TextPart | ImagePart


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing a read returned, under its provider's own id, so that a reply can be joined to it.

    `provider_id` is what the provider calls it (a mail's Message-ID), never a value that several
    items share. `text` is what the reviewer will see of it, without any wrapper.
    """

    provider_id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The outcome of one call.

    `external`: this very content came from outside the machine. `files`: canonical paths the call
    wrote. `typed_by_owner`: the content is the owner's own typing (an answered question).
    `redactions`: secrets removed from the content. `parked`: the id of the question that
    must be answered before this call has a result. `broken`: an error id; the call raised what no
    model can route around, and whether it took effect is unknown.
    """

    parts: tuple[Part, ...] = ()
    is_error: bool = False
    external: bool = False
    files: tuple[Path, ...] = ()
    items: tuple[Item, ...] = ()
    typed_by_owner: bool = False
    redactions: int = 0
    parked: str | None = None
    broken: str | None = None

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @classmethod
    def ok(
        cls,
        text: str,
        *,
        external: bool = False,
        files: Sequence[Path] = (),
        items: Sequence[Item] = (),
    ) -> "ToolResult":
        """A successful text result."""
        return cls(
            parts=(TextPart(text=text),), external=external, files=tuple(files), items=tuple(items)
        )

    @classmethod
    def error(cls, text: str, *, external: bool = False) -> "ToolResult":
        """An expected failure, told to the model so that it can go on another way."""
        return cls(parts=(TextPart(text=text),), is_error=True, external=external)
