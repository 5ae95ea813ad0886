"""Pure. Sections whose features are not built yet: accepted by name, checked, and said to be so."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from bot.settings_types import Address, Money, Seconds, Secret, Section, Words
from tools.contract import Egress


class Inbound(StrEnum):
    """What becomes of another agent's message."""

    ACCEPT = "accept"
    HOLD = "hold"
    REFUSE = "refuse"


class ToolDetail(StrEnum):
    """How much of a tool's definition a model is shown at once."""

    FULL = "full"
    BRIEF = "brief"
    SUMMARY = "summary"


class SearchKind(StrEnum):
    """Which search service answers."""

    SEARXNG = "searxng"
    BRAVE = "brave"
    TAVILY = "tavily"
    EXA = "exa"


class SearchBackend(Section):
    """One entry of [[search]], tried in order."""

    kind: Annotated[SearchKind, Field(strict=False)]
    url: str | None = None
    api_key: Secret | None = None


class SandboxKind(StrEnum):
    """What confines the shell."""

    NONE = "none"
    BWRAP = "bwrap"
    DOCKER = "docker"


class Sandbox(Section):
    """What the shell may see and reach."""

    kind: Annotated[SandboxKind, Field(strict=False)] = SandboxKind.NONE
    network: bool = False
    readable: Words = ()
    writable: Words = ()
    env: Words = ()
    image: str | None = None


class ForcedCapabilities(Section):
    """Capabilities the owner adds to a server's tools; they only widen."""

    private_data: bool = False
    untrusted_input: bool = False
    egress: Annotated[Egress, Field(strict=False)] = Egress.NONE
    destructive: bool = False


class Review(StrEnum):
    """The owner's word about a server's tool."""

    READ = "read"
    LOCAL = "local"
    SEND = "send"


class McpServer(Section):
    """One entry of [[mcp]]."""

    name: str
    command: str | None = None
    args: Words = ()
    url: str | None = None
    token: Secret | None = None
    env: dict[str, str] = Field(default_factory=dict)
    env_passthrough: Words = ()
    sandbox: bool = False
    network: bool = True
    shared: bool = False
    prefix: bool = True
    pin: bool = True
    trust_read_only: bool = False
    timeout: Seconds = 120.0
    capabilities: ForcedCapabilities = ForcedCapabilities()
    review: dict[str, Annotated[Review, Field(strict=False)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_address(self) -> "McpServer":
        if (self.command is None) == (self.url is None):
            raise ValueError("needs either command or url")
        return self


class Decision(StrEnum):
    """What a rule says."""

    ALLOW = "allow"
    PROMPT = "prompt"
    FORBID = "forbid"


class RuleEntry(Section):
    """One entry of [[rules]]. A prefix is words, each perhaps a list of alternatives."""

    tool: str
    prefix: Annotated[
        tuple[str | Annotated[tuple[str, ...], Field(strict=False)], ...], Field(strict=False)
    ] = ()
    decision: Annotated[Decision, Field(strict=False)]
    match: Words = ()
    not_match: Words = ()


class HookEntry(Section):
    """One entry of [[hooks]]."""

    event: str
    tools: Words = ()
    command: str
    timeout_seconds: Seconds = 10.0


class Messages(Section):
    """Messages between agents."""

    enabled: bool = True


class CalendarKind(StrEnum):
    """What holds the events."""

    ICS = "ics"
    CALDAV = "caldav"
    GOOGLE = "google"


class CalendarAccount(Section):
    """One entry of [calendar.accounts]."""

    kind: Annotated[CalendarKind, Field(strict=False)]
    path: str | None = None
    url: str | None = None
    user: str | None = None
    password: Secret | None = None


class Calendar(Section):
    """Calendar accounts."""

    accounts: dict[str, CalendarAccount] = Field(default_factory=dict)


class MailFront(Section):
    """The address at which the owner may write to steward."""

    account: str
    address: Address
    owner: Address
    authserv_id: str
    release: bool = False


class Slack(Section):
    """The Slack workspace."""

    api_url: str = "https://slack.com/api/"
    bot_token: Secret
    app_token: Secret
    open_channels: Words = ()


class Limits(Section):
    """How much may run unasked."""

    background_runs: Annotated[int, Field(ge=1)] = 3
    runs_per_hour: Annotated[int, Field(ge=1)] = 30
    cost_per_day: Money = Decimal("5.0")


NOT_BUILT: dict[str, frozenset[str] | None] = {
    # a dotted path, * for any name or number; the values that are not built, None for all
    "models.*.kind": frozenset({"openai-responses", "anthropic"}),
    "models.*.fallback": None,
    "agents.*.inbound": None,
    "agents.*.wake": None,
    "agents.*.may_message": None,
    "security.block_private_ips": None,
    "security.leaks": frozenset({"block"}),
    "tools.detail": None,
    "search": None,
    "sandbox": None,
    "mail.accounts.*.kind": frozenset({"imap", "gmail"}),
    "mail.front": None,
    "mcp": None,
    "rules": None,
    "hooks": None,
    "messages": None,
    "calendar": None,
    "slack": None,
    "limits": None,
}
