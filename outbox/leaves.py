"""Pure. The single values inside the arguments of a call, each with its path."""

from collections.abc import Iterator
from typing import Any


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each value that is neither object nor list, with a path such as `to[0]` or `event.start`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{number}]")
    else:
        yield path, value


def texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The leaves that are text and not empty."""
    for where, leaf in leaves(value, path):
        if isinstance(leaf, str) and leaf:
            yield where, leaf
