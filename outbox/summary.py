"""Pure. One line about a draft: whom it goes to, and what it is about."""

from collections.abc import Mapping
from typing import Any

from outbox.identifiers import whole
from outbox.leaves import leaves, texts
from outbox.visible import visible
from tools.contract import ReviewShape

SUMMARY_LIMIT = 160
RECIPIENTS_NAMED = 2
SUBJECTS = ("subject", "title", "summary")


def summarise(tool: str, shape: ReviewShape, args: Mapping[str, Any]) -> str:
    """At most 160 characters on one line, recipient first, then the subject; nothing unseen in it."""
    who = _recipients(shape, args)
    what = _subject(shape, args)
    text = f"to {who}: {what}" if who else f"{tool}: {what}"
    return text if len(text) <= SUMMARY_LIMIT else text[: SUMMARY_LIMIT - 1] + "\u2026"


def _recipients(shape: ReviewShape, args: Mapping[str, Any]) -> str:
    named = [address_first(text) for name in shape.recipients for _, text in texts(args.get(name))]
    shown = ", ".join(named[:RECIPIENTS_NAMED])
    more = len(named) - RECIPIENTS_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _subject(shape: ReviewShape, args: Mapping[str, Any]) -> str:
    headers = [name for name in shape.headers if name not in shape.recipients]
    likely = [name for name in SUBJECTS if name in headers] or list(reversed(headers))
    for name in (*likely, shape.body):
        value = args.get(name) if name else None
        if isinstance(value, str) and value.strip():
            return visible(value.strip().splitlines()[0])
    return visible(next((f"{path} {leaf}" for path, leaf in leaves(args)), "")) or "(no subject)"


def address_first(text: str) -> str:
    """A mailbox as its address alone, without the display name; any other text as it is."""
    trimmed = text.strip()
    if trimmed.endswith(">") and whole(text) is not None:
        return visible(trimmed[trimmed.rindex("<") + 1 : -1])
    return visible(trimmed)
