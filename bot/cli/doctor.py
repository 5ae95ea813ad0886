"""`steward doctor`: check everything, and say what to mend."""

import argparse
import os

from bot.cli.exit_codes import DONE, ERROR
from bot.cli.output import dim, loud, plain, print_json
from bot.doctor import Examined, examine_all, is_healthy
from bot.doctor_check import Level
from bot.home import find_home


def execute(args: argparse.Namespace) -> int:
    """Print every finding; exit 1 if something failed or could not be told."""
    examined = examine_all(find_home(os.environ), os.environ)
    if args.json:
        print_json(
            [
                {
                    "check": each.check,
                    "level": each.finding.level.value,
                    "text": each.finding.text,
                    "advice": each.finding.advice,
                }
                for each in examined
            ]
        )
    else:
        for each in examined:
            print(_line(each))
    return DONE if is_healthy(examined) else ERROR


def _line(each: Examined) -> str:
    finding = each.finding
    word = f"{finding.level.value:<7}"
    advice = dim(f"\n          {plain(finding.advice)}") if finding.advice else ""
    shown = loud(word) if finding.level in (Level.FAIL, Level.UNKNOWN) else word
    return f"{shown} {each.check}: {plain(finding.text)}{advice}"
