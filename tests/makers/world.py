"""A whole steward on this machine: a home, a mailbox, a scripted model server, a mail server.

Commands run in this process through the real command line, or as a real child where a test needs
to kill one.
"""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from bot.cli.main import main
from fakes.openai_script import Scripted
from fakes.openai_server import FakeOpenAI
from makers.house import furnish

PROJECT = Path(__file__).parents[2]
OWNER = "robin@ashford.example"


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON document on stdout."""
        return json.loads(self.out)


@contextmanager
def model_server(
    turns: Sequence[Scripted], asked: threading.Event | None = None
) -> Iterator[FakeOpenAI]:
    """A scripted model server on a loop of its own, so that commands may own this thread's."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="model-server")
    thread.start()
    server = FakeOpenAI(turns, on_request=lambda _: asked.set() if asked else None)
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(10)
        try:
            yield server
        finally:
            asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@dataclass
class World:
    """One home and what stands round it. `capture` reads what the commands printed."""

    home: Path
    capture: Any
    asked: threading.Event = field(default_factory=threading.Event)  # the model server was

    @property
    def mailbox(self) -> Path:
        """The Maildir of the account `post`."""
        return self.home.parent / "Mail"

    @property
    def sent(self) -> Path:
        """Its folder of sent mail."""
        return self.home.parent / "Sent"

    @property
    def work(self) -> Path:
        """The work directory of `steward run`."""
        return self.home / "work" / "run"

    def configure(self, *sections: str) -> None:
        """Write the configuration."""
        if not self.home.exists():
            furnish(self.home)
        (self.home / "config.toml").write_text("\n".join(sections), encoding="utf-8")

    def steward(self, *words: str, code: int | None = 0, piped: str = "") -> Done:
        """Run a command in this process; its exit code must be `code` (None: any)."""
        self.capture.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("STEWARD_HOME", str(self.home))
            patch.setattr("sys.stdin", StringIO(piped))
            ended = main(list(words))
        printed = self.capture.readouterr()
        done = Done(code=ended, out=printed.out, err=printed.err)
        assert code is None or ended == code, f"exit {ended}: {done.err or done.out}"
        return done

    def child(self, *words: str, **options: Any) -> subprocess.Popen[Any]:
        """Start a command as a child of this process."""
        return subprocess.Popen(
            [sys.executable, "-m", "bot", *words],
            env={**os.environ, "STEWARD_HOME": str(self.home)},
            cwd=self.home.parent,
            stdin=options.pop("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=options.pop("text", True),
            **options,
        )

    def write_mail(self, name: str, text: str) -> None:
        """Put a message into the mailbox."""
        maildir_with(self.mailbox, text, name=name)


def model_section(base_url: str) -> str:
    """[models] for a scripted server."""
    return (
        f'[models.scripted]\nkind = "openai"\nbase_url = "{base_url}"\nmodel = "m"\n'
        '[agents.assistant]\nmodel = "scripted"\n'
    )


def mail_section(world: World, smtp: str) -> str:
    """[mail] for the world's mailbox. `smtp` is the inline table."""
    return (
        f'[mail.accounts.post]\nkind = "maildir"\naddress = "{OWNER}"\n'
        f'path = "{world.mailbox}"\nsent = "{world.sent}"\nsmtp = {smtp}\n'
    )


def letter(
    sender: str, subject: str, body: str, *, message_id: str, to: str = OWNER, extra: str = ""
) -> str:
    """A plain message."""
    return (
        f"From: {sender}\nTo: {to}\nSubject: {subject}\nMessage-ID: {message_id}\n"
        f"Date: Mon, 30 Nov 2026 09:12:00 +0100\n{extra}"
        f"Content-Type: text/plain; charset=utf-8\n\n{body}\n"
    )


def maildir_with(path: Path, text: str, *, name: str = "1.mail") -> None:
    """A Maildir at `path` that holds this message among others."""
    for folder in ("cur", "new", "tmp"):
        (path / folder).mkdir(parents=True, exist_ok=True)
    (path / "new" / name).write_bytes(text.replace("\n", "\r\n").encode())
