"""The configuration file as a type: the sections whose features are built, and the whole."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from bot.settings_later import (
    Calendar,
    HookEntry,
    Inbound,
    Limits,
    MailFront,
    McpServer,
    Messages,
    RuleEntry,
    Sandbox,
    SearchBackend,
    Slack,
    ToolDetail,
)
from bot.settings_types import Address, Money, Port, Secret, Section, Words
from outbox.settings import Trifecta, WebRule
from tools.mail.settings import Tls

DEFAULT_AGENT = "assistant"


class ModelKind(StrEnum):
    """Which wire a model speaks."""

    OPENAI = "openai"
    OPENAI_RESPONSES = "openai-responses"
    ANTHROPIC = "anthropic"
    REHEARSAL = "rehearsal"


class Price(Section):
    """USD per million tokens. A cache price that is not given is the price of input."""

    input: Money
    output: Money
    cache_read: Money | None = None
    cache_write: Money | None = None


class ModelEntry(Section):
    """One entry of [models]. A price that is not given is unknown, which is not zero."""

    kind: Annotated[ModelKind, Field(strict=False)]
    base_url: str | None = None
    model: str | None = None
    api_key: Secret | None = None
    context_window: Annotated[int, Field(gt=0)] | None = None
    fallback: str | None = None
    price: Price | None = None

    @model_validator(mode="after")
    def _complete(self) -> "ModelEntry":
        if self.kind is not ModelKind.REHEARSAL and not self.model:
            raise ValueError(f'needs model = "...", the name its server knows (kind {self.kind})')
        if self.base_url is not None and not self.base_url.startswith(("http://", "https://")):
            raise ValueError("needs a base_url that begins with http:// or https://")
        return self


class AgentEntry(Section):
    """One entry of [agents]."""

    model: str | None = None
    instructions: str | None = None
    instructions_file: str | None = None
    tools: Words = ("*",)
    inbound: Annotated[Inbound, Field(strict=False)] | None = None
    wake: bool = False
    may_message: Words | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "AgentEntry":
        if self.instructions is not None and self.instructions_file is not None:
            raise ValueError("has both instructions and instructions_file; keep one of them")
        return self


class Outbox(Section):
    """What waits for the owner. The built-in senders always do, unless `direct` names them."""

    tools: Words = ()
    direct: Words = ()
    strict: bool = False
    scripts: bool = False
    publish: Words = ()
    expire_days: Annotated[int, Field(ge=1, le=36_500)] | None = None


class Leaks(StrEnum):
    """What becomes of a result that holds a secret."""

    REDACT = "redact"
    BLOCK = "block"


class Security(Section):
    """How the interlock decides."""

    trifecta: Annotated[Trifecta, Field(strict=False)] = Trifecta.STAGE
    web: Annotated[WebRule, Field(strict=False)] = WebRule.RUN
    block_sends_after_private: bool = False
    block_private_ips: bool = True
    leaks: Annotated[Leaks, Field(strict=False)] = Leaks.REDACT


class Tools(Section):
    """What is offered, and how much of a result a model is shown."""

    disabled: Words = ()
    output_budget_bytes: Annotated[int, Field(ge=0)] = 0
    detail: dict[str, Annotated[ToolDetail, Field(strict=False)]] = Field(default_factory=dict)


SMTP_PORTS = {Tls.TLS: 465, Tls.STARTTLS: 587, Tls.NONE: 25}


class Smtp(Section):
    """The server that takes outgoing mail; `embedded` is the tour's own, on loopback."""

    host: str | None = None
    port: Port | None = None
    tls: Annotated[Tls, Field(strict=False)] = Tls.STARTTLS
    user: str | None = None
    password: Secret | None = None
    embedded: bool = False

    @model_validator(mode="after")
    def _one_server(self) -> "Smtp":
        given = self.model_fields_set - {"embedded"}
        if self.embedded and given:
            raise ValueError("embedded = true takes no other key")
        if not self.embedded and not self.host:
            raise ValueError("needs host, the server that takes the mail")
        if (self.user is None) != (self.password is None):
            raise ValueError("needs user and password together, or neither")
        return self


class Imap(Section):
    """The server that holds the mailbox."""

    host: str
    port: Port = 993
    tls: Annotated[Tls, Field(strict=False)] = Tls.TLS
    user: str
    password: Secret


class MailKind(StrEnum):
    """What holds the mail."""

    MAILDIR = "maildir"
    IMAP = "imap"
    GMAIL = "gmail"


class MailAccount(Section):
    """One entry of [mail.accounts]."""

    kind: Annotated[MailKind, Field(strict=False)]
    address: Address
    display_name: str = ""
    aliases: Annotated[tuple[Address, ...], Field(strict=False)] = ()
    path: str | None = None
    sent: str | None = None
    imap: Imap | None = None
    smtp: Smtp | None = None

    @model_validator(mode="after")
    def _complete(self) -> "MailAccount":
        if self.kind is MailKind.MAILDIR and not self.path:
            raise ValueError("needs path, the Maildir or mbox (kind maildir)")
        return self


class Mail(Section):
    """Mail accounts, and the address the owner may write to."""

    accounts: dict[str, MailAccount] = Field(default_factory=dict)
    front: MailFront | None = None


class DatabaseEntry(Section):
    """Where everything is kept; default: steward.db in the home."""

    url: str | None = None


class Configuration(Section):
    """The whole file."""

    timezone: str | None = None
    models: dict[str, ModelEntry] = Field(default_factory=dict)
    agents: dict[str, AgentEntry] = Field(default_factory=dict)
    outbox: Outbox = Outbox()
    security: Security = Security()
    tools: Tools = Tools()
    search: Annotated[tuple[SearchBackend, ...], Field(strict=False)] = ()
    contacts: dict[str, Address] = Field(default_factory=dict)
    sandbox: Sandbox = Sandbox()
    mail: Mail = Mail()
    mcp: Annotated[tuple[McpServer, ...], Field(strict=False)] = ()
    rules: Annotated[tuple[RuleEntry, ...], Field(strict=False)] = ()
    hooks: Annotated[tuple[HookEntry, ...], Field(strict=False)] = ()
    messages: Messages = Messages()
    calendar: Calendar = Calendar()
    slack: Slack | None = None
    database: DatabaseEntry = DatabaseEntry()
    limits: Limits = Limits()
