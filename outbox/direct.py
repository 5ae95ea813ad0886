"""A send that the owner took out of the outbox: a draft all the same, released at once.

Why a draft: so that its attempt is on disk before anything leaves, a killed process leaves doubt
and no second mail, a rehearsal's send stays on the machine, and what went out is known as sent by
steward. Only the waiting falls away. What does not go out waits for the owner like any other draft.
"""

from dataclasses import dataclass

from outbox.errors import LeaseLost, OutboxError, StagingFailed
from outbox.marks import MarkCode, marks_from_json
from outbox.release import Released
from outbox.states import Decider
from outbox.tables import Draft
from outbox.turn import GateParts, Prepared
from tools.crashpoint import crash_point
from tools.result import ToolResult
from tools.taint import taint_from_json

UNSEEN = "It holds a stranger's words or a file that cannot be shown, which nobody has read yet"
NOT_AGAIN = "Do not call the tool again for it: what becomes of the draft is the owner's to say."


@dataclass(frozen=True, slots=True, kw_only=True)
class SentAtOnce:
    """What the model is told; `waiting` is the draft that the owner must now look at, if any."""

    result: ToolResult
    waiting: str | None = None


async def send_at_once(parts: GateParts, prepared: Prepared) -> SentAtOnce:
    """The call was completed, staged and released by the approval it has; the truth of it is told.

    The call's start is written, its result is not. Raises: LeaseLost; then nothing was begun.
    """
    try:
        draft = await parts.stager.begin(parts.journal, prepared, parts.facts)
    except StagingFailed as failure:
        return SentAtOnce(result=ToolResult.error(f"{failure}; nothing was sent by this call"))
    crash_point("direct.staged")
    if _holds_the_unseen(draft, prepared):
        text = f"Nothing was sent. {UNSEEN}; draft {draft.id} waits for the owner"
        return SentAtOnce(result=ToolResult.ok(f"{text}. {NOT_AGAIN}"), waiting=draft.id)
    sent = await _released(parts, draft)
    crash_point("direct.released")
    return sent


def _holds_the_unseen(draft: Draft, prepared: Prepared) -> bool:
    """True where completing the call brought in what the person who said yes has not seen."""
    if any(mark.code is MarkCode.OPAQUE for mark in marks_from_json(draft.marks)):
        return True
    was_known = prepared.taint.is_untrusted
    return taint_from_json(draft.taint).is_untrusted and not was_known


async def _released(parts: GateParts, draft: Draft) -> SentAtOnce:
    decider = Decider(by="owner", via=parts.door.name)
    try:
        released = await parts.releaser.approve(draft.id, revision=draft.revision, decider=decider)
    except LeaseLost:
        raise
    except OutboxError as problem:
        return _left(draft.id, f"draft {draft.id} was not released as it should be: {problem}")
    return _told(released)


def _told(released: Released) -> SentAtOnce:
    if released.is_sent:
        return SentAtOnce(result=ToolResult.ok(released.text))
    return _left(released.draft.id, released.text)


def _left(draft_id: str, text: str) -> SentAtOnce:
    return SentAtOnce(result=ToolResult.error(f"{text}. {NOT_AGAIN}"), waiting=draft_id)
