"""The documents say what the code is: commands, settings, the map, and every line one may type."""

import argparse
import re
import shlex

import pytest

from bot.cli.parsers import PARSERS
from makers.documents import BLOCKS, MAP, README, map_document, with_blocks
from makers.source_tree import ROOT

ANEW = "run '.venv/bin/python deploy/write-docs'"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
SHELL = re.compile(r"```sh\n(.*?)```", re.DOTALL)
TYPED = [
    (page.name, line.strip())
    for page in PAGES
    for block in SHELL.findall(page.read_text(encoding="utf-8"))
    for line in block.splitlines()
    if line.strip() and not line.startswith("#")
]


def test_the_readme_lists_every_command_setting_and_package() -> None:
    text = README.read_text(encoding="utf-8")
    assert with_blocks(text) == text, ANEW
    assert set(BLOCKS) == {"commands", "settings", "packages"}


def test_the_map_lists_every_module() -> None:
    assert MAP.read_text(encoding="utf-8") == map_document(), ANEW


def test_every_link_between_the_pages_leads_somewhere() -> None:
    dead = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert dead == []


class _Refusing(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise AssertionError(message)


@pytest.mark.parametrize(("page", "line"), TYPED, ids=[line for _, line in TYPED])
def test_what_a_page_says_to_type_can_be_typed(page: str, line: str) -> None:
    words = shlex.split(line.partition(" | ")[2] or line, comments=True)
    if words[0] == "sh":
        assert (ROOT / words[1]).is_file()
    elif words[0] == "steward":
        parser = _Refusing(prog=line)
        PARSERS[words[1]](parser)
        parser.parse_args(words[2:])
    else:
        assert words[0] in ("cd", "git", "export"), "an unknown program"
