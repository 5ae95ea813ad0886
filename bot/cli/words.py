"""Words that several commands take, declared once: ids, pages, numbers, JSON."""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from bot.cli.output import say

PAGE = 50
PAGE_AT_MOST = 500
ID_HELP = "its id, or an unambiguous head or tail of it"
ADDRESS = re.compile(r"[^\s@<>,;:\"]+@[^\s@<>,;:\"]+")


class Actions(Protocol):
    """What `add_subparsers` gives; argparse has no public name for it."""

    def add_parser(self, name: str, **said: Any) -> argparse.ArgumentParser:
        """The parser of one action."""
        ...


def add_action(actions: Actions, name: str, summary: str) -> argparse.ArgumentParser:
    """One action of a command, which says in its own help what the list of actions says of it."""
    return actions.add_parser(name, help=summary, description=f"{summary}.")


def add_json(parser: argparse.ArgumentParser, what: str = "print one JSON document") -> None:
    """`--json`; a command's own and its action's are one, so neither takes the other back."""
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=what)


def add_id(parser: argparse.ArgumentParser) -> None:
    """One id."""
    parser.add_argument("id", metavar="ID", help=ID_HELP)


def add_page(parser: argparse.ArgumentParser, what: str) -> None:
    """A page of a list that is newest first."""
    parser.add_argument(
        "--limit",
        type=number(1, PAGE_AT_MOST),
        default=PAGE,
        metavar="N",
        help=f"at most so many, 1 to {PAGE_AT_MOST} (default: {PAGE})",
    )
    parser.add_argument("--after", metavar="ID", help=f"go on below this {what}")


def tell_more(command: str, rows: Sequence[Mapping[str, Any]], limit: int) -> None:
    """Where a page is full, the words that show the next one."""
    if len(rows) == limit:
        say(f"more may follow: steward {command} list --after {rows[-1]['id']}")


def number(lowest: int, highest: int | None = None) -> Callable[[str], int]:
    """The type of an argument that is a whole number in these bounds, and is refused by them."""
    bounds = f"from {lowest} on" if highest is None else f"from {lowest} to {highest}"

    def parse(text: str) -> int:
        value = (
            int(text) if text.isascii() and text.lstrip("-").isdigit() and len(text) < 10 else None
        )
        if value is None or value < lowest or (highest is not None and value > highest):
            raise argparse.ArgumentTypeError(f"takes a whole number {bounds}, not '{text}'")
        return value

    return parse


def address(text: str) -> str:
    """The type of an argument that is one mail address."""
    if not ADDRESS.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no address such as you@example.org")
    return text
