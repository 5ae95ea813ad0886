"""The message a draft answers, found in the drafting run's own transcript by its provider's id.

Where the run never read it, completing the draft did: then it is the message as it was when the
draft was made, which is what the draft quotes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session

from outbox.journal import Origin, SessionText, Span
from tools.contract import Completed, ReviewShape
from tools.result import Item

SOURCE_TEXT_LIMIT = 64 * 1024  # characters of the answered message that a draft keeps


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """A call that was completed: its tool, its decoded arguments, and what became of them."""

    tool: str
    shape: ReviewShape
    arguments: Mapping[str, Any]
    completed: Completed


def find_source(
    session: Session, text: SessionText, session_id: str, call: Answering
) -> dict[str, Any] | None:
    """The message a draft answers, as `Draft.replying_to` keeps it.

    None where the call answers nothing; `{"state": "gone", "provider_id"}` where nobody read that
    message; else `{"state": "found", "provider_id", "title", "text", "cut_characters", "seq",
    "tool"}` of the newest read of this session that did. It is never fetched again: the reviewer
    sees what the agent saw. Where only the completion read it, `seq` is null and `tool` the
    sender. `quoted`, where the completion read it as well: the text as the draft may quote it.
    """
    provider_id = _provider_id(call.shape, (call.completed.args, call.arguments))
    if provider_id is None:
        return None
    drawn = (each.item for each in call.completed.drawn if each.item is not None)
    own = next((item for item in drawn if item.provider_id == provider_id), None)
    reads = text.items(session, session_id, provider_id)
    if not reads:
        if own is None:
            return {"state": "gone", "provider_id": provider_id}
        return _found(own, seq=None, tool=call.tool)
    newest = max(reads, key=lambda read: read.seq)
    found = _found(newest.item, seq=newest.seq, tool=newest.tool)
    return found if own is None else {**found, "quoted": own.text[:SOURCE_TEXT_LIMIT]}


def _found(item: Item, *, seq: int | None, tool: str) -> dict[str, Any]:
    return {
        "state": "found",
        "provider_id": item.provider_id,
        "title": item.title,
        "text": item.text[:SOURCE_TEXT_LIMIT],
        "cut_characters": max(0, len(item.text) - SOURCE_TEXT_LIMIT),
        "seq": seq,
        "tool": tool,
    }


def read_when_drafting(replying_to: Mapping[str, Any] | None) -> bool:
    """True where the session itself never read the answered message."""
    return (
        replying_to is not None and replying_to["state"] == "found" and replying_to["seq"] is None
    )


def drawn_text(tool: str, replying_to: Mapping[str, Any] | None, at: datetime) -> tuple[Span, ...]:
    """What completing the draft took from the answered message: a stranger's text, never the model's
    to see."""
    if replying_to is None or replying_to["state"] != "found":
        return ()
    drawn = replying_to["text"] if read_when_drafting(replying_to) else replying_to.get("quoted")
    if drawn is None:
        return ()
    source = f"{tool} (quoted {replying_to['provider_id']})"
    return (Span(seq=0, origin=Origin.THIRD_PARTY, text=drawn, source=source, at=at),)


def _provider_id(shape: ReviewShape, argument_sets: Sequence[Mapping[str, Any]]) -> str | None:
    if shape.source_id is None:
        return None
    values = (arguments.get(shape.source_id) for arguments in argument_sets)
    return next((value for value in values if isinstance(value, str) and value.strip()), None)
