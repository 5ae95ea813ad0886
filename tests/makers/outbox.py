"""Makes what the tests of drafts stand on: a real database, and a sender whose server is a folder."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict
from sqlmodel import Session

from bot.database import Database, create_database
from bot.tables import EventKind
from bot.transcript import Line, append, lines, result_data
from outbox.errors import LeaseLost, SenderMissing
from outbox.interlock import CallFacts
from outbox.journal import Origin, ReadItem, Span
from outbox.judge import Judge
from outbox.release import Releaser
from outbox.settings import OutboxSettings
from outbox.staging import Stager
from outbox.states import Decider
from outbox.tables import Draft, DraftKind, DraftStatus
from outbox.turn import Prepared, SessionFacts, Staged
from tools.blobs import BlobStore
from tools.contract import (
    Capabilities,
    Completed,
    CompletionError,
    Delivery,
    DeliveryOutcome,
    Egress,
    GoAhead,
    ReviewShape,
    Sender,
    ToolCall,
    ToolContext,
    ToolSpec,
    Verification,
)
from tools.ids import new_id
from tools.jail import Jail
from tools.registry import Entry
from tools.result import Item, ToolResult
from tools.taint import CLEAN, Taint

ANSWER_SECONDS = 600.0
OWNER = Decider(by="owner", via="test")
SHAPE = ReviewShape(
    headers=("from", "to", "cc", "subject"),
    body="body",
    recipients=("to", "cc"),
    source_id="in_reply_to",
    thread_id="thread",
)


class SendArgs(BaseModel):
    """The arguments of the test's sender, as a model would write them."""

    model_config = ConfigDict(extra="forbid")

    to: list[str]
    subject: str = "Hello"
    body: str = "Hi"
    thread: str | None = None
    in_reply_to: str | None = None


class FolderServer:
    """A destination outside of any process: a file for each message it took.

    `fault` is what goes wrong, kept in the folder so that every process meets it: "" nothing,
    `refuse` before the message is taken, `lose` the answer after it was, `break` the connection
    before the message was taken so that nobody knows, `absent` answers that nothing is there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    @property
    def fault(self) -> str:
        path = self.folder / "fault"
        return path.read_text() if path.exists() else ""

    @fault.setter
    def fault(self, value: str) -> None:
        (self.folder / "fault").write_text(value)

    def accept(self, args: Mapping[str, Any], key: str) -> None:
        message = json.dumps({"args": dict(args), "key": key})
        (self.folder / f"{uuid.uuid4()}.json").write_text(message)

    def messages(self) -> list[dict[str, Any]]:
        """Everything it ever took."""
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("*.json"))]

    def taken(self) -> list[str]:
        """The delivery keys it took, each as often as it was taken."""
        return sorted(message["key"] for message in self.messages())


class FolderSender(Sender):
    """Sends into a FolderServer."""

    async def complete(self, args: SendArgs, ctx: ToolContext) -> Completed:
        """Fixes sender and key. Raises: CompletionError for a recipient `nobody`."""
        if "nobody" in args.to:
            raise CompletionError("nobody is no recipient; name an address")
        given = args.model_dump()
        return Completed(
            args={"from": "owner@home.example", "cc": [], **given},
            delivery_key=f"<{ctx.call_id}.{uuid.uuid4().hex}@home.example>",
        )

    def check(self, completed: Mapping[str, Any], ctx: ToolContext) -> None:
        """Raises: CompletionError for a recipient that has left."""
        if "left@example.org" in completed["to"]:
            raise CompletionError("to: left@example.org has left")

    async def deliver(
        self, completed: Mapping[str, Any], delivery_key: str, ctx: ToolContext, go_ahead: GoAhead
    ) -> Delivery:
        """One file, or the fault."""
        server = ctx.need("server", FolderServer)
        match server.fault:
            case "refuse":
                return Delivery(outcome=DeliveryOutcome.FAILED, detail="550 no such user")
            case "bug":
                raise RuntimeError("a bug inside the sender")
        go_ahead(answer_within_seconds=ANSWER_SECONDS)
        if server.fault == "break":
            return Delivery(outcome=DeliveryOutcome.UNKNOWN, detail="the line broke")
        server.accept(completed, delivery_key)
        if server.fault == "lose":
            return Delivery(outcome=DeliveryOutcome.UNKNOWN, detail="no answer after the dot")
        return Delivery(outcome=DeliveryOutcome.SENT, detail="250 taken")

    async def verify(
        self, completed: Mapping[str, Any], delivery_key: str, ctx: ToolContext
    ) -> Verification:
        """Looks for the key among the files."""
        server = ctx.need("server", FolderServer)
        if delivery_key in server.taken():
            return Verification.DELIVERED
        return Verification.ABSENT if server.fault == "absent" else Verification.UNKNOWN


class LocalFolderSender(FolderSender):
    """The same, where a delivery never leaves the machine."""

    def loopback_only(self, completed: Mapping[str, Any], ctx: ToolContext) -> bool:
        """Always."""
        return True


class NothingWritten:
    """A FileTaint of a world without files."""

    def is_untrusted(self, path: Path) -> bool:
        return False

    def any_untrusted(self, root: Path) -> bool:
        return False


def spec(name: str = "post_send", **changes: Any) -> ToolSpec:
    """The sender's spec."""
    facts: dict[str, Any] = {
        "name": name,
        "description": "Send a message. Do not use it to read.",
        "args": "makers.outbox:SendArgs",
        "handler": "makers.outbox:FolderSender",
        "source": "test",
        "source_version": "1",
        "capabilities": Capabilities(egress=Egress.CHOSEN),
        "read_only": False,
        "stageable": True,
        "needs": ("server",),
        "review": SHAPE,
    }
    return ToolSpec(**{**facts, **changes})


@dataclass
class Desk:
    """A SenderDesk over a few entries; `down` is what its contexts fail with."""

    context_of: Callable[[], ToolContext]
    entries: dict[str, Entry] = field(default_factory=lambda: {"post_send": Entry(spec())})
    down: str = ""

    def entry(self, tool: str) -> Entry | None:
        return self.entries.get(tool)

    def context(self, draft: Draft) -> ToolContext:
        if self.down:
            raise SenderMissing(self.down)
        return self.context_of()


@dataclass
class Words:
    """A SessionText of given words and items."""

    said: list[Span] = field(default_factory=list)
    read: list[ReadItem] = field(default_factory=list)

    def add(
        self, origin: Origin, text: str, source: str = "", *, after_others: bool = False
    ) -> None:
        """The next piece of text, written down now."""
        self.said.append(
            Span(
                seq=len(self.said) + 1,
                at=now(),
                origin=origin,
                text=text,
                source=source,
                after_others=after_others,
            )
        )

    def spans(self, session: Session, session_id: str) -> Sequence[Span]:
        return self.said

    def items(self, session: Session, session_id: str, provider_id: str) -> Sequence[ReadItem]:
        found = [each for each in self.read if each.item.provider_id == provider_id]
        return sorted(found, key=lambda each: -each.seq)[:20]


@dataclass
class Records:
    """OwnerRecords of given identifiers."""

    known: frozenset[str] = frozenset()

    def identifiers(self) -> frozenset[str]:
        return self.known


@dataclass
class SessionJournal:
    """A Journal that writes real transcript rows of one session; `lost` and `broken` make it fail."""

    store: Database
    session_id: str = "session-1"
    lost: bool = False
    broken: Exception | None = None

    @contextmanager
    def effect(self) -> Iterator[Session]:
        with self.store.effect() as session:
            if self.lost:
                raise LeaseLost("the lease was taken")
            yield session

    record = effect

    def call_started(self, session: Session, call: ToolCall) -> None:
        raise AssertionError("a staged call is never started")

    def call_finished(
        self, session: Session, call: ToolCall, result: ToolResult, brought: Taint
    ) -> None:
        line = Line(kind=EventKind.RESULT, data=result_data(call, result), taint=brought)
        append(session, self.session_id, line, datetime.now(UTC))
        if self.broken is not None:
            raise self.broken

    def call_parked(self, session: Session, call: ToolCall, question_id: str) -> None:
        raise AssertionError("a staged call is never parked")


class World:
    """A database, a server, and everything that works on them, in one folder; also an older one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "steward.db"
        if not self.path.exists():
            create_database(self.path, generation="test")
        self.store = Database(self.path)
        self.server = FolderServer(folder / "server")
        self.words = Words()
        self.records = Records()
        self.blobs = BlobStore(folder / "blobs")
        self.judge = Judge(text=self.words, records=self.records, content=self.blobs.find)
        self.desk = Desk(context_of=self.context)
        self.releaser = Releaser(store=self.store, desk=self.desk, note=keep_note, now=now)
        self.journal = SessionJournal(self.store)

    def context(self, call_id: str = "call-1") -> ToolContext:
        """What a call in this world is handed."""
        spill, root = self.folder / "spill", self.folder / "root"
        for each in (spill, root):
            each.mkdir(exist_ok=True)
        return ToolContext(
            jail=Jail(root=root, spill_dir=spill),
            spill_dir=spill,
            output_budget_bytes=10_000,
            session_id="session-1",
            producer="run",
            agent="assistant",
            call_id=call_id,
            turn=1,
            now=now,
            timezone=ZoneInfo("Europe/Oslo"),
            file_taint=NothingWritten(),
            needs={"server": self.server},
        )

    def stager(self, settings: OutboxSettings | None = None) -> Stager:
        """A stager over this world."""
        return Stager(
            store=self.store,
            judge=self.judge,
            settings=settings or OutboxSettings(),
            now=now,
            new_id=new_id,
        )

    def prepared(
        self, entry: Entry | None = None, *, taint: Taint = CLEAN, **arguments: Any
    ) -> Prepared:
        """A call as the gate hands it on."""
        entry = entry or self.desk.entries["post_send"]
        args = SendArgs(**arguments)
        call = ToolCall(
            id=f"call-{uuid.uuid4().hex[:8]}",
            name=entry.spec.name,
            arguments=json.dumps(arguments),
        )
        return Prepared(
            index=0,
            call=call,
            entry=entry,
            args=args,
            arguments=args.model_dump(exclude_unset=True),
            ctx=self.context(call.id),
            facts=CallFacts(
                tool=entry.spec.name,
                capabilities=entry.spec.capabilities,
                read_only=False,
                stageable=True,
            ),
            taint=taint,
        )

    def facts(self, session_id: str = "session-1", *, loopback_only: bool = False) -> SessionFacts:
        """The session whose calls are staged."""
        return SessionFacts(
            id=session_id,
            agent="assistant",
            producer="run",
            root=self.folder / "root",
            loopback_only=loopback_only,
            owner_links=frozenset,
        )

    async def stage(self, *, taint: Taint = CLEAN, **arguments: Any) -> Staged:
        """Stage one call of session-1."""
        prepared = self.prepared(taint=taint, **{"to": ["ada@example.org"], **arguments})
        return await self.stager().stage(self.journal, prepared, self.facts())

    def draft(self, draft_id: str) -> Draft:
        """The draft as stored."""
        with self.store.read() as session:
            found = session.get(Draft, draft_id)
            assert found is not None
            session.expunge(found)
            return found

    def notes(self, session_id: str = "session-1") -> list[str]:
        """What the session's next run will be told, oldest first."""
        with self.store.read() as session:
            rows = lines(session, session_id)
            return [row.data["text"] for row in rows if row.kind is EventKind.NOTE]

    def put(self, **changes: Any) -> Draft:
        """A draft written straight into the database."""
        draft = a_draft(**changes)
        with self.store.effect() as session:
            session.add(draft)
            session.flush()
            session.expunge(draft)
        return draft


def keep_note(session: Session, draft: Draft, text: str) -> None:
    """outbox.release.Note: a line of the draft's session."""
    line = Line(kind=EventKind.NOTE, data={"text": text})
    append(session, draft.session_id, line, now())


def now() -> datetime:
    """The clock of the tests: the real one."""
    return datetime.now(UTC)


def a_draft(**changes: Any) -> Draft:
    """A pending draft of the test's sender; `args` also sets what it was before."""
    made = changes.get("created_at", now())
    args = changes.get(
        "args",
        {
            "from": "owner@home.example",
            "to": ["ada@example.org"],
            "cc": [],
            "subject": "Hello",
            "body": "Hi",
            "thread": None,
            "in_reply_to": None,
        },
    )
    ident = changes.get("id") or new_id(made)
    facts: dict[str, Any] = {
        "id": ident,
        "status": DraftStatus.PENDING,
        "kind": DraftKind.MESSAGE,
        "tool": "post_send",
        "definition_hash": Entry(spec()).definition_hash,
        "summary": "to ada@example.org: Hello",
        "fingerprint": ident,
        "args_before": args,
        "args": args,
        "session_id": "session-1",
        "agent": "assistant",
        "producer": "run",
        "call_id": "call-1",
        "root": "root",
        "taint": CLEAN.as_json(),
        "marks": [],
        "delivery_key": f"<{ident}@home.example>",
        "owner_typed": [],
        "revision": 1,
        "created_at": made,
        "updated_at": made,
    }
    return Draft(**{**facts, **changes})


def read_item(provider_id: str, text: str, *, seq: int = 1, title: str = "A title") -> ReadItem:
    """An item that a read returned."""
    item = Item(provider_id=provider_id, title=title, text=text)
    return ReadItem(seq=seq, tool="mail_get_thread", item=item)
