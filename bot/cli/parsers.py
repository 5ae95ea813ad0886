"""The words of every command, apart from what the commands do.

Why: `--help` and a usage error answer at once, so nothing here may load a database or a model.
"""

import argparse
from collections.abc import Callable, Mapping

from bot.cli.words import (
    ID_HELP,
    PAGE,
    Actions,
    add_action,
    add_id,
    add_json,
    add_page,
    address,
    number,
)

DRAFT_STATUSES = ("pending", "sending", "sent", "uncertain", "rejected", "superseded", "expired")
USUAL_PORTS = (8080, 11434, 1234)
PRODUCER_HELP = "who works there: run, chat, an agent's name"


def _try(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="play it through without any input")
    parser.add_argument(
        "--mailbox",
        metavar="DIR",
        help="play it on a copy of this Maildir, mbox file or folder of .eml files",
    )
    parser.add_argument(
        "--address", type=address, help="your address in that mailbox, if the tour guesses wrong"
    )
    parser.add_argument(
        "--port",
        action="append",
        type=number(1, 65_535),
        metavar="N",
        help="look for a model server on this port of this machine, not on "
        f"{', '.join(map(str, USUAL_PORTS))}; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document, nothing else")


def _up(parser: argparse.ArgumentParser) -> None:
    del parser


def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="*", help="the prompt; piped text comes after it")
    parser.add_argument("--json", action="store_true", help="print one JSON report")
    parser.add_argument("--resume", metavar="SESSION", help="go on with a session")
    _add_run_options(parser)


def _chat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--resume", metavar="SESSION", help="go on with a session")
    _add_run_options(parser)


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", help="which agent of the configuration (default: assistant)")
    parser.add_argument("--model", help="which model of the configuration")
    parser.add_argument("--workspace", metavar="DIR", help="where files are read and written")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--yes", action="store_true", help="approve what asks, but never a send")
    how.add_argument("--read-only", action="store_true", help="change nothing; sends still stage")


def _outbox(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(act="list", status=None, limit=PAGE, after=None, json=False)
    add_json(parser, "as 'list --json'")
    actions = parser.add_subparsers(metavar="list|show|edit|review|approve|reject|reconcile")
    listing = add_action(actions, "list", "drafts, newest first")
    listing.add_argument("--status", choices=DRAFT_STATUSES, help="only those (default: all)")
    add_page(listing, "draft")
    add_json(listing)
    showing = add_action(actions, "show", "one draft, exactly as it would go out")
    add_id(showing)
    add_json(showing)
    showing.add_argument(
        "--attachment", type=number(1), metavar="N", help="write the bytes of its N-th attachment"
    )
    showing.set_defaults(act="show")
    _configure_editing(add_action(actions, "edit", "change it; the original is kept beside it"))
    walking = add_action(actions, "review", "walk through what is pending, one at a time")
    walking.set_defaults(act="review")
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
    editing.set_defaults(act="edit")


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
    approving.set_defaults(act="approve")
    rejecting = add_action(actions, "reject", "do not send it, and tell the agent why")
    rejecting.add_argument("ids", nargs="*", metavar="ID", help=ID_HELP)
    rejecting.add_argument("--all", action="store_true", help="every pending draft")
    rejecting.add_argument("--reason", metavar="TEXT", required=True, help="what the agent is told")
    rejecting.set_defaults(act="reject")
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
    settling.set_defaults(act="reconcile")


def _questions(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(action="list", all=False, limit=PAGE, after=None, json=False)
    add_json(parser, "as 'list --json'")
    actions = parser.add_subparsers(dest="action", metavar="list|show|answer|abandon")
    listing = add_action(actions, "list", "open questions, newest first")
    listing.add_argument("--all", action="store_true", help="answered and abandoned ones too")
    add_page(listing, "question")
    add_json(listing)
    showing = add_action(actions, "show", "one question, and what its conversation holds")
    add_id(showing)
    add_json(showing)
    answering = add_action(actions, "answer", "answer it, and let the run go on")
    add_id(answering)
    answering.add_argument(
        "text", nargs="+", metavar="TEXT", help="the answer, or the number of an option"
    )
    answering.add_argument(
        "--yes", action="store_true", help="do not ask once more under the warning"
    )
    answering.add_argument(
        "--unattended", action="store_true", help="go on as if nobody were at this terminal"
    )
    add_json(answering, "print the run's report as JSON")
    abandoning = add_action(actions, "abandon", "close it without an answer")
    add_id(abandoning)


def _sessions(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(action="list", limit=PAGE, after=None, json=False)
    add_json(parser, "as 'list --json'")
    actions = parser.add_subparsers(dest="action", metavar="list|show")
    listing = add_action(actions, "list", "conversations, newest first")
    add_page(listing, "session")
    add_json(listing)
    showing = add_action(actions, "show", "one conversation, line by line")
    add_id(showing)
    add_json(showing)


def _work(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(action="list", json=False)
    add_json(parser, "as 'list --json'")
    actions = parser.add_subparsers(dest="action", metavar="list|path|clean|trust")
    listing = add_action(actions, "list", "every producer's directory, its files and their size")
    add_json(listing)
    finding = add_action(actions, "path", "where a producer works")
    finding.add_argument("producer", metavar="PRODUCER", help=PRODUCER_HELP)
    cleaning = add_action(actions, "clean", "keep only the newest entries, and say what went")
    cleaning.add_argument("producer", metavar="PRODUCER", help=PRODUCER_HELP)
    cleaning.add_argument(
        "--keep", type=number(0), required=True, metavar="N", help="how many, newest first; 0: none"
    )
    trusting = add_action(actions, "trust", "say that you have read it, and that it is yours")
    trusting.add_argument("path", metavar="PATH", help="a file, or a folder with all that is in it")


def _tools(parser: argparse.ArgumentParser) -> None:
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="capabilities as JSON")
    form.add_argument("--schema", action="store_true", help="what a model is told, as JSON")


def _config(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(act="show", json=False)
    add_json(parser, "as 'show --json'")
    acts = parser.add_subparsers(dest="act", metavar="show|path|init|check|set-secret")
    add_json(add_action(acts, "show", "every setting as it is in force"))
    add_json(add_action(acts, "path", "where the configuration lies"))
    add_action(acts, "init", "write one to begin with")
    add_json(add_action(acts, "check", "read it as a start would, and say what is wrong"))
    secret = add_action(acts, "set-secret", "store what keyring:NAME stands for")
    secret.add_argument("name", metavar="NAME", help="the NAME of keyring:NAME, e.g. mail.home")


def _db(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(act="status", json=False)
    add_json(parser, "as 'status --json'")
    acts = parser.add_subparsers(dest="act", metavar="status|upgrade")
    for act, summary in (
        ("status", "which schema it has, and which this version needs"),
        ("upgrade", "bring it to this version's schema, all or nothing"),
    ):
        add_json(add_action(acts, act, summary))


def _doctor(parser: argparse.ArgumentParser) -> None:
    add_json(parser)
    parser.set_defaults(json=False)


PARSERS: Mapping[str, Callable[[argparse.ArgumentParser], None]] = {
    "try": _try,
    "up": _up,
    "run": _run,
    "chat": _chat,
    "outbox": _outbox,
    "questions": _questions,
    "sessions": _sessions,
    "work": _work,
    "tools": _tools,
    "config": _config,
    "db": _db,
    "doctor": _doctor,
}
