"""`steward db`: the state of the database, and its upgrade."""

import argparse
import os

from bot.cli.exit_codes import DONE, ERROR
from bot.cli.output import print_json
from bot.commands.database import database_status, upgrade_database
from bot.home import find_home
from bot.settings import load_settings


def execute(args: argparse.Namespace) -> int:
    """Do it; the status of a database that this version cannot use exits 1."""
    settings = load_settings(find_home(os.environ).root, os.environ)
    status = upgrade_database(settings) if args.act == "upgrade" else database_status(settings)
    if args.json:
        print_json(status)
    else:
        for name, value in status.items():
            print(f"{name}: {'-' if value is None else value}")
        if status["state"] == "older":
            print("run 'steward db upgrade'")
    return DONE if status["state"] in ("current", "missing") else ERROR
