"""Worlds for the command line's tests."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from fakes.openai_script import Scripted
from makers.world import World, letter, mail_section, model_section, model_server

NO_SMTP = '{ host = "127.0.0.1", port = 9, tls = "none" }'


@pytest.fixture
def world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> World:
    """A home with a mailbox in which one stranger wrote one letter; no model yet."""
    made = World(home=tmp_path / "home", capture=capsys)
    made.write_mail(
        "1.mail",
        letter(
            "Mallory <mallory@evil.example>",
            "Lunch?",
            "Are you free on Friday? Write to my desk: desk@evil.example",
            message_id="<lunch@evil.example>",
        ),
    )
    return made


@pytest.fixture
def scripted(world: World) -> Iterator[Callable[..., World]]:
    """The world with a model server that plays these turns."""
    with ExitStack() as stack:

        def script(turns: Sequence[Scripted], *sections: str) -> World:
            server = stack.enter_context(model_server(turns, world.asked))
            world.configure(model_section(server.base_url), mail_section(world, NO_SMTP), *sections)
            return world

        yield script
