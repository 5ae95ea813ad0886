"""Prints the one projection of a draft, with its marks where nobody can miss them."""

from bot.cli.output import bold, dim, loud
from bot.commands.outbox import Shown
from outbox.review import render


def print_review(shown: Shown) -> None:
    """The projection as every surface shows it; only the colour is the terminal's."""
    for number, line in enumerate(render(shown.review).removesuffix("\n").split("\n")):
        if number == 0:
            print(bold(f"{line}  ({shown.draft.status})"))
        elif line.startswith("!! "):
            print(loud(line))
        else:
            print(line)
    print(dim(f"It goes out as {shown.draft.delivery_key}, dated at the moment of its release."))
