"""The `steward` command: a table of words; only the one that is used is imported.

Why: `--help` must answer at once, and listing a draft must not load a model client.
"""

import sys
from collections.abc import Sequence
from io import TextIOWrapper

from bot.cli.exit_codes import DONE, INTERRUPTED, USAGE

COMMANDS = {
    "try": ("bot.cli.try_tour", "a guided tour on an embedded mailbox; asks for nothing"),
    "up": ("bot.cli.up", "run what waits, in one process, until it is told to stop"),
    "run": ("bot.cli.run", "answer one prompt"),
    "chat": ("bot.cli.chat", "talk, turn by turn"),
    "outbox": ("bot.cli.outbox", "review and release what was staged"),
    "questions": ("bot.cli.questions", "answer what a run could not decide"),
    "sessions": ("bot.cli.sessions", "list and show conversations"),
    "work": ("bot.cli.work", "work directories, and trust for a file in them"),
    "tools": ("bot.cli.tools", "what the agent may call, and what each call can do"),
    "config": ("bot.cli.config", "show, find and check the configuration"),
    "db": ("bot.cli.db", "the state of the database, and its upgrade"),
    "doctor": ("bot.cli.doctor", "check everything, and say what to mend"),
}


def entry() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that cannot show a letter shows its code
            stream.reconfigure(errors="backslashreplace")
    try:
        code = main([_readable(word) for word in sys.argv[1:]])
    except KeyboardInterrupt:  # so early that no command had begun
        code = INTERRUPTED
    sys.exit(code)


def _readable(word: str) -> str:
    """A word of the command line; bytes that are no UTF-8 in it become U+FFFD."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def main(words: Sequence[str]) -> int:
    """Run one command and give its exit code; every error is one line on stderr."""
    if not words or words[0] in ("-h", "--help", "help"):
        print(_help())
        return DONE if words else USAGE
    if words[0] in ("-V", "--version"):
        print(_version())
        return DONE
    if words[0] not in COMMANDS:
        return _unknown(words[0])
    from bot.cli.dispatch import dispatch

    module, summary = COMMANDS[words[0]]
    return dispatch(module, name=words[0], summary=summary, words=words[1:])


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {summary}" for name, (_, summary) in COMMANDS.items()]
    return (
        "usage: steward COMMAND [...]\n\n"
        "A personal agent that reads everything and sends nothing until you say so.\n\n"
        + "\n".join(lines)
        + "\n\nsteward COMMAND --help says more. Exit codes: 0 done, 1 error, 2 usage,"
        " 3 refused by the model,\n4 no answer, 5 waiting for you."
    )


def _version() -> str:
    from importlib.metadata import version

    return f"steward {version('steward')}"


def _unknown(word: str) -> int:
    from difflib import get_close_matches

    near = get_close_matches(word, COMMANDS, n=1)
    hint = f"did you mean '{near[0]}'?" if near else "'steward --help' lists the commands"
    print(f"steward: no command '{word}'; {hint}", file=sys.stderr)
    return USAGE
