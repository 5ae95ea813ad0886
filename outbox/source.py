"""The message a draft answers, found in the drafting run's own transcript by its provider's id."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlmodel import Session

from outbox.journal import SessionText
from tools.contract import ReviewShape

SOURCE_TEXT_LIMIT = 64 * 1024  # characters of the answered message that a draft keeps


def find_source(
    session: Session,
    text: SessionText,
    session_id: str,
    shape: ReviewShape,
    *argument_sets: Mapping[str, Any],
) -> dict[str, Any] | None:
    """The message a draft answers, as `Draft.replying_to` keeps it.

    None where the call answers nothing; `{"state": "gone", "provider_id"}` where no read of this
    session returned that message; else `{"state": "found", "provider_id", "title", "text",
    "cut_characters", "seq", "tool"}` of the newest read that did. It is never fetched again: the
    reviewer sees what the agent saw. The argument sets are searched in the order given.
    """
    provider_id = _provider_id(shape, argument_sets)
    if provider_id is None:
        return None
    reads = text.items(session, session_id, provider_id)
    if not reads:
        return {"state": "gone", "provider_id": provider_id}
    newest = max(reads, key=lambda read: read.seq)
    return {
        "state": "found",
        "provider_id": provider_id,
        "title": newest.item.title,
        "text": newest.item.text[:SOURCE_TEXT_LIMIT],
        "cut_characters": max(0, len(newest.item.text) - SOURCE_TEXT_LIMIT),
        "seq": newest.seq,
        "tool": newest.tool,
    }


def _provider_id(shape: ReviewShape, argument_sets: Sequence[Mapping[str, Any]]) -> str | None:
    if shape.source_id is None:
        return None
    values = (arguments.get(shape.source_id) for arguments in argument_sets)
    return next((value for value in values if isinstance(value, str) and value.strip()), None)
