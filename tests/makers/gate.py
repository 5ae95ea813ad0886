"""Makers for the gate: a run on a real database, tools of chosen labels, doors that answer.

Only the tools and the doors are made for tests. The journal is the real transcript behind a real
lease; the jail, the file records and the stager are the real ones too.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict
from sqlalchemy import update
from sqlmodel import col, select

from bot.database import Database
from bot.sending import untold
from bot.tables import Event, EventKind
from bot.transcript import RunJournal, TranscriptText
from makers.house import make_database
from makers.triggers import HERE, THERE, post_cause
from outbox.approval import YES, Approval, ApprovalRequest, Door, NobodyDoor
from outbox.ask_tool import QuestionService
from outbox.files import FileRecords
from outbox.gate import CallOutcome, Gate, GateParts, SessionFacts, TurnOutcome
from outbox.interlock import CallFacts
from outbox.judge import Judge
from outbox.policy import Mode
from outbox.questions import Asked
from outbox.release import Releaser
from outbox.settings import GateSettings, OutboxSettings
from outbox.staging import Stager
from outbox.tables import Draft, Question
from tools.contract import (
    Capabilities,
    Completed,
    CompletionError,
    Delivery,
    DeliveryOutcome,
    EffectScope,
    Egress,
    GoAhead,
    Sender,
    Tool,
    ToolCall,
    ToolContext,
    ToolSpec,
    Verification,
)
from tools.ids import new_id
from tools.jail import Jail
from tools.manifest import load_specs
from tools.registry import Entry, Registry
from tools.result import ToolResult
from tools.taint import CLEAN, Source, Taint
from triggers import mailbox
from triggers.lease import Lease
from triggers.tables import Cause

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SESSION = "s1"
PROJECT = Path(__file__).parents[2]

CHOSEN = Capabilities(egress=Egress.CHOSEN)
BLIND = Capabilities(egress=Egress.BLIND)
DESTRUCTIVE = Capabilities(destructive=True)
PRIVATE_READ = Capabilities(private_data=True)
FOREIGN_READ = Capabilities(untrusted_input=True)
MAIL_READ = Capabilities(private_data=True, untrusted_input=True)
NOTHING = Capabilities()

DIRECT = GateSettings(outbox=OutboxSettings(direct=("mail_send",)))

PRIVATE = Taint(private=(Source(tool="fs_read", turn=1, what="path=diary.md"),))
UNTRUSTED = Taint(untrusted=(Source(tool="http_fetch", turn=2, what="url=x.example"),))
BOTH = PRIVATE.merge(UNTRUSTED)


class ToolArgs(BaseModel):
    """Arguments that fit every test tool."""

    model_config = ConfigDict(extra="forbid")

    text: str = ""
    url: str = ""
    count: int = 0
    calls: list[dict[str, Any]] = []


Behaviour = Callable[[ToolArgs, ToolContext], Awaitable[ToolResult]]


class ScriptedTool(Tool):
    """Notes that it ran, then does what the test says."""

    def __init__(self, spec: ToolSpec, ran: list[str], behaviour: Behaviour | None) -> None:
        super().__init__(spec)
        self._ran = ran
        self._behaviour = behaviour

    async def call(self, args: ToolArgs, ctx: ToolContext) -> ToolResult:
        """The scripted result; by default text that is external where the labels say untrusted."""
        self._ran.append(ctx.call_id)
        if self._behaviour is not None:
            return await self._behaviour(args, ctx)
        external = self.spec.capabilities.untrusted_input
        return ToolResult.ok(f"{self.spec.name} did it", external=external)


def make_spec(name: str, capabilities: Capabilities = NOTHING, **changes: Any) -> ToolSpec:
    """A read-only tool without labels, but for what is said."""
    spec = ToolSpec(
        name=name,
        description=f"{name}. Do not use it elsewhere.",
        args="makers.gate:ToolArgs",
        handler="makers.gate:ScriptedTool",
        source="test",
        source_version="1",
        capabilities=capabilities,
        read_only=True,
        scope=EffectScope.WORLD,
    )
    return replace(spec, **changes)


def sender(name: str = "send", **changes: Any) -> ToolSpec:
    """A stageable tool of chosen egress."""
    return make_spec(name, CHOSEN, **{"read_only": False, "stageable": True, **changes})


def call(name: str, call_id: str = "", **arguments: Any) -> ToolCall:
    """A call as a model writes it; the id defaults to the tool's name."""
    return ToolCall(id=call_id or name, name=name, arguments=json.dumps(arguments))


@dataclass
class PersonDoor:
    """A door where somebody stands who answers as the test says, and remembers what was asked."""

    name: str = "terminal"
    present: bool = True
    approval: Approval = YES
    answers: list[str | None] = field(default_factory=list)
    requests: list[ApprovalRequest] = field(default_factory=list)
    questions: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    async def approve(self, request: ApprovalRequest) -> Approval:
        """The approval of the test."""
        self.requests.append(request)
        return self.approval

    async def ask(self, question: str, options: Sequence[str]) -> str | None:
        """The next answer of the test."""
        self.questions.append((question, tuple(options)))
        return self.answers.pop(0)


@dataclass
class BenchDesk:
    """outbox.senders.SenderDesk over the bench's tools."""

    entries: Mapping[str, Entry]
    context_of: Callable[[ToolCall, int], ToolContext]

    def entry(self, tool: str) -> Entry | None:
        """The tool of that name."""
        return self.entries.get(tool)

    def context(self, draft: Draft) -> ToolContext:
        """The context of the call that was staged."""
        return self.context_of(ToolCall(id=draft.call_id, name=draft.tool, arguments=""), 0)


class ScriptedSender(Sender):
    """Notes that it delivered; completes a call into its own arguments, or fails as it is told to.

    `delivers` is how its deliveries end.
    """

    delivers = DeliveryOutcome.SENT

    def __init__(self, spec: ToolSpec, ran: list[str], failure: str | None) -> None:
        super().__init__(spec)
        self._ran = ran
        self._failure = failure

    async def complete(self, args: ToolArgs, ctx: ToolContext) -> Completed:
        """The arguments as they are. Raises: CompletionError where the test says so."""
        if self._failure is not None:
            raise CompletionError(self._failure)
        return Completed(args=args.model_dump(), delivery_key=ctx.call_id)

    async def deliver(
        self, completed: Mapping[str, Any], delivery_key: str, ctx: ToolContext, go_ahead: GoAhead
    ) -> Delivery:
        """As the test says; noted where it may have gone out."""
        if self.delivers is not DeliveryOutcome.FAILED:
            go_ahead(answer_within_seconds=600.0)
            self._ran.append(ctx.call_id)
        return Delivery(outcome=self.delivers, detail=delivery_key)

    async def verify(
        self, completed: Mapping[str, Any], delivery_key: str, ctx: ToolContext
    ) -> Verification:
        """Nobody knows."""
        return Verification.UNKNOWN


class NoRecords:
    """outbox.journal.OwnerRecords of an owner who keeps none."""

    def identifiers(self) -> frozenset[str]:
        """None."""
        return frozenset()


@dataclass
class Bench:
    """One run at its gate, and what can be asked about it afterwards."""

    store: Database
    journal: RunJournal
    parts: GateParts
    cause_id: str
    ran: list[str]
    folder: Path

    async def turn(self, *calls: ToolCall, taint: Taint = CLEAN, turn: int = 3) -> TurnOutcome:
        """Pass a turn through the gate."""
        return await Gate(self.parts).turn(calls, taint, turn)

    async def one(self, one_call: ToolCall, *, taint: Taint = CLEAN) -> CallOutcome:
        """Pass one call through the gate."""
        outcome = await self.turn(one_call, taint=taint)
        (only,) = outcome.outcomes
        return only

    def events(self) -> list[tuple[EventKind, str]]:
        """Kind and call of every line of the transcript, oldest first."""
        with self.store.read() as session:
            rows = session.exec(select(Event).order_by(col(Event.seq))).all()
            return [(row.kind, row.data["call_id"]) for row in rows]

    def event(self, call_id: str, kind: EventKind = EventKind.RESULT) -> Event:
        """That call's line of the transcript."""
        with self.store.read() as session:
            rows = session.exec(select(Event).where(col(Event.kind) == kind)).all()
        (row,) = [row for row in rows if row.data["call_id"] == call_id]
        return row

    def drafts(self) -> list[Draft]:
        """Every draft."""
        with self.store.read() as session:
            return list(session.exec(select(Draft)).all())

    def questions(self) -> list[Question]:
        """Every question, oldest first."""
        with self.store.read() as session:
            return list(session.exec(select(Question).order_by(col(Question.id))).all())

    def lose_lease(self) -> None:
        """Another process takes the run over, as after a long sleep."""
        with self.store.effect() as session:
            taken = update(Cause).where(col(Cause.id) == self.cause_id)
            session.execute(taken.values(owner=THERE, epoch=Cause.epoch + 1))


def make_bench(
    folder: Path,
    tools: Iterable[ToolSpec] = (),
    *,
    database: Database | None = None,
    door: Door | None = None,
    behaviours: Mapping[str, Behaviour] | None = None,
    uncompletable: Mapping[str, str] | None = None,
    root: Path | None = None,
    **changes: Any,
) -> Bench:
    """A run with these tools; the caller closes `store`. Its workspace is scratch unless `root`."""
    store = database or make_database(folder)
    scratch = folder / "home" / "work"
    workspace = root or scratch / "run"
    workspace.mkdir(parents=True, exist_ok=True)
    ran: list[str] = []
    journal, cause_id = make_journal(store)
    door = door or NobodyDoor("nobody")
    files = FileRecords(store, scratch_root=scratch.resolve())
    service = QuestionService(door, new_id)
    jail = Jail(
        root=workspace, spill_dir=folder / "spill", scratch_root=None if root else workspace
    )

    def context(one_call: ToolCall, turn: int) -> ToolContext:
        return ToolContext(
            jail=jail,
            spill_dir=folder / "spill",
            output_budget_bytes=48 * 1024,
            session_id=SESSION,
            producer="run",
            agent="assistant",
            call_id=one_call.id,
            turn=turn,
            now=lambda: NOON,
            timezone=ZoneInfo("UTC"),
            file_taint=files,
            needs={"questions": service},
        )

    def handler(spec: ToolSpec) -> Tool:
        if spec.stageable:
            return ScriptedSender(spec, ran, failing.get(spec.name))
        return ScriptedTool(spec, ran, (behaviours or {}).get(spec.name))

    failing = uncompletable or {}
    entries = [Entry(spec, handler(spec)) for spec in tools]
    settings = changes.pop("settings", GateSettings())
    boundaries = (f"boundary{number}" for number in count())
    parts = GateParts(
        registry=Registry([*entries, *map(Entry, built_in())]),
        journal=journal,
        facts=SessionFacts(
            id=SESSION,
            agent="assistant",
            producer="run",
            root=jail.root,
            loopback_only=False,
            owner_links=frozenset,
        ),
        settings=settings,
        mode=Mode.NORMAL,
        door=door,
        stager=Stager(
            store=store,
            judge=Judge(text=TranscriptText(), records=NoRecords(), content=lambda sha: None),
            settings=settings.outbox,
            now=lambda: NOON,
            new_id=new_id,
        ),
        releaser=Releaser(
            store=store,
            desk=BenchDesk({entry.spec.name: entry for entry in entries}, context),
            note=untold,
            now=lambda: NOON,
        ),
        files=files,
        questions=service,
        context=context,
        redact=lambda text: (text, 0),
        output_budget_bytes=48 * 1024,
        boundary=lambda: next(boundaries),
        now=lambda: NOON,
        new_id=new_id,
    )
    parts = replace(parts, **changes)
    return Bench(
        store=store, journal=journal, parts=parts, cause_id=cause_id, ran=ran, folder=folder
    )


def make_journal(store: Database) -> tuple[RunJournal, str]:
    """The journal of a run that holds its lease, and the id of its cause."""
    cause_id = post_cause(store, session_id=SESSION)
    with store.effect() as session:
        claim = mailbox.claim(session, owner=HERE, now=NOON, cause_id=cause_id)
    assert claim is not None
    return RunJournal(store, Lease(claim, now=lambda: NOON), lambda: NOON), cause_id


def built_in() -> list[ToolSpec]:
    """The real `ask_user` and the real file tools."""
    return [*load_specs(PROJECT / "outbox"), *load_specs(PROJECT / "tools" / "files")]


def facts(capabilities: Capabilities = NOTHING, **changes: Any) -> CallFacts:
    """A read-only call without labels, but for what is said."""
    return replace(CallFacts(tool="tool", capabilities=capabilities, read_only=True), **changes)


def make_asked(question_id: str, **changes: Any) -> Asked:
    """A question, but for what is said."""
    asked = Asked(
        id=question_id,
        question="Tea or coffee?",
        options=("tea", "coffee"),
        session_id=SESSION,
        agent="assistant",
        producer="run",
        surface="terminal",
        call_id=f"call-{question_id}",
        workspace="here",
    )
    return replace(asked, **changes)
