"""Plays a model against real read tools, with senders that stage and a question that parks."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bot.models.contract import AssistantMessage, Message, Model, Reply, TextDelta, ToolMessage
from makers.tour import EVERY_TOOL, NOW, request
from tools.arguments import decode_arguments
from tools.contract import ToolCall, ToolContext
from tools.invoke import invoke
from tools.jail import Jail
from tools.mail.settings import AccountKind, Mail, MailAccount
from tools.manifest import load_specs
from tools.output import OutputBudget, Presentation, present
from tools.registry import Entry, Registry
from tools.result import ToolResult

READS = ("mail_get_thread", "mail_recent", "mail_search")
TURNS_AT_MOST = 12


class NothingTainted:
    """No file of the play was written by anybody."""

    def is_untrusted(self, path: Path) -> bool:
        return False

    def any_untrusted(self, root: Path) -> bool:
        return False


@dataclass
class Play:
    """What a play came to: every message in order, the drafts, the question."""

    messages: list[Message] = field(default_factory=list)
    replies: list[dict[str, Any]] = field(default_factory=list)
    sends: list[dict[str, Any]] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)

    @property
    def answer(self) -> str:
        """The last words of the model."""
        said = [m.text for m in self.messages if isinstance(m, AssistantMessage) and m.text]
        return said[-1] if said else ""


@cache
def _mail_tools() -> Registry:
    specs = load_specs(Path(__file__).parents[2] / "tools" / "mail")
    return Registry(Entry(spec) for spec in specs)


class Theatre:
    """A mailbox with its read tools, as a run would offer them, one call after the other."""

    def __init__(
        self, mailbox: Path, folder: Path, *, address: str = "robin@ashford.example"
    ) -> None:
        account = MailAccount(name="tour", kind=AccountKind.MAILDIR, address=address, path=mailbox)
        self.registry = _mail_tools()
        self._folder = folder
        (folder / "work").mkdir(parents=True, exist_ok=True)
        self._mail = Mail(accounts=(account,))

    async def play(
        self,
        model: Model,
        prompt: str,
        *,
        answer: str | None = None,
        tools: Sequence[str] = EVERY_TOOL,
        refuse: Sequence[str] = (),
        earlier: Sequence[Message] = (),
    ) -> Play:
        """Go round until the model calls nothing, a question has no answer, or 12 turns are over."""
        play = Play(messages=list(earlier))
        for _ in range(TURNS_AT_MOST):
            reply = await last_of(model, request(*play.messages, prompt=prompt, tools=tools))
            play.messages.append(reply.message)
            if not reply.message.calls:
                return play
            budget = OutputBudget(48 * 1024, results=len(reply.message.calls))
            for call in reply.message.calls:
                play.calls.append(call)
                result = await self._result(call, play, answer, refuse)
                if result is None:
                    return play
                shown = present(result, self._how(call), budget)
                play.messages.append(
                    ToolMessage(call_id=call.id, text=shown.text, is_error=shown.is_error)
                )
        raise AssertionError("the model never came to an end")

    async def _result(
        self, call: ToolCall, play: Play, answer: str | None, refuse: Sequence[str]
    ) -> ToolResult | None:
        if call.name in refuse:
            return ToolResult.error("refused by policy: not in this conversation")
        if call.name == "ask_user":
            play.questions.append(json.loads(call.arguments))
            return None if answer is None else ToolResult.ok(answer)
        entry = self.registry.get(call.name)
        assert entry is not None, call.name
        args = decode_arguments(entry.spec, call.arguments)
        if call.name in READS:
            return await invoke(entry, args, self._context(call))
        kept = play.replies if call.name == "mail_reply" else play.sends
        kept.append(json.loads(call.arguments))
        return ToolResult.ok("staged as draft 01; nothing was sent")

    def _how(self, call: ToolCall) -> Presentation:
        return Presentation(
            call_id=call.id, source=call.name, spill_dir=self._folder / "spill", boundary="b" * 16
        )

    def _context(self, call: ToolCall) -> ToolContext:
        return ToolContext(
            jail=Jail(root=self._folder / "work", spill_dir=self._folder / "spill"),
            spill_dir=self._folder / "spill",
            output_budget_bytes=48 * 1024,
            session_id="s",
            producer="run",
            agent="assistant",
            call_id=call.id,
            turn=1,
            now=lambda: NOW.astimezone(UTC),
            timezone=ZoneInfo("Europe/Oslo"),
            file_taint=NothingTainted(),
            needs={"mail": self._mail},
        )


async def last_of(model: Model, asked: Any) -> Reply:
    """The reply that ends the stream; what streamed before is its very text."""
    streamed: AsyncIterator[Any] = model.respond(asked)
    pieces = [piece async for piece in streamed]
    reply = pieces[-1]
    assert isinstance(reply, Reply)
    assert "".join(p.text for p in pieces if isinstance(p, TextDelta)) == reply.message.text
    return reply
