"""What steward stands on: pinned exactly, all of it, and each library told of in the README."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from makers.documents import README
from makers.source_tree import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = (ROOT / "deploy" / "constraints.txt").read_text(encoding="utf-8").splitlines()
PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==[0-9][A-Za-z0-9.!+]*")
BUILD = ("hatchling", "editables")  # what deploy/setup installs first


def _named() -> list[str]:
    """Every library that pyproject.toml names, for running and for work on it."""
    extras = PROJECT["optional-dependencies"].values()
    every = [*PROJECT["dependencies"], *(name for extra in extras for name in extra)]
    return [canonicalize_name(Requirement(each).name) for each in every]


def _with_what_they_need(names: list[str]) -> set[str]:
    """These libraries and whatever they need on this machine, and so on, as it is installed."""
    needed: set[str] = set()
    waiting = [(name, frozenset[str]()) for name in names]
    while waiting:
        name, extras = waiting.pop()
        if name in needed and not extras:
            continue
        needed.add(name)
        for text in distribution(name).requires or ():
            part = Requirement(text)
            if _applies(part, extras):
                waiting.append((canonicalize_name(part.name), frozenset(part.extras)))
    return needed


def _applies(part: Requirement, extras: frozenset[str]) -> bool:
    if part.marker is None:
        return True
    here = default_environment()
    return any(part.marker.evaluate({**here, "extra": extra}) for extra in (*extras, ""))


def test_every_pin_is_one_exact_version_and_nothing_else() -> None:
    assert [line for line in PINS if not PIN.fullmatch(line)] == []
    names = [canonicalize_name(line.partition("==")[0]) for line in PINS]
    assert sorted(names) == sorted(set(names))


def test_everything_that_is_installed_for_steward_is_pinned() -> None:
    pinned = {canonicalize_name(line.partition("==")[0]) for line in PINS}
    assert sorted(_with_what_they_need([*_named(), *BUILD]) - pinned) == []


def test_what_is_installed_here_is_what_is_pinned() -> None:
    """So the tests ran with what a clone gets."""
    other = {}
    for line in PINS:
        name, _, version = line.partition("==")
        try:
            installed = distribution(name).version
        except PackageNotFoundError:
            continue  # for another system
        if installed != version:
            other[name] = installed
    assert other == {}


def test_no_dependency_carries_a_version_twice() -> None:
    """pyproject.toml names, constraints.txt pins."""
    every = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    assert [each for each in every if not re.fullmatch(r"[a-z0-9-]+", each)] == []


def test_every_library_has_its_line_in_the_readme() -> None:
    section = README.read_text(encoding="utf-8").partition("## What it stands on")[2]
    told = {
        canonicalize_name(word)
        for word in re.findall(r"[A-Za-z0-9_.-]*[A-Za-z0-9]", section.partition("\n## ")[0])
    }
    named = {name.removeprefix("pytest-").removeprefix("types-") for name in _named()}
    assert sorted(named - told) == []
