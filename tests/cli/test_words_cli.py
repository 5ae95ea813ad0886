"""The words of every command: each says what it takes, and a number out of bounds is one line."""

import argparse
from collections.abc import Iterator

import pytest

from bot.cli.main import COMMANDS
from bot.cli.parsers import DRAFT_STATUSES, PARSERS, USUAL_PORTS
from bot.tour import servers
from makers.world import World, mail_section
from outbox.tables import DraftStatus

NO_SMTP = '{ host = "127.0.0.1", port = 9, tls = "none" }'


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    """Every parser of the command line by the words that lead to it, and what is said of it."""
    for name, (_, summary) in COMMANDS.items():
        parser = argparse.ArgumentParser(prog=name, description=summary)
        PARSERS[name](parser)
        yield name, parser, summary
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                said = {each.dest: each.help or "" for each in action._choices_actions}
                for word, inner in action.choices.items():
                    yield f"{name} {word}", inner, said[word]


@pytest.mark.parametrize(
    ("parser", "summary"), [pytest.param(p, said, id=words) for words, p, said in parsers()]
)
def test_every_command_and_every_word_of_it_says_what_it_is_for(
    parser: argparse.ArgumentParser, summary: str
) -> None:
    assert summary
    assert (parser.description or "").startswith(summary)
    silent = [
        action.option_strings or action.dest
        for action in parser._actions
        if not action.help and not isinstance(action, argparse._SubParsersAction)
    ]
    assert silent == []


def test_the_words_that_are_spelled_apart_from_what_they_name_agree_with_it() -> None:
    assert list(PARSERS) == list(COMMANDS)
    assert tuple(DraftStatus) == DRAFT_STATUSES
    assert USUAL_PORTS == servers.USUAL_PORTS


def test_the_list_of_actions_names_each_of_them() -> None:
    for words, parser, _ in parsers():
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                assert action.metavar == "|".join(action.choices), words


@pytest.mark.parametrize("name", ["outbox", "questions", "sessions", "work", "config", "db"])
def test_a_command_without_an_action_prints_the_json_of_its_usual_one(
    world: World, name: str
) -> None:
    usual = {"config": "show", "db": "status"}.get(name, "list")
    assert world.steward(name, "--json").json == world.steward(name, usual, "--json").json


def test_where_the_configuration_lies_can_be_had_as_json(world: World) -> None:
    path = world.steward("config", "path").out.strip()
    assert world.steward("config", "path", "--json").json == {"path": path}


@pytest.mark.parametrize("listing", ["outbox", "questions", "sessions"])
@pytest.mark.parametrize("limit", ["0", "-1", "501", "many", "1.5", "9" * 40])
def test_a_page_of_nothing_is_refused_in_one_line(world: World, listing: str, limit: str) -> None:
    refused = world.steward(listing, "list", f"--limit={limit}", code=2)
    assert f"takes a whole number from 1 to 500, not '{limit}'" in refused.err
    assert refused.err.count("\n") == 1
    assert world.steward(listing, "list", "--limit", "500", "--json").json == []


@pytest.mark.parametrize(
    "words",
    [["work", "clean", "run", "--keep=-1"], ["outbox", "approve", "x", "--revision=0"]],
    ids=["keep", "revision"],
)
def test_a_number_out_of_bounds_is_refused_in_one_line(world: World, words: list[str]) -> None:
    refused = world.steward(*words, code=2)
    assert "takes a whole number from" in refused.err
    assert refused.err.count("\n") == 1


def test_a_full_page_says_how_to_see_the_next(world: World) -> None:
    world.configure('[models.r]\nkind = "rehearsal"\n', mail_section(world, NO_SMTP))
    for _ in range(2):
        world.steward("run", "Hi", code=None)
    newest, oldest = (row["id"] for row in world.steward("sessions", "list", "--json").json)
    page = world.steward("sessions", "list", "--limit", "1")
    assert f"more may follow: steward sessions list --after {newest}" in page.err
    (below,) = world.steward("sessions", "list", "--after", newest, "--json").json
    assert below["id"] == oldest
    assert "more may follow" not in world.steward("sessions", "list").err
