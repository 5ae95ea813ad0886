"""`steward outbox`: read what was staged, and decide what goes out."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping

from bot.cli.exit_codes import DONE
from bot.cli.outbox_decide import approve, edit, reconcile, reject
from bot.cli.outbox_review import review
from bot.cli.output import loud, plain, print_json, say, table
from bot.cli.review_text import print_review
from bot.cli.words import (
    tell_more,
)
from bot.commands.outbox import (
    attachment_bytes,
    expire_drafts,
    list_drafts,
    settle_and_verify,
    show_draft,
)
from bot.errors import UsageProblem
from bot.wiring import House, open_house
from outbox.tables import Draft, DraftStatus

Action = Callable[[House, argparse.Namespace], int]


def execute(args: argparse.Namespace) -> int:
    """Do what the action says, after settling what a dead process left in flight.

    Where one draft is looked at or decided, destinations are asked at once, not when it is due.
    """
    house = open_house()
    only_due = args.act not in ("show", "approve", "reconcile")
    for line in asyncio.run(settle_and_verify(house, only_due=only_due)):
        say(plain(line))
    expired = expire_drafts(house)
    if expired:
        say(f"{expired} drafts expired")
    return ACTIONS[args.act](house, args)


def _list(house: House, args: argparse.Namespace) -> int:
    status = DraftStatus(args.status) if args.status else None
    rows = list_drafts(house, status=status, limit=args.limit, after=args.after)
    if args.json:
        print_json(rows)
        return DONE
    if not rows:
        print("no draft" if status is None else f"no {status} draft")
        return DONE
    cells = [
        (
            row["id"],
            row["status"],
            house.short(row["created_at"]),
            " ".join(dict.fromkeys(mark["code"] for mark in row["marks"])),
            plain(row["summary"]),
        )
        for row in rows
    ]
    print(table(cells, ("id", "status", "created", "marks", "to and subject")))
    tell_more("outbox", rows, args.limit)
    return DONE


def _show(house: House, args: argparse.Namespace) -> int:
    if args.attachment is not None:
        return _write_attachment(house, args)
    shown = show_draft(house, args.id)
    if args.json:
        print_json(shown.as_json)
        return DONE
    print_review(shown)
    sys.stdout.flush()
    say("\n" + _next_step(house, shown.draft))
    return DONE


def _write_attachment(house: House, args: argparse.Namespace) -> int:
    """Bytes of whatever kind, so never onto a terminal, which they could steer."""
    if sys.stdout.isatty():
        raise UsageProblem("the bytes of an attachment go into a file or a pipe; add '> FILE'")
    sys.stdout.buffer.write(attachment_bytes(house, args.id, args.attachment))
    sys.stdout.flush()
    return DONE


def _next_step(house: House, draft: Draft) -> str:
    match draft.status:
        case DraftStatus.PENDING if any(mark["code"] == "unowned" for mark in draft.marks):
            return (
                f"steward outbox reject {draft.id} --reason TEXT   (or edit; if you do want it sent "
                "there, approve)"
            )
        case DraftStatus.PENDING:
            return f"steward outbox approve {draft.id}   (or edit, or reject --reason TEXT)"
        case DraftStatus.UNCERTAIN:
            return loud(
                "It may or may not have gone out, and is not sent again before that is known. Look "
                f"at the destination, then: steward outbox reconcile {draft.id} "
                "--outcome delivered|not-delivered --evidence TEXT"
            )
        case _:
            return f"{draft.status} {house.short(draft.updated_at.isoformat())}"


ACTIONS: Mapping[str, Action] = {
    "list": _list,
    "show": _show,
    "edit": edit,
    "review": review,
    "approve": approve,
    "reject": reject,
    "reconcile": reconcile,
}
