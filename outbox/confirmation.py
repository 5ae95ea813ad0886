"""Pure. What a release must be asked for: which drafts `--yes` may release, and which ask again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from outbox.marks import MarkCode, blocks_unread, marks_from_json, needs_confirmation


class Reviewed(Protocol):
    """What of a draft decides how it must be asked for."""

    id: str
    revision: int
    marks: list[dict[str, Any]]


Item = TypeVar("Item", bound=Reviewed)


@dataclass(frozen=True, slots=True, kw_only=True)
class YesRequest:
    """A release by `--yes`: how many ids were named, at which revision, and from where."""

    drafts_named: int
    revision: int | None
    terminal: bool
    scripts: bool  # `[outbox] scripts`


def asks_again(draft: Reviewed) -> bool:
    """True if a surface must show the whole text and ask once more before it releases."""
    return needs_confirmation(marks_from_json(draft.marks))


def may_go_unread(draft: Reviewed) -> bool:
    """True if a surface may offer a release beside less than the whole text, or in a batch."""
    return not blocks_unread(marks_from_json(draft.marks))


def refuse_yes(request: YesRequest) -> str | None:
    """Why `--yes` does not count here at all, or None."""
    if request.terminal or request.scripts:
        return None
    return (
        "--yes needs a terminal, because nobody may have read this; release it in one, or set "
        "'scripts = true' under [outbox]"
    )


def refuse_draft(draft: Reviewed, request: YesRequest) -> str | None:
    """Why `--yes` does not release this draft, or None. In a batch it is skipped, and said.

    An edited draft needs the revision that was read; an unowned or opaque one must be the only id
    named.
    """
    if request.drafts_named > 1 and not may_go_unread(draft):
        return (
            f"draft {draft.id} {_why_alone(draft)}; read it and release it by itself: "
            f"'steward outbox show {draft.id}', then 'steward outbox approve {draft.id}'"
        )
    if draft.revision > 1 and request.revision is None:
        return (
            f"draft {draft.id} was edited; read it, then add '--revision {draft.revision}' to "
            f"'steward outbox approve {draft.id} --yes'"
        )
    return None


def _why_alone(draft: Reviewed) -> str:
    codes = {mark.code for mark in marks_from_json(draft.marks)}
    if MarkCode.UNOWNED in codes:
        return "goes somewhere you never named"
    return "holds something that cannot be shown here"


def split_batch(
    drafts: Sequence[Item], request: YesRequest
) -> tuple[list[Item], list[tuple[Item, str]]]:
    """The drafts `--yes` releases, and those it skips with the reason, in the order given."""
    released, skipped = [], []
    for draft in drafts:
        refusal = refuse_draft(draft, request)
        if refusal is None:
            released.append(draft)
        else:
            skipped.append((draft, refusal))
    return released, skipped
