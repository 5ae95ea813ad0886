"""How the terminal door prints: one JSON document for programs, plain prose or colour for people."""

import json
import os
import sys
from collections.abc import Sequence
from typing import Any


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


def table(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str:
    """Columns as wide as their widest cell; the last one runs free."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header) - 1)]
    printed = []
    for number, line in enumerate(lines):
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        text = "  ".join([*cells, line[-1]]).rstrip()
        printed.append(bold(text) if number == 0 else text)
    return "\n".join(printed)


def say(text: str) -> None:
    """Talk that is not a result goes to stderr."""
    print(text, file=sys.stderr)
