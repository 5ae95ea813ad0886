"""Pure. What the owner configures of this floor: which calls are staged, and what taint forbids."""

from dataclasses import dataclass, field
from enum import StrEnum

from tools.contract import ToolSpec
from tools.registry import matches_any

BUILTIN_SENDERS = (
    "mail_send",
    "mail_reply",
    "mail_forward",
    "calendar_create_event",
    "calendar_update_event",
    "calendar_delete_event",
    "slack_post",
)


class Trifecta(StrEnum):
    """What happens to a call of no route that the interlock's table stages."""

    STAGE = "stage"
    BLOCK = "block"  # refused
    ASK = "ask"  # asked for; refused where nobody can answer
    ALLOW = "allow"  # left to the other gates; shown wherever steward answers


class WebRule(StrEnum):
    """Whether reading the web needs a person once foreign text is in the conversation."""

    RUN = "run"
    STRICT = "strict"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxSettings:
    """The table `[outbox]`.

    `tools` (names or globs) are staged besides the built-in senders; only a whole name in `direct`
    takes a tool out. `publish` are tools whose drafts may not be edited. `scripts` lets `--yes`
    work without a terminal. `expire_days` None: drafts wait for ever.
    """

    tools: tuple[str, ...] = ()
    direct: tuple[str, ...] = ()
    strict: bool = False
    scripts: bool = False
    publish: tuple[str, ...] = ()
    expire_days: int | None = None

    def routes(self, spec: ToolSpec) -> bool:
        """True where calls of this tool are staged by configuration.

        A glob reaches no read-only tool, because nobody can wait for a draft of a read; a whole
        name reaches any.
        """
        if spec.name in self.direct:
            return False
        if spec.name in self.tools or spec.name in BUILTIN_SENDERS:
            return True
        return not spec.read_only and matches_any(spec.name, self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuritySettings:
    """The part of the table `[security]` that the interlock reads."""

    trifecta: Trifecta = Trifecta.STAGE
    web: WebRule = WebRule.RUN
    block_sends_after_private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """Both tables, as the gate is handed them."""

    outbox: OutboxSettings = field(default_factory=OutboxSettings)
    security: SecuritySettings = field(default_factory=SecuritySettings)
