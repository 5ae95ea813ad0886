"""`steward outbox`: read what was staged, and decide what goes out."""

import argparse
import asyncio
import sys
from collections.abc import Callable

from bot.cli.exit_codes import DONE
from bot.cli.outbox_decide import approve, edit, reconcile, reject
from bot.cli.outbox_review import review
from bot.cli.output import loud, plain, print_json, say, table
from bot.cli.review_text import print_review
from bot.cli.words import (
    ID_HELP,
    PAGE,
    Actions,
    add_action,
    add_id,
    add_json,
    add_page,
    number,
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


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the words."""
    parser.set_defaults(act=_list, status=None, limit=PAGE, after=None, json=False)
    add_json(parser, "as 'list --json'")
    actions = parser.add_subparsers(metavar="list|show|edit|review|approve|reject|reconcile")
    listing = add_action(actions, "list", "drafts, newest first")
    statuses = [status.value for status in DraftStatus]
    listing.add_argument("--status", choices=statuses, help="only those (default: all)")
    add_page(listing, "draft")
    add_json(listing)
    showing = add_action(actions, "show", "one draft, exactly as it would go out")
    add_id(showing)
    add_json(showing)
    showing.add_argument(
        "--attachment", type=number(1), metavar="N", help="write the bytes of its N-th attachment"
    )
    showing.set_defaults(act=_show)
    _configure_editing(add_action(actions, "edit", "change it; the original is kept beside it"))
    walking = add_action(actions, "review", "walk through what is pending, one at a time")
    walking.set_defaults(act=review)
    _configure_decisions(actions)


def _configure_editing(editing: argparse.ArgumentParser) -> None:
    add_id(editing)
    form = editing.add_mutually_exclusive_group()
    form.add_argument(
        "--json", action="store_true", help="open all arguments in $EDITOR, not the text alone"
    )
    form.add_argument(
        "--body-file", metavar="F", help="take the text from a file (- is standard input)"
    )
    form.add_argument(
        "--args-file", metavar="F", help="take all arguments, as JSON, from a file (or -)"
    )
    editing.epilog = "Only what is typed in $EDITOR counts as your own words; a file's does not."
    editing.set_defaults(act=edit)


def _configure_decisions(actions: Actions) -> None:
    approving = add_action(actions, "approve", "send it, exactly as shown")
    approving.add_argument("ids", nargs="+", metavar="ID", help=ID_HELP)
    approving.add_argument(
        "--revision", type=number(1), metavar="N", help="only if it is still this one"
    )
    approving.add_argument(
        "--yes",
        action="store_true",
        help="do not ask; needs a terminal or [outbox] scripts = true, and of several drafts "
        "skips those that go somewhere you never named",
    )
    approving.set_defaults(act=approve)
    rejecting = add_action(actions, "reject", "do not send it, and tell the agent why")
    rejecting.add_argument("ids", nargs="*", metavar="ID", help=ID_HELP)
    rejecting.add_argument("--all", action="store_true", help="every pending draft")
    rejecting.add_argument("--reason", metavar="TEXT", required=True, help="what the agent is told")
    rejecting.set_defaults(act=reject)
    settling = add_action(
        actions, "reconcile", "say what became of an uncertain draft; nothing is sent"
    )
    add_id(settling)
    settling.add_argument(
        "--outcome",
        choices=["delivered", "not-delivered"],
        required=True,
        help="what you found out; not-delivered makes it pending again",
    )
    settling.add_argument("--evidence", metavar="TEXT", required=True, help="how you know")
    settling.set_defaults(act=reconcile)


def execute(args: argparse.Namespace) -> int:
    """Do what the action says, after settling what a dead process left in flight.

    Where one draft is looked at or decided, destinations are asked at once, not when it is due.
    """
    house = open_house()
    only_due = args.act not in (_show, approve, reconcile)
    for line in asyncio.run(settle_and_verify(house, only_due=only_due)):
        say(plain(line))
    expired = expire_drafts(house)
    if expired:
        say(f"{expired} drafts expired")
    act: Action = args.act
    return act(house, args)


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
