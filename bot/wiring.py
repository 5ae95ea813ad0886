"""Builds each thing when it is first asked for; the only module of this floor that imports late.

Why: reviewing a draft must load neither a model client nor a mail server, and no door may build.
"""

import os
import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bot import startup
from bot.errors import ConfigProblem, NotFound
from bot.home import find_home
from bot.logs import REDACTOR, redact, start_logging
from bot.packages import built_in_specs
from bot.secrets import Secrets
from bot.settings import Settings, load_settings
from bot.settings_problems import Problem
from bot.settings_schema import DEFAULT_AGENT
from outbox.journal import Store
from outbox.process import current_process, is_surely_dead
from outbox.settings import GateSettings, OutboxSettings, Trifecta
from tools.contract import Phase
from tools.ids import new_id
from tools.registry import Entry, Registry

if TYPE_CHECKING:
    from bot.equipment import Workbench
    from bot.sending import Sending
    from bot.service import Posture
    from outbox.files import FileRecords
    from outbox.judge import Judge
    from outbox.staging import Stager
    from outbox.turn import Releases
    from tools.blobs import BlobStore
    from tools.mail.settings import Mail, SmtpServer
    from triggers.tables import Cause
    from triggers.ticker import Ticker


def new_boundary() -> str:
    """Digits and small letters that nobody can guess, for one untrusted marker."""
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChoice:
    """A configured agent, as far as a session is concerned."""

    name: str
    instructions: str
    tools: tuple[str, ...]


def open_house() -> "House":
    """Everything of this machine's home: settings read and checked, nothing else opened yet.

    Raises: ConfigProblem.
    """
    home = find_home(os.environ)
    settings = load_settings(home.root, os.environ)
    home.prepare()
    start_logging(home)
    return House(settings)


class House:
    """What the commands work with. Each part is built once, when it is first used."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.home = settings.home
        self._embedded: SmtpServer | None = None

    @cached_property
    def process(self) -> str:
        """This process, as leases and attempts record it."""
        return str(current_process())

    @cached_property
    def store(self) -> Store:
        """The database. Raises: DatabaseProblem."""
        from bot.database import open_database

        return open_database(self.settings)

    @cached_property
    def secrets(self) -> Secrets:
        """Resolves what the configuration names."""
        return Secrets(self.home, self.settings.environ, REDACTOR)

    @cached_property
    def registry(self) -> Registry:
        """Every tool there is. Raises: ManifestError, RegistryError."""
        return Registry(Entry(spec) for spec in built_in_specs())

    @cached_property
    def gate_settings(self) -> GateSettings:
        """[outbox] and [security] as the gate reads them."""
        from bot.settings_views import gate_settings

        return gate_settings(self.settings)

    @property
    def outbox_settings(self) -> OutboxSettings:
        """[outbox] alone."""
        return self.gate_settings.outbox

    @cached_property
    def files(self) -> "FileRecords":
        """Who wrote which file."""
        from outbox.files import FileRecords

        return FileRecords(self.store, scratch_root=self.home.work.resolve())

    @staticmethod
    def now() -> datetime:
        """The moment, aware, in UTC."""
        return datetime.now(UTC)

    def local(self, moment: datetime) -> str:
        """A moment as people and programs read it: RFC 3339 with the owner's offset."""
        return moment.astimezone(self.settings.timezone).isoformat(timespec="seconds")

    def short(self, moment: str) -> str:
        """A moment of a `--json` output as a list shows it, in the owner's zone: `Mon 30 Nov 04:08`."""
        return f"{datetime.fromisoformat(moment).astimezone(self.settings.timezone):%a %d %b %H:%M}"

    def routed_to_nothing(self) -> tuple[str, ...]:
        """Names under [outbox] that match no tool, of this version or of a later one.

        Raises: ConfigProblem where `[outbox] strict` makes that an error.
        """
        dead = startup.dead_routes(self.settings, self.registry.names)
        if self.outbox_settings.strict:
            self._refuse(dead.values())
        return tuple(dead)

    def warnings(self) -> tuple[str, ...]:
        """What stands in every answer's footer while it is so."""
        told = []
        if self.gate_settings.security.trifecta is Trifecta.ALLOW:
            told.append("trifecta = allow")
        if self.outbox_settings.direct:
            told.append(f"direct: {', '.join(self.outbox_settings.direct)}")
        return tuple(told)

    def agent(self, name: str | None) -> AgentChoice:
        """The agent of that name, or the default one. Raises: NotFound."""
        wanted = name or DEFAULT_AGENT
        entry = self.settings.agents.get(wanted)
        if entry is None:
            known = ", ".join(sorted(self.settings.agents))
            raise NotFound(f"no agent '{wanted}'; the configuration has: {known}")
        return AgentChoice(name=wanted, instructions=entry.instructions or "", tools=entry.tools)

    def model_name(self, agent: AgentChoice, override: str | None) -> str:
        """The entry of [models] that a session of this agent uses.

        Raises: NotFound for an unknown name, ConfigProblem where none is configured.
        """
        name = override or self.settings.model_name(agent.name)
        if name is None:
            missing = startup.without_model(self.settings, agent.name)
            raise ConfigProblem(f"{self.home.config}: {missing}")
        if name not in self.settings.models:
            known = ", ".join(sorted(self.settings.models)) or "none"
            raise NotFound(f"no model '{name}'; the configuration has: {known}")
        self._refuse([startup.unbuilt_model(self.settings, name)])
        return name

    def refuse_broken_guards(self) -> None:
        """No run starts while the owner relies on a guard that would guard nothing.

        Why: what can refuse must never fail open. Raises: ConfigProblem.
        """
        self._refuse(startup.broken_guards(self.settings, self.registry.names))

    def _refuse(self, problems: Iterable[Problem | None]) -> None:
        for problem in problems:
            if problem is not None:
                raise ConfigProblem(f"{self.home.config}: {problem}")

    def workspace(self, producer: str, given: Path | None) -> Path:
        """The canonical workspace of a new session, made if it is steward's own.

        Raises: JailError for one that tools must not be let into, NotFound if it does not exist.
        """
        from tools.jail import check_workspace

        if given is None:
            own = (self.home.work / producer).resolve()
            own.mkdir(mode=0o700, parents=True, exist_ok=True)
            return own
        chosen = given.expanduser().resolve()
        if not chosen.is_dir():
            raise NotFound(f"no folder {chosen}; make it, or leave --workspace out")
        check_workspace(chosen, self.home.root)
        self._refuse_owned_files(chosen)
        return chosen

    def _refuse_owned_files(self, workspace: Path) -> None:
        for path in self.settings.owned_files:
            if path.resolve().is_relative_to(workspace):
                raise ConfigProblem(
                    f"the workspace {workspace} holds {path}, which steward obeys; "
                    "name another folder, or move that file"
                )

    def offered(self, agent: AgentChoice, phase: Phase = Phase.ACT) -> Registry:
        """The tools this agent has, by name and by what this machine can serve."""
        chosen = self.registry.select(
            agent.tools, phase=phase, without=self.settings.config.tools.disabled
        )
        served = [entry.spec.name for entry in chosen if self.lacking(entry) is None]
        return chosen.select(served, phase=phase)

    def lacking(self, entry: Entry) -> str | None:
        """What was not configured and this tool cannot do without; None where nothing is lacking."""
        if "mail" not in entry.spec.needs:
            return None
        accounts = startup.built_accounts(self.settings).values()
        if not accounts:
            return "no mail account"
        can_send = any(account.smtp for account in accounts)
        return None if can_send or entry.spec.read_only else "no smtp"

    @cached_property
    def judge(self) -> "Judge":
        """Whose each identifier of a draft is, and so which marks it carries."""
        from bot.owner_records import MailRecords
        from bot.transcript import TranscriptText
        from outbox.judge import Judge

        return Judge(
            text=TranscriptText(),
            records=MailRecords(lambda: self.mail, self.store),
            content=self.blobs.find,
        )

    @cached_property
    def stager(self) -> "Stager":
        """Writes drafts."""
        from outbox.staging import Stager

        return Stager(
            store=self.store,
            judge=self.judge,
            settings=self.outbox_settings,
            now=self.now,
            new_id=new_id,
        )

    @cached_property
    def sending(self) -> "Sending":
        """What a release needs of this floor."""
        from bot.sending import Sending

        return Sending(
            settings=self.settings,
            registry=self.registry,
            files=self.files,
            needs=self.need_for_release,
            now=self.now,
        )

    @cached_property
    def at_once(self) -> "Releases":
        """Releases what a run sends without waiting for the owner."""
        from bot.sending import AtOnce, untold
        from outbox.release import Releaser

        releaser = Releaser(store=self.store, desk=self.sending, note=untold, now=self.now)
        return AtOnce(releaser=releaser, server=self.mail_server)

    @cached_property
    def workbench(self) -> "Workbench":
        """Equips runs."""
        from bot.equipment import Workbench

        return Workbench(
            settings=self.settings,
            gate_settings=self.gate_settings,
            store=self.store,
            secrets=self.secrets,
            files=self.files,
            stager=self.stager,
            releaser=self.at_once,
            tools_of=lambda agent: self.offered(self.agent(agent)),
            needs=self.need,
            redact=redact,
            boundary=new_boundary,
            now=self.now,
        )

    def need(self, name: str) -> object:
        """What a tool's manifest asks for by this name, for a run: servers without passwords."""
        match name:
            case "mail":
                return self.mail
            case "blobs":
                return self.blobs
            case "todo_dir":
                return self.home.todo
        raise ConfigProblem(f"a tool needs '{name}', which this version cannot give")

    def need_for_release(self, name: str) -> object:
        """As `need`, with the passwords of mail servers. Raises: ConfigProblem."""
        if name != "mail":
            return self.need(name)
        from bot.settings_views import mail_settings

        return mail_settings(self.settings, self.secrets, embedded=self._embedded)

    @cached_property
    def blobs(self) -> "BlobStore":
        """Attachment bytes."""
        from tools.blobs import BlobStore

        return BlobStore(self.home.blobs)

    @cached_property
    def mail(self) -> "Mail":
        """The mail accounts as runs see them, with what was already read of them."""
        from bot.settings_views import mail_settings

        return mail_settings(self.settings, None)

    def ticker(self, posture: "Posture") -> "Ticker":
        """This process's hand in the mailbox, running causes in that posture."""
        from bot.service import Service, cut_short, had_effect
        from triggers.ticker import Ticker

        self.refuse_broken_guards()
        service = Service(
            store=self.store,
            workshop=self.workbench,
            posture=posture,
            zone=self.settings.timezone,
            now=self.now,
            boundary=new_boundary,
        )
        return Ticker(
            store=self.store,
            run=service.run,
            cut_short=cut_short,
            owner=self.process,
            now=self.now,
            is_dead=is_surely_dead,
            had_effect=had_effect,
        )

    def recover(self) -> "Sequence[Cause]":
        """Mend what dead processes left behind; gives the causes interrupted from now on."""
        from bot.service import had_effect
        from triggers import mailbox

        with self.store.effect() as session:
            found = mailbox.recover(
                session, now=self.now(), is_dead=is_surely_dead, had_effect=had_effect
            )
            session.expunge_all()
            return found

    @asynccontextmanager
    async def mail_server(self) -> AsyncIterator[None]:
        """While inside, an account with `embedded = true` has its server, on a free loopback port."""
        entries = self.settings.config.mail.accounts.values()
        entry = next((each for each in entries if each.smtp and each.smtp.embedded), None)
        if entry is None or self._embedded is not None:
            yield
            return
        from bot.tour.embedded_smtp import embedded_smtp
        from tools.mail.settings import SmtpServer, Tls

        sent = self.settings.path(entry.sent or "sent")
        async with embedded_smtp(sent) as port:
            self._embedded = SmtpServer(host="127.0.0.1", port=port, tls=Tls.NONE, files_sent=True)
            try:
                yield
            finally:
                self._embedded = None
