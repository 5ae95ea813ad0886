"""Pure. What has entered a conversation: private data, untrusted text, and through which call."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

SOURCES_KEPT = 20  # enough to explain a refusal; the leg itself never shrinks


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One call (or door) that set a leg: the tool's name, the turn, one short description."""

    tool: str
    turn: int
    what: str

    def __str__(self) -> str:
        return f"{self.tool} in turn {self.turn} ({self.what})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """The two legs; a leg is set exactly when it names a source. Only `merge` combines, and it grows."""

    private: tuple[Source, ...] = ()
    untrusted: tuple[Source, ...] = ()

    @property
    def is_private(self) -> bool:
        """True once private data was read."""
        return bool(self.private)

    @property
    def is_untrusted(self) -> bool:
        """True once text that is not the owner's came in."""
        return bool(self.untrusted)

    def merge(self, *others: "Taint") -> "Taint":
        """The union of the legs, oldest sources first, at most 20 a leg."""
        every = (self, *others)
        return Taint(
            private=_distinct(source for taint in every for source in taint.private),
            untrusted=_distinct(source for taint in every for source in taint.untrusted),
        )

    def as_json(self) -> dict[str, Any]:
        """`{"private": [...], "untrusted": [...]}`, each source as `{tool, turn, what}`."""
        return {
            "private": [_source_json(source) for source in self.private],
            "untrusted": [_source_json(source) for source in self.untrusted],
        }

    def flags(self) -> dict[str, bool]:
        """`{"private": bool, "untrusted": bool}`, the form of every `--json` listing."""
        return {"private": self.is_private, "untrusted": self.is_untrusted}


CLEAN = Taint()
UNKNOWN = Taint(
    private=(Source(tool="unknown", turn=0, what="no record of what was read"),),
    untrusted=(Source(tool="unknown", turn=0, what="no record of where the text came from"),),
)


def taint_from_json(value: object) -> Taint:
    """The taint that `as_json` wrote; anything else, `None` included, is unknown and so fully armed."""
    if not isinstance(value, dict) or set(value) != {"private", "untrusted"}:
        return UNKNOWN
    try:
        legs = {leg: tuple(Source(**source) for source in value[leg]) for leg in value}
    except TypeError:
        return UNKNOWN
    return Taint(**legs)


def _source_json(source: Source) -> dict[str, Any]:
    return {"tool": source.tool, "turn": source.turn, "what": source.what}


def _distinct(sources: Iterable[Source]) -> tuple[Source, ...]:
    return tuple(dict.fromkeys(sources))[:SOURCES_KEPT]
