"""Deciding at the terminal: nothing goes out but what was shown, and plain Enter is no."""

import argparse
import asyncio
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from bot.cli.asking import ask_yes, is_present, needs_owner
from bot.cli.exit_codes import DONE, ERROR
from bot.cli.output import loud, plain, say
from bot.cli.review_text import print_review
from bot.commands.outbox import (
    approve_draft,
    became_of,
    check_can_edit,
    edit_draft,
    editable_text,
    edited_args,
    find_drafts,
    pending_drafts,
    reconcile_draft,
    reject_draft,
    show_draft,
)
from bot.errors import UsageProblem
from bot.wiring import House
from outbox.confirmation import YesRequest, asks_again, refuse_yes, split_batch
from outbox.errors import NotFound, OutboxError
from outbox.tables import Draft, DraftStatus


def approve(house: House, args: argparse.Namespace) -> int:
    """Release each named draft; a batch goes on after a failure and ends non-zero."""
    if args.revision is not None and len(args.ids) > 1:
        raise UsageProblem("--revision names the revision of one draft; name one id with it")
    chosen = find_drafts(house, args.ids)
    if args.yes:
        return _approve_by_yes(house, args, chosen)
    if not (is_present() and sys.stdout.isatty()):
        raise UsageProblem(
            "a draft is shown and asked about on a terminal, and there is none; a program needs "
            "--yes and [outbox] scripts = true"
        )
    failed = False
    for draft in chosen:
        read = _confirmed(house, draft)
        if read is None:
            say(f"draft {draft.id} was not sent; it waits")
            failed = True
            continue
        failed |= not release(house, read, args.revision)
    return ERROR if failed else DONE


def _approve_by_yes(house: House, args: argparse.Namespace, chosen: list[Draft]) -> int:
    request = YesRequest(
        drafts_named=len(chosen),
        revision=args.revision,
        terminal=is_present(),
        scripts=house.outbox_settings.scripts,
    )
    refusal = refuse_yes(request)
    if refusal is not None:
        raise UsageProblem(refusal)
    pending = [draft for draft in chosen if draft.status is DraftStatus.PENDING]
    _, skipped = split_batch(pending, request)
    for _, why in skipped:
        say(plain(why))
    failed = bool(skipped)
    refused = {draft.id for draft, _ in skipped}
    for draft in chosen:
        if draft.id not in refused:
            failed |= not release(house, draft, args.revision)
    return ERROR if failed else DONE


def _confirmed(house: House, draft: Draft) -> Draft | None:
    """The draft as it was shown whole and said yes to, twice where a mark demands it.

    One that is not pending is not asked about: its release says what happened already.
    """
    if draft.status is not DraftStatus.PENDING:
        return draft
    shown = show_draft(house, draft.id)
    print_review(shown)
    if ask_yes("Send exactly this? [y/N] ") and confirm_marks(shown.draft):
        return shown.draft
    return None


def confirm_marks(draft: Draft) -> bool:
    """True where no mark asks once more, or the owner says yes under the text that was shown."""
    if not asks_again(draft):
        return True
    codes = ", ".join(dict.fromkeys(str(mark["code"]) for mark in draft.marks))
    return ask_yes(loud(f"It is marked {codes}. Really send it? [y/N] "))


def release(house: House, draft: Draft, revision: int | None) -> bool:
    """Release what was read; what went wrong is one line, and the next draft is not kept from it.

    Raises: KeyboardInterrupt, after saying what became of the draft.
    """
    wanted = draft.revision if revision is None else revision
    try:
        released = asyncio.run(approve_draft(house, draft.id, revision=wanted, via="cli"))
    except OutboxError as problem:
        say(f"steward outbox: {plain(str(problem))}")
        return False
    except KeyboardInterrupt:
        say(f"\nsteward outbox: {plain(became_of(house, draft.id))}")
        raise
    if released.is_sent:
        print(plain(released.text))
    else:
        say(f"steward outbox: {plain(released.text)}")
    return released.is_sent


def reject(house: House, args: argparse.Namespace) -> int:
    """Reject the named drafts, or with --all every pending one; uncertain ones are not touched."""
    if args.all == bool(args.ids):
        raise UsageProblem("name the drafts to reject, or give --all, not both and not neither")
    chosen = pending_drafts(house) if args.all else find_drafts(house, args.ids)
    if not chosen:
        raise NotFound("no draft is pending; nothing was rejected")
    rejected = 0
    for draft in chosen:
        try:
            _, starts = reject_draft(house, draft.id, reason=args.reason, via="cli")
        except OutboxError as problem:
            say(f"steward outbox: {plain(str(problem))}")
            continue
        rejected += 1
        heard = "when 'steward up' runs, or with" if starts else "with"
        print(
            f"draft {draft.id} is rejected; its agent hears why {heard} its session's next prompt"
        )
    if len(chosen) > 1:
        print(f"{rejected} of {len(chosen)} rejected")
    return DONE if rejected == len(chosen) else ERROR


def reconcile(house: House, args: argparse.Namespace) -> int:
    """Record what the owner found out; nothing is sent."""
    needs_owner("reconciling a draft", scripts=house.outbox_settings.scripts)
    (draft,) = find_drafts(house, [args.id])
    delivered = args.outcome == "delivered"
    settled = reconcile_draft(
        house, draft.id, delivered=delivered, evidence=args.evidence, via="cli"
    )
    print(f"draft {settled.id} is {settled.status} by your word; nothing was sent now")
    return DONE


def edit(house: House, args: argparse.Namespace) -> int:
    """Open the text (or all arguments) in $EDITOR, or take it from a file.

    Only what was typed in the editor is the owner's own words.
    """
    (draft,) = find_drafts(house, [args.id])
    check_can_edit(house, draft)
    whole = args.json or args.args_file is not None
    source = args.args_file or args.body_file
    typed = source is None
    if source is None:
        text = edit_in_editor(editable_text(house, draft, whole=whole), is_json=whole)
    else:
        scripts = house.outbox_settings.scripts
        needs_owner("editing a draft from a file", scripts=scripts, piped=source == "-")
        text = sys.stdin.read() if source == "-" else _read_file(source)
    edited = edit_draft(house, draft, edited_args(house, draft, text, whole=whole), typed=typed)
    if edited.revision == draft.revision:
        print(f"draft {draft.id} is unchanged")
    else:
        print(f"draft {draft.id} is revision {edited.revision} now: {plain(edited.summary)}")
    return DONE


def _read_file(name: str) -> str:
    try:
        return Path(name).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"cannot read {name}: {error}; the draft is unchanged") from None


def edit_in_editor(text: str, *, is_json: bool) -> str:
    """The text as the owner left it in $VISUAL or $EDITOR; a line end an editor adds is taken off.

    Raises: UsageProblem when the editor cannot be started or failed; then nothing is changed.
    """
    if not is_present():
        raise UsageProblem("there is no terminal for an editor; use --body-file F or --args-file F")
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="steward-") as folder:
        path = Path(folder) / ("draft.json" if is_json else "draft.txt")
        path.write_text(text, encoding="utf-8", newline="")
        try:
            done = subprocess.run([*shlex.split(editor), str(path)], check=False)
        except (OSError, ValueError) as error:
            raise UsageProblem(f"cannot start the editor '{editor}': {error}") from None
        if done.returncode != 0:
            raise UsageProblem(f"the editor ended with {done.returncode}; the draft is unchanged")
        after = path.read_bytes().decode("utf-8", errors="replace")
    added_end = after.endswith("\n") and not text.endswith("\n")
    return after.removesuffix("\n") if added_end else after
