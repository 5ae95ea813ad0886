"""Makers for the tour: mailboxes on disk, digests of folders, requests to the rehearsal."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from bot.models.contract import Message, Request, ToolSchema, UserMessage
from bot.tour.home import BRIEFING_PROMPT

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=ZoneInfo("Europe/Oslo"))
CLOCK_LINE = "[Monday 2026-11-30 09:30 +01:00 Europe/Oslo]"
EVERY_TOOL = (
    "ask_user",
    "mail_get_thread",
    "mail_recent",
    "mail_reply",
    "mail_search",
    "mail_send",
)


def mail(
    *, to: str = "kim@home.example", sender: str = "ada@away.example", text: str = "Hi"
) -> bytes:
    """A small message with the headers that matter."""
    return (
        f"From: {sender}\nTo: {to}\nSubject: About {text}\n"
        f"Date: Mon, 30 Nov 2026 08:00:00 +0100\nMessage-ID: <{abs(hash(text))}@away.example>\n\n"
        f"{text}\n"
    ).encode()


def fill_maildir(folder: Path, messages: Sequence[bytes], *, box: str = "cur") -> Path:
    """A Maildir holding these messages as another program would have filed them."""
    for name in ("cur", "new", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number, raw in enumerate(messages):
        suffix = ":2,S" if box == "cur" else ""
        (folder / box / f"17646{number:05}.M1P1.host{suffix}").write_bytes(raw)
    return folder


def tree_digest(root: Path) -> str:
    """A digest over every path below `root`: its name, mode, times and bytes."""
    digest = hashlib.sha256()
    for path in (root, *sorted(root.rglob("*"))):
        facts = path.lstat()
        digest.update(f"{path}|{facts.st_mode}|{facts.st_mtime_ns}|{facts.st_ctime_ns}".encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def schemas(*names: str) -> tuple[ToolSchema, ...]:
    """Tools as a model is offered them; the rehearsal looks at their names only."""
    return tuple(ToolSchema(name=name, description="", parameters={}) for name in names)


def request(
    *messages: Message, prompt: str = BRIEFING_PROMPT, tools: Sequence[str] = EVERY_TOOL
) -> Request:
    """A request that begins with the owner's prompt under the clock line."""
    first = UserMessage(text=f"{CLOCK_LINE}\n\n{prompt}")
    return Request(system="", messages=(first, *messages), tools=schemas(*tools))
