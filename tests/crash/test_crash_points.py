"""No point of the code can be left out of the crash tests: each is enumerated, or named, by one."""

import ast
from collections.abc import Iterator
from pathlib import Path

from makers.crash import crash_points

TESTS = Path(__file__).parents[1]


def _enumerated() -> set[str]:
    """The beginnings of names for which the tests of this folder ask `crash_points`."""
    return {
        str(prefix.value)
        for node in _nodes(Path(__file__).parent)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "crash_points"
        for prefix in ast.walk(node.args[0])
        if isinstance(prefix, ast.Constant)
    }


def _named() -> set[str]:
    """Every plain text in a test; a point that a test kills at stands among them."""
    return {
        str(node.value)
        for node in _nodes(TESTS)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def _nodes(folder: Path) -> Iterator[ast.AST]:
    for path in folder.rglob("test_*.py"):
        if path != Path(__file__):
            yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def test_every_point_of_the_code_is_killed_somewhere() -> None:
    """O8: a new point outside these families, or a family without a point, fails here."""
    families, named = _enumerated(), _named()
    points = crash_points(("",))
    left_out = [p for p in points if not p.startswith(tuple(families)) and p not in named]
    assert left_out == []
    assert [each for each in families if not crash_points((each,))] == []
    assert all("." in each for each in families), "a family is a word and a dot"
