"""The tool behind a draft, fetched when the draft is released or asked about."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from outbox.errors import SenderMissing
from outbox.failures import Saying
from outbox.tables import Draft
from tools.contract import CompletionError, ReviewShape, Sender, ToolContext
from tools.registry import Entry


class SenderDesk(Protocol):
    """Where tools and their contexts come from; the floor above implements it."""

    def entry(self, tool: str) -> Entry | None:
        """The tool of that name as it is installed now."""
        ...

    def context(self, draft: Draft) -> ToolContext:
        """What the tool is handed to send this draft. Raises: SenderMissing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A sender that can be called for one draft."""

    sender: Sender
    shape: ReviewShape
    context: ToolContext


def sender_for(desk: SenderDesk, draft: Draft) -> Ready:
    """The sender of a draft, whatever its definition is now. Raises: SenderMissing."""
    entry = _entry(desk, draft)
    with Saying(lambda error: _broken(draft, error)):
        handler = entry.handler
        context = desk.context(draft)
    if not isinstance(handler, Sender):
        raise SenderMissing(f"{draft.tool} does not send drafts any more; reject this one")
    return Ready(sender=handler, shape=entry.spec.review, context=context)


def unchanged_sender_for(desk: SenderDesk, draft: Draft) -> Ready:
    """The sender of a draft, proven to be what it was when the draft was staged.

    Raises: SenderMissing also where its definition changed, where the draft was written by a
    rehearsal and would leave the machine, and where the sender finds that it cannot be sent.
    """
    ready = sender_for(desk, draft)
    with Saying(lambda error: _broken(draft, error)):
        definition = _entry(desk, draft).definition_hash
        stays_here = not draft.loopback_only or ready.sender.loopback_only(
            draft.args, ready.context
        )
        problem = _unsendable(ready, draft)
    if definition != draft.definition_hash:
        raise SenderMissing(
            f"the tool {draft.tool} changed since this draft was made, so it may do something "
            "else now; reject the draft with a reason, and the agent makes it again"
        )
    if not stays_here:
        raise SenderMissing(
            "this draft was written by a rehearsal without any model; it is released only to a "
            "server on this machine"
        )
    if problem is not None:
        raise SenderMissing(f"{problem}; edit the draft")
    return ready


def check_for(desk: SenderDesk, draft: Draft) -> Callable[[Mapping[str, Any]], None]:
    """The sender's check of arguments for this draft, which raises CompletionError.

    Where the sender cannot be had now it finds nothing: a release checks once more.
    """

    def check(args: Mapping[str, Any]) -> None:
        try:
            ready = sender_for(desk, draft)
        except SenderMissing:
            return
        ready.sender.check(args, ready.context)

    return check


def _unsendable(ready: Ready, draft: Draft) -> str | None:
    try:
        ready.sender.check(draft.args, ready.context)
    except CompletionError as problem:
        return str(problem)
    return None


def shape_for(desk: SenderDesk, draft: Draft) -> ReviewShape:
    """How the draft reads; of a tool that is gone, every argument by its name."""
    entry = desk.entry(draft.tool)
    return ReviewShape() if entry is None else entry.spec.review


def _entry(desk: SenderDesk, draft: Draft) -> Entry:
    entry = desk.entry(draft.tool)
    if entry is None:
        raise SenderMissing(
            f"there is no tool {draft.tool} now; configure it again, then approve the draft"
        )
    return entry


def _broken(draft: Draft, error: Exception) -> SenderMissing:
    said = str(error) or type(error).__name__
    return SenderMissing(f"{draft.tool} cannot be used now: {said}")
