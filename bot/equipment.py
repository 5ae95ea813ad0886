"""Equips one run: its model, its tools in their jail, and the gate between the two.

Imported only when a run begins, because it brings in model clients and tool handlers.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path

from bot.errors import ConfigProblem
from bot.models import price
from bot.models.chat_completions import ChatCompletions, ChatSettings
from bot.models.contract import Model, ToolSchema, Usage
from bot.models.rehearsal import RehearsalModel
from bot.models.transport import new_client
from bot.secrets import Secrets
from bot.service import Equipment, Posture
from bot.settings import Settings
from bot.settings_schema import ModelEntry, ModelKind
from bot.settings_views import api_key
from bot.tables import SessionRow
from bot.transcript import RunJournal, TranscriptText
from outbox.ask_tool import QuestionService
from outbox.files import FileRecords
from outbox.gate import Gate, GateParts, SessionFacts, Stages
from outbox.journal import Origin, Store
from outbox.links import links_in
from outbox.policy import offered
from outbox.settings import GateSettings
from outbox.turn import Releases
from tools.contract import ToolCall, ToolContext
from tools.ids import new_id
from tools.jail import Jail
from tools.output import budget_for
from tools.registry import Registry

OPENAI_URL = "https://api.openai.com/v1"
OWNERS_WORDS = (Origin.OWNER, Origin.CONFIGURED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """What the wiring hands over to equip runs. `needs` gives what tools ask for by name."""

    settings: Settings
    gate_settings: GateSettings
    store: Store
    secrets: Secrets
    files: FileRecords
    stager: Stages
    releaser: Releases
    tools_of: Callable[[str], Registry]
    needs: Callable[[str], object]
    redact: Callable[[str], tuple[str, int]]
    boundary: Callable[[], str]
    now: Callable[[], datetime]

    @asynccontextmanager
    async def equipped(
        self, row: SessionRow, journal: RunJournal, posture: Posture
    ) -> AsyncIterator[Equipment]:
        """Model, tools and gate for this session, while the context lasts. Raises: BotError."""
        async with AsyncExitStack() as stack:
            name = posture.model or row.model
            entry = self.settings.models.get(name)
            if entry is None:
                raise ConfigProblem(
                    f"there is no [models.{name}] in {self.settings.home.config} any more; name "
                    "one that is there with --model"
                )
            model = await self._model(name, entry, stack)
            registry = offered(self.tools_of(row.agent), posture.mode, self.gate_settings.outbox)
            questions = QuestionService(posture.door, new_id)
            configured = self.settings.config.tools.output_budget_bytes
            budget = configured or budget_for(model.context_window)
            parts = GateParts(
                registry=registry,
                journal=journal,
                facts=self._facts(row, model),
                settings=self.gate_settings,
                mode=posture.mode,
                door=posture.door,
                stager=self.stager,
                releaser=self.releaser,
                files=self.files,
                questions=questions,
                context=self._contexts(row, registry, budget, {"questions": questions}),
                redact=self.redact,
                output_budget_bytes=budget,
                boundary=self.boundary,
                now=self.now,
                new_id=new_id,
            )
            yield Equipment(
                model=model,
                schemas=schemas(registry),
                gate=Gate(parts),
                price=partial(cost, price_of(entry)),
                redact=self.redact,
            )

    async def _model(self, name: str, entry: ModelEntry, stack: AsyncExitStack) -> Model:
        match entry.kind:
            case ModelKind.REHEARSAL:
                return RehearsalModel(name, context_window=entry.context_window)
            case ModelKind.OPENAI:
                return await self._chat_completions(name, entry, stack)
            case ModelKind.OPENAI_RESPONSES | ModelKind.ANTHROPIC:
                raise ConfigProblem(f'[models.{name}] kind = "{entry.kind}" is not built yet')

    async def _chat_completions(self, name: str, entry: ModelEntry, stack: AsyncExitStack) -> Model:
        assert entry.model is not None, "an entry of this kind without a model does not load"
        client = await stack.enter_async_context(new_client())
        settings = ChatSettings(
            name=name,
            base_url=entry.base_url or OPENAI_URL,
            model=entry.model,
            api_key=api_key(self.settings, self.secrets, name),
            context_window=entry.context_window,
        )
        return ChatCompletions(settings, client)

    def _facts(self, row: SessionRow, model: Model) -> SessionFacts:
        return SessionFacts(
            id=row.id,
            agent=row.agent,
            producer=row.producer,
            root=Path(row.workspace),
            loopback_only=model.loopback_only,
            owner_links=partial(self._owner_links, row.id),
        )

    def _owner_links(self, session_id: str) -> frozenset[str]:
        """Links that stood in what the owner typed or configured, normalised."""
        with self.store.read() as session:
            spans = TranscriptText().spans(session, session_id)
        typed = (links_in(span.text) for span in spans if span.origin in OWNERS_WORDS)
        return frozenset().union(*typed)

    def _contexts(
        self, row: SessionRow, registry: Registry, budget: int, own: Mapping[str, object]
    ) -> Callable[[ToolCall, int], ToolContext]:
        jail, spill = session_jail(self.settings, row.workspace, row.id)

        def context(call: ToolCall, turn: int) -> ToolContext:
            entry = registry.get(call.name)
            wanted = entry.spec.needs if entry else ()
            return ToolContext(
                jail=jail,
                spill_dir=spill,
                output_budget_bytes=budget,
                session_id=row.id,
                producer=row.producer,
                agent=row.agent,
                call_id=call.id,
                turn=turn,
                now=self.now,
                timezone=self.settings.timezone,
                file_taint=self.files,
                needs={name: own.get(name) or self.needs(name) for name in wanted},
            )

        return context


def session_jail(settings: Settings, workspace: str, session_id: str) -> tuple[Jail, Path]:
    """The jail of a session's workspace, and its spill directory, which exists after this."""
    root = Path(workspace)
    spill = settings.home.spill / session_id
    spill.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_own = root.is_relative_to(settings.home.work.resolve())
    if is_own:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    jail = Jail(
        root=root,
        spill_dir=spill,
        scratch_root=root if is_own else None,
        forbidden=(settings.home.root, *own_files(settings)),
    )
    return jail, spill


def own_files(settings: Settings) -> tuple[Path, ...]:
    """Files of steward's own that no other name may lead to either, such as a hard link."""
    home, database = settings.home, settings.database_path
    beside = [database.with_name(database.name + suffix) for suffix in ("", "-wal", "-shm")]
    secrets = home.secrets.iterdir() if home.secrets.is_dir() else ()
    return (*settings.owned_files, *beside, home.generation_file, home.tour_marker, *secrets)


def schemas(registry: Registry) -> tuple[ToolSchema, ...]:
    """The tools as a model is told of them, ordered by name."""
    return tuple(
        ToolSchema(
            name=entry.spec.name,
            description=entry.spec.description,
            parameters=entry.schema,
        )
        for entry in registry
    )


def price_of(entry: ModelEntry) -> price.Price | None:
    """The owner's price list for this model; a rehearsal costs nothing, else unknown is None."""
    if entry.kind is ModelKind.REHEARSAL:
        return price.Price(input=Decimal(0), output=Decimal(0))
    if entry.price is None:
        return None
    return price.Price(
        input=entry.price.input,
        output=entry.price.output,
        cache_read=entry.price.cache_read,
        cache_write=entry.price.cache_write,
    )


def cost(prices: price.Price | None, usage: Usage) -> Decimal | None:
    """USD for one request, None where unknown."""
    return price.cost_usd(usage, prices)
