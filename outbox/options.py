"""Pure. What a typed line means where a question came with options.

An option's own text is always that option. A number stands for an option only where no option
begins with a digit itself, so that nobody who types an option can choose another one.
"""

import re
from collections.abc import Sequence

_BEGINS_WITH_DIGIT = re.compile(r"\W*\d")


def are_numbered(options: Sequence[str]) -> bool:
    """True where an option may be chosen by its number, and is to be shown with it."""
    return not any(_BEGINS_WITH_DIGIT.match(option) for option in options)


def listed(options: Sequence[str]) -> list[str]:
    """The options as every surface lists them: by number where a number chooses."""
    if are_numbered(options):
        return [f"{number}. {option}" for number, option in enumerate(options, start=1)]
    return [f"- {option}" for option in options]


def meant(typed: str, options: Sequence[str]) -> str:
    """The option that was typed, or whose number was; any other text as it was typed."""
    words = typed.strip()
    for candidate in (typed, words):
        if candidate in options:
            return candidate
    if are_numbered(options) and re.fullmatch(r"[1-9][0-9]?", words):
        number = int(words)
        if number <= len(options):
            return options[number - 1]
    return typed
