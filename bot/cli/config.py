"""`steward config`: show, find, begin and check the configuration, and store a secret."""

import argparse
import getpass
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from bot.cli.asking import needs_owner
from bot.cli.exit_codes import DONE, ERROR
from bot.cli.output import dim, print_json, say
from bot.commands.configuration import (
    init_configuration,
    show_configuration,
    store_secret,
)
from bot.home import Home, find_home
from bot.settings import load_settings
from bot.settings_problems import Problem

NEXT = "next: name a model and a mailbox in it, then 'steward config check' and 'steward doctor'"


def execute(args: argparse.Namespace) -> int:
    """Do it."""
    home = find_home(os.environ)
    match args.act:
        case "path":
            _path(home, as_json=args.json)
        case "init":
            init_configuration(home, os.environ)
            print(home.config)
            say(NEXT)
        case "check":
            return _check(home, as_json=args.json)
        case "set-secret":
            say(store_secret(home, os.environ, args.name, _read_secret(home, args.name)).note)
        case _:
            _show(show_configuration(load_settings(home.root, os.environ)), as_json=args.json)
    return DONE


def _path(home: Home, *, as_json: bool) -> None:
    if as_json:
        print_json({"path": str(home.config)})
    else:
        print(home.config)


def _show(values: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(values)
        return
    for section, value in values.items():
        for key, setting in _leaves(value, section):
            text = json.dumps(setting, ensure_ascii=False)
            print(dim(f"{key} is not set") if setting in (None, [], {}) else f"{key} = {text}")


def _leaves(value: Any, key: str) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        return [leaf for name, part in value.items() for leaf in _leaves(part, f"{key}.{name}")]
    return [(key, value)]


def _check(home: Home, *, as_json: bool) -> int:
    from bot.commands.checking import check_configuration

    checked = check_configuration(home, os.environ)
    if as_json:
        print_json(
            {
                "path": str(home.config),
                "ok": not checked.problems,
                "problems": _listed(checked.problems),
                "warnings": _listed(checked.warnings),
                "not_built": _listed(checked.not_built),
            }
        )
        return ERROR if checked.problems else DONE
    for problem in checked.problems:
        print(f"{home.config}: {problem}")
    for problem in (*checked.warnings, *checked.not_built):
        print(f"{home.config}: warning: {problem}")
    if checked.problems:
        return ERROR
    file = "a start would go through" if home.config.exists() else "no configuration: defaults"
    model = "" if checked.has_model else ", but for 'run' and 'chat' without a model"
    print(f"{home.config}: {file}{model}")
    return DONE


def _listed(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    return [{"line": each.line, "key": each.key, "text": each.text} for each in problems]


def _read_secret(home: Home, name: str) -> str:
    """From a prompt that echoes nothing, or from a pipe that somebody at a terminal filled."""
    if sys.stdin.isatty():
        return getpass.getpass(f"{name} (nothing is shown): ")
    scripts = load_settings(home.root, os.environ).outbox.scripts
    needs_owner("storing a secret", scripts=scripts, piped=True)
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")
