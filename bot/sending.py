"""What the outbox needs of this floor to release a draft: the tool as installed, and its context."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlmodel import Session

from bot.errors import BotError
from bot.settings import Settings
from outbox.errors import SenderMissing
from outbox.files import FileRecords
from outbox.release import Released, Releaser
from outbox.states import Decider
from outbox.tables import Draft
from tools.contract import ToolContext
from tools.jail import Jail
from tools.registry import Entry, Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """outbox.senders.SenderDesk. `needs` gives accounts with their passwords."""

    settings: Settings
    registry: Registry
    files: FileRecords
    needs: Callable[[str], object]
    now: Callable[[], datetime]

    def entry(self, tool: str) -> Entry | None:
        """The tool of that name as it is installed now, whatever the agent is offered."""
        return self.registry.get(tool)

    def context(self, draft: Draft) -> ToolContext:
        """What the tool is handed: the root the draft recorded, and what its manifest needs.

        Raises: SenderMissing, naming the account or secret that is not there.
        """
        entry = self.registry.get(draft.tool)
        wanted = entry.spec.needs if entry else ()
        try:
            needs = {name: self.needs(name) for name in wanted}
        except BotError as problem:
            raise SenderMissing(str(problem)) from problem
        spill = self.settings.home.spill / draft.session_id
        return ToolContext(
            jail=Jail(root=Path(draft.root), spill_dir=spill, forbidden=(self.settings.home.root,)),
            spill_dir=spill,
            output_budget_bytes=0,
            session_id=draft.session_id,
            producer=draft.producer,
            agent=draft.agent,
            call_id=draft.call_id,
            turn=0,
            now=self.now,
            timezone=self.settings.timezone,
            file_taint=self.files,
            needs=needs,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AtOnce:
    """outbox.turn.Releases for the sends of a run that do not wait; `server` is its mail server."""

    releaser: Releaser
    server: Callable[[], AbstractAsyncContextManager[None]]

    async def approve(self, draft_id: str, *, revision: int, decider: Decider) -> Released:
        """As outbox.release.Releaser.approve."""
        async with self.server():
            return await self.releaser.approve(draft_id, revision=revision, decider=decider)


def untold(session: Session, draft: Draft, text: str) -> None:
    """outbox.release.Note where the result of the call itself tells the session."""
    del session, draft, text
