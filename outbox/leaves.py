"""Pure. The single values inside the arguments of a call, each with its path."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each value that is neither object nor list, with a path such as `to[0]` or `event.start`."""
    if isinstance(value, Mapping):
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


def refuse_unkeepable(args: Mapping[str, Any]) -> None:
    """Nothing happens if the arguments come back from the database exactly as they are.

    Raises: TypeError or ValueError for what is not JSON data (a lone surrogate, NaN, an object).
    """
    text = json.dumps(dict(args), ensure_ascii=False, allow_nan=False)
    text.encode("utf-8")
    if json.loads(text) != dict(args):
        raise ValueError("the arguments are not plain JSON data")
