"""`steward work`: what runs left in their directories, and your word that a file is clean."""

import argparse
from pathlib import Path

from bot.cli.asking import needs_owner
from bot.cli.exit_codes import DONE
from bot.cli.output import plain, print_json, table
from bot.cli.words import add_action, add_json, number
from bot.commands.work import clean_work, list_work, trust, work_path
from bot.wiring import open_house

PRODUCER_HELP = "who works there: run, chat, an agent's name"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the words."""
    parser.set_defaults(action="list", json=False)
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


def execute(args: argparse.Namespace) -> int:
    """Do what the action says."""
    house = open_house()
    match args.action:
        case "path":
            print(work_path(house, args.producer))
        case "clean":
            removed = clean_work(house, args.producer, keep=args.keep)
            for name in removed:
                print(f"removed {plain(name)}")
            print(f"{len(removed)} removed")
        case "trust":
            needs_owner("trusting a file", scripts=house.outbox_settings.scripts)
            count = trust(house, Path(args.path).expanduser())
            print(f"{count} {'file is' if count == 1 else 'files are'} trusted as they are now")
        case _:
            _list(list_work(house), as_json=args.json)
    return DONE


def _list(rows: list[dict[str, object]], *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
    elif not rows:
        print("no run has worked yet")
    else:
        cells = [
            (str(row["producer"]), str(row["files"]), str(row["size_bytes"]), str(row["path"]))
            for row in rows
        ]
        print(table(cells, ("producer", "files", "bytes", "path")))
