"""The outbox as a person asks for it: list, show, edit, approve, reject, reconcile."""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.commands.decisions import note, tell_of_rejection
from bot.wiring import House
from outbox import drafts, listing, recovery
from outbox.attachments import entries
from outbox.attempts import all_attempts
from outbox.edit import (
    Edit,
    Editor,
    args_from_json,
    check_edit,
    key_of_same_shape,
    with_body,
)
from outbox.errors import NotFound
from outbox.judge import subject_of
from outbox.recovery import Finding, Reconciled, Verifier
from outbox.release import Note, Released, Releaser
from outbox.review import Review, project
from outbox.senders import check_for, shape_for
from outbox.states import Decider
from outbox.tables import Draft, DraftStatus
from tools.crashpoint import crash_point


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One draft as a reviewer sees it: stored, projected, and as `--json` shows it."""

    draft: Draft
    review: Review
    as_json: Mapping[str, Any]


def list_drafts(
    house: House, *, status: DraftStatus | None, limit: int, after: str | None
) -> list[dict[str, Any]]:
    """Drafts, newest first; `after` continues below an id. Raises: NotFound for that id."""
    with house.store.read() as session:
        last = drafts.find(session, after).id if after else None
        page = drafts.list_page(session, status=status, limit=limit, after=last)
        return [listing.as_json(draft) for draft in page]


def show_draft(house: House, handle: str) -> Shown:
    """One draft, whole. Raises: NotFound, Ambiguous."""
    with house.store.read() as session:
        draft = drafts.find(session, handle)
        shape = shape_for(house.sending, draft)
        attempts = all_attempts(session, draft.id)
        provenance = house.judge.arguments(session, subject_of(draft, shape))
    return Shown(
        draft=draft,
        review=project(draft, shape, house.judge.attached(draft.args)),
        as_json=listing.shown_json(draft, attempts, provenance),
    )


def attachment_bytes(house: House, handle: str, number: int) -> bytes:
    """The exact bytes of the draft's N-th attachment, counted from 1.

    Raises: NotFound also where there is no such attachment, or its bytes are gone; Ambiguous.
    """
    with house.store.read() as session:
        draft = drafts.find(session, handle)
    found = [entry for _, entry in entries(draft.args)]
    if not 1 <= number <= len(found):
        raise NotFound(f"draft {draft.id} has {len(found)} attachments; there is no {number}")
    data = house.blobs.find(found[number - 1]["sha256"])
    if data is None:
        raise NotFound(
            f"the bytes of attachment {number} of draft {draft.id} are not kept any more"
        )
    return data


def find_drafts(
    house: House, handles: Sequence[str], *, status: DraftStatus | None = None
) -> list[Draft]:
    """The drafts of these handles, each once. Raises: NotFound, Ambiguous, NotAllowed."""
    with house.store.read() as session:
        return drafts.find_all(session, handles, status=status)


def pending_drafts(house: House) -> list[Draft]:
    """Every pending draft, newest first."""
    found: list[Draft] = []
    with house.store.read() as session:
        while True:
            last = found[-1].id if found else None
            page = drafts.list_page(
                session, status=DraftStatus.PENDING, limit=drafts.PAGE_LIMIT, after=last
            )
            found.extend(page)
            if len(page) < drafts.PAGE_LIMIT:
                return found


async def approve_draft(house: House, draft_id: str, *, revision: int, via: str) -> Released:
    """Release one draft at one revision, and leave its session a note of what became of it.

    Raises: as outbox.release.Releaser.approve.
    """
    releaser = Releaser(
        store=house.store, desk=house.sending, note=_noted_at(house.now), now=house.now
    )
    async with house.mail_server():
        return await releaser.approve(
            draft_id, revision=revision, decider=Decider(by="owner", via=via)
        )


def became_of(house: House, draft_id: str) -> str:
    """One line on where a draft stands whose release was stopped. Raises: OutboxError."""
    with house.store.read() as session:
        draft = drafts.find(session, draft_id)
    why = f": {draft.error}" if draft.error else ""
    match draft.status:
        case DraftStatus.PENDING:
            return f"stopped; draft {draft.id} was not sent, and waits{why}"
        case DraftStatus.SENT:
            return f"stopped, too late: draft {draft.id} was sent"
        case DraftStatus.UNCERTAIN | DraftStatus.SENDING:
            return (
                f"stopped; draft {draft.id} may or may not have gone out{why}; "
                f"'steward outbox show {draft.id}' asks its destination"
            )
        case _:
            return f"stopped; draft {draft.id} is {draft.status}"


def _noted_at(now: Callable[[], datetime]) -> Note:
    return lambda session, draft, text: note(session, draft.session_id, text, now())


def reject_draft(house: House, draft_id: str, *, reason: str, via: str) -> tuple[Draft, bool]:
    """Reject it, and let its agent hear the reason: one transaction. True if a run will start.

    Raises: NotAllowed without a reason or while it is uncertain; Stale naming who was first.
    """
    now = house.now()
    with house.store.effect() as session:
        decider = Decider(by="owner", via=via)
        draft = drafts.reject(session, draft_id, decider=decider, reason=reason, now=now)
        starts = tell_of_rejection(session, draft, now)
    crash_point("rejection.stored")
    return draft, starts


def edit_draft(house: House, draft: Draft, args: Mapping[str, Any], *, typed: bool) -> Draft:
    """The draft with these arguments, if it is still at the revision that was read.

    `typed`: the owner typed them in this very edit; what a file brought is not his own.

    Raises: NotAllowed for arguments of another shape; Stale if it changed meanwhile.
    """
    editor = Editor(
        store=house.store,
        judge=house.judge,
        fresh_key=lambda key: key_of_same_shape(key, secrets.token_hex(16)),
        now=house.now,
        check=check_for(house.sending, draft),
    )
    edit = Edit(draft_id=draft.id, args=args, typed=typed, revision=draft.revision)
    return editor.edit(edit, shape_for(house.sending, draft))


def edited_args(house: House, draft: Draft, text: str, *, whole: bool) -> dict[str, Any]:
    """What the owner wrote as arguments: the whole JSON, or the body alone.

    Raises: NotAllowed naming line and column, or where the draft has no body.
    """
    return (
        args_from_json(text) if whole else with_body(draft, shape_for(house.sending, draft), text)
    )


def reconcile_draft(
    house: House, draft_id: str, *, delivered: bool, evidence: str, via: str
) -> Draft:
    """Settle an uncertain draft by the owner's word; nothing is sent.

    Raises: NotAllowed without evidence, or where it is not uncertain or may still end by itself.
    """
    outcome = Reconciled.DELIVERED if delivered else Reconciled.NOT_DELIVERED
    finding = Finding(outcome=outcome, evidence=evidence, decider=Decider(by="owner", via=via))
    with house.store.effect() as session:
        shape = shape_for(house.sending, drafts.find(session, draft_id))
        return recovery.reconcile(session, draft_id, finding, shape=shape, now=house.now())


async def settle_and_verify(house: House, *, only_due: bool = True) -> list[str]:
    """Call lost deliveries uncertain, ask their destinations; one line for each that changed."""
    verifier = Verifier(
        store=house.store, desk=house.sending, note=_noted_at(house.now), now=house.now
    )
    lines = [f"draft {draft.id} is uncertain: {draft.error}" for draft in verifier.settle()]
    lines.extend(released.text for released in await verifier.verify(only_due=only_due))
    return lines


def expire_drafts(house: House) -> int:
    """Expire what waited longer than `[outbox] expire_days`; gives how many."""
    days = house.outbox_settings.expire_days
    if days is None:
        return 0
    now = house.now()
    with house.store.read() as session:
        if not drafts.has_expired(session, now=now, expire_days=days):
            return 0
    with house.store.effect() as session:
        return drafts.expire(session, now=now, expire_days=days)


def check_can_edit(house: House, draft: Draft) -> None:
    """Nothing happens if the draft may be edited. Raises: NotAllowed, Stale."""
    check_edit(
        draft,
        Edit(draft_id=draft.id, args=draft.args, typed=False),
        shape_for(house.sending, draft),
    )


def editable_text(house: House, draft: Draft, *, whole: bool) -> str:
    """What the owner is handed to edit: all arguments as JSON, or the body alone.

    Raises: NotAllowed where the draft has no body.
    """
    if whole:
        return json.dumps(draft.args, ensure_ascii=False, indent=2) + "\n"
    shape = shape_for(house.sending, draft)
    with_body(draft, shape, "")
    assert shape.body is not None
    return str(draft.args[shape.body])
