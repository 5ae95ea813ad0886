"""How the terminal door prints: one JSON document for programs, plain prose or colour for people."""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from bot.cli.wrap import columns, cut, wrapped


def print_json(value: Any) -> None:
    """One JSON document on stdout and nothing else."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def plain(text: str) -> str:
    """Text that cannot steer a terminal: control characters but newline and tab are shown as such."""
    return "".join(
        char if char in "\n\t" or char.isprintable() else _visible(char) for char in text
    )


def _visible(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


def _coloured() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def bold(text: str) -> str:
    """Emphasis where a terminal shows it."""
    return f"\x1b[1m{text}\x1b[0m" if _coloured() else text


def loud(text: str) -> str:
    """A warning nobody should miss."""
    return f"\x1b[1;31m{text}\x1b[0m" if _coloured() else text


def dim(text: str) -> str:
    """Something of lesser weight."""
    return f"\x1b[2m{text}\x1b[0m" if _coloured() else text


def terminal_width() -> int | None:
    """Columns of the terminal that stdout is, None where it is a pipe or a file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def prose(text: str) -> str:
    """Text that cannot steer a terminal, broken between words where stdout is one."""
    width = terminal_width()
    return plain(text) if width is None else wrapped(plain(text), width)


def table(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str:
    """Columns as wide as their widest cell; the last one is cut at a terminal's edge, never in a pipe."""
    lines = [list(header), *map(list, rows)]
    widths = [max(columns(line[column]) for line in lines) for column in range(len(header) - 1)]
    room = terminal_width()
    printed = []
    for number, line in enumerate(lines):
        cells = [
            cell + " " * (width - columns(cell)) for cell, width in zip(line, widths, strict=False)
        ]
        text = "  ".join([*cells, line[-1]]).rstrip()
        shown = text if room is None else cut(text, room)
        printed.append(bold(shown) if number == 0 else shown)
    return "\n".join(printed)


def say(text: str) -> None:
    """Talk that is not a result goes to stderr, broken between words where that is a terminal."""
    if sys.stderr.isatty():
        text = wrapped(text, shutil.get_terminal_size().columns)
    print(text, file=sys.stderr)
