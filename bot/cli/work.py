"""`steward work`: what runs left in their directories, and your word that a file is clean."""

import argparse
from pathlib import Path

from bot.cli.asking import needs_owner
from bot.cli.exit_codes import DONE
from bot.cli.output import plain, print_json, table
from bot.commands.work import clean_work, list_work, trust, work_path
from bot.wiring import open_house


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
