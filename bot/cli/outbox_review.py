"""`steward outbox review`: the pending drafts one at a time, each whole, each with its own decision."""

import argparse
import sys
from enum import StrEnum

from bot.cli.asking import ask_line, is_present
from bot.cli.exit_codes import DONE
from bot.cli.outbox_decide import confirm_marks, edit_in_editor, release
from bot.cli.output import plain, say
from bot.cli.review_text import print_review
from bot.commands.outbox import (
    check_can_edit,
    edit_draft,
    editable_text,
    edited_args,
    pending_drafts,
    reject_draft,
    show_draft,
)
from bot.errors import UsageProblem
from bot.wiring import House
from outbox.errors import OutboxError
from outbox.tables import Draft, DraftStatus

CHOICES = "[a]pprove, [r]eject, [e]dit, [s]kip, [q]uit: "


def review(house: House, args: argparse.Namespace) -> int:
    """Walk through what is pending, oldest first; Enter skips, and the end of input leaves."""
    del args
    if not (is_present() and sys.stdout.isatty()):
        raise UsageProblem("review needs a terminal; 'steward outbox list' shows what is pending")
    waiting = list(reversed(pending_drafts(house)))
    if not waiting:
        print("no draft is pending")
    for number, draft in enumerate(waiting, start=1):
        print(f"\n{number} of {len(waiting)}")
        if not _decide(house, draft):
            break
    return DONE


class _Then(StrEnum):
    """What follows a choice."""

    NEXT = "next"  # the draft is decided or skipped
    SHOW = "show"  # it is another text now
    ASK = "ask"  # nothing was decided


def _decide(house: House, draft: Draft) -> bool:
    """One draft until it is decided or skipped; False to leave."""
    then = _Then.SHOW
    while then is not _Then.NEXT:
        if then is _Then.SHOW:
            shown = show_draft(house, draft.id)
            if shown.draft.status is not DraftStatus.PENDING:
                say(f"draft {draft.id} is {shown.draft.status} by now")
                return True
            print_review(shown)
        choice = ask_line(CHOICES)
        if choice is None or choice.strip().lower() == "q":
            return False
        try:
            then = _act(house, shown.draft, choice.strip().lower())
        except (OutboxError, UsageProblem) as problem:
            say(plain(str(problem)))
            then = _Then.ASK
    return True


def _act(house: House, draft: Draft, choice: str) -> _Then:
    """Do what was chosen."""
    match choice:
        case "a":
            sent = confirm_marks(draft) and release(house, draft, draft.revision)
            return _Then.NEXT if sent else _Then.ASK
        case "r":
            return _reject(house, draft)
        case "e":
            check_can_edit(house, draft)
            text = edit_in_editor(editable_text(house, draft, whole=False), is_json=False)
            after = edited_args(house, draft, text, whole=False)
            edit_draft(house, draft, after, typed=True)
            return _Then.SHOW
        case "s" | "":
            return _Then.NEXT
        case _:
            say("type one of the letters: a, r, e, s or q")
            return _Then.ASK


def _reject(house: House, draft: Draft) -> _Then:
    reason = (ask_line("Reason (the agent is told it; Enter goes back): ") or "").strip()
    if not reason:
        return _Then.ASK
    reject_draft(house, draft.id, reason=reason, via="cli")
    print(f"draft {draft.id} is rejected")
    return _Then.NEXT
