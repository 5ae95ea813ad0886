"""Every behaviour this version claims has a test that names it, and no test names another."""

import ast
import re
from pathlib import Path

CLAIMED = Path(__file__).with_name("behaviours.txt")
ID = re.compile(r"\b[LOQMTPSER][1-9]\d?\b")
CLAIM = re.compile(rf"({ID.pattern})(?:\(([^()]+)\))?")


def _lines() -> list[str]:
    lines = CLAIMED.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def _claimed() -> list[str]:
    """The ids, those that are claimed in part among them."""
    return [found[1] for line in _lines() for found in CLAIM.finditer(line)]


def _tested() -> set[str]:
    """The ids in the first line of the docstrings of all tests."""
    return {
        found
        for path in CLAIMED.parents[1].rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        for found in ID.findall((ast.get_docstring(node) or "").partition("\n")[0])
    }


def test_every_claimed_behaviour_has_a_test() -> None:
    assert sorted(set(_claimed()) - _tested()) == []


def test_no_test_names_a_behaviour_that_is_not_claimed() -> None:
    assert sorted(_tested() - set(_claimed())) == []


def test_a_claim_is_an_id_or_an_id_with_the_words_that_are_claimed() -> None:
    for line in _lines():
        assert CLAIM.sub("", line).split() == [], line


def test_the_list_of_behaviours_names_each_once() -> None:
    claimed = _claimed()
    assert len(claimed) == len(set(claimed))
