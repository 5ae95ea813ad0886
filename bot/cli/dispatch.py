"""Runs one command: its words, then its module, and one line for whatever went wrong."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, Protocol, cast

from bot.cli.exit_codes import DONE, ERROR, INTERRUPTED, USAGE
from bot.cli.parsers import PARSERS
from bot.errors import BotError, UsageProblem
from outbox.errors import OutboxError
from tools.errors import ToolsError
from triggers.errors import TriggersError


class CommandModule(Protocol):
    """What a module named in the command table offers."""

    def execute(self, args: argparse.Namespace) -> int:
        """Do it; gives the exit code."""
        ...


class _OneLineParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, without the usage block."""
        raise UsageProblem(f"{message}; '{self.prog} --help' shows what it takes")


def dispatch(module: str, *, name: str, summary: str, words: Sequence[str]) -> int:
    """Parse, execute, and turn every expected error into one line and an exit code.

    The module is imported only once the words are understood.
    """
    parser = _OneLineParser(prog=f"steward {name}", description=summary)
    PARSERS[name](parser)
    try:
        args = parser.parse_args(words)
        return cast("CommandModule", import_module(module)).execute(args)
    except SystemExit as stop:  # argparse leaves by this after --help
        return stop.code if isinstance(stop.code, int) else DONE
    except UsageProblem as problem:
        return _say(name, str(problem), USAGE)
    except (BotError, OutboxError, ToolsError, TriggersError) as problem:
        return _say(name, str(problem), ERROR)
    except KeyboardInterrupt:
        return _say(name, "stopped", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader left; nobody is there to be told
        return ERROR
    except Exception as bug:  # noqa: BLE001 - the top of the door: a bug is logged, then said
        from bot.logs import report_bug

        return _say(name, report_bug(bug), ERROR)


def _say(name: str, text: str, code: int) -> int:
    print(f"steward {name}: {text}", file=sys.stderr)
    return code
