"""Pure. The interlock: what the taint of a conversation lets a call do (DESIGN section 6, the table).

Why it stands before hooks and people: a person clicking yes is what an injection tries to produce.
Staging executes nothing, so it is the safe answer; a call whose result the model needs is asked
for or refused instead.
"""

import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from outbox.settings import SecuritySettings, Trifecta, WebRule
from tools.contract import Capabilities, EffectScope, Egress, Phase
from tools.taint import Source, Taint

SOURCES_NAMED = 3
SAME_TURN = "called in this same turn"
NESTING_LOOKED_AT = 10_000  # values of one call's arguments; more is no honest call


class Verdict(StrEnum):
    """What becomes of a call."""

    RUN = "run"
    ASK = "ask"  # of a person who is present
    STAGE = "stage"
    REFUSE = "refuse"


_STRICTNESS = (Verdict.RUN, Verdict.ASK, Verdict.STAGE, Verdict.REFUSE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """One call, as far as judging it goes.

    `capabilities` are those of this very call and of whatever is nested in it. `links` are the
    normalised links it consists of, None where it says anything besides links.
    """

    tool: str
    capabilities: Capabilities
    read_only: bool
    scope: EffectScope = EffectScope.WORLD
    phases: frozenset[Phase] = frozenset(Phase)
    routed: bool = False
    stageable: bool = False
    links: frozenset[str] | None = None

    @property
    def is_sender(self) -> bool:
        """It can send what it likes to whom it likes."""
        return self.capabilities.egress is Egress.CHOSEN and not self.read_only

    @property
    def is_web_read(self) -> bool:
        """It reads from a place its arguments choose, and so tells that place something."""
        return self.capabilities.egress is Egress.CHOSEN and self.read_only


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Where a call is made. `taint` is the prospective one; `owner_links` are normalised."""

    taint: Taint
    present: bool
    security: SecuritySettings
    owner_links: frozenset[str] = frozenset()

    @property
    def sends_are_over(self) -> bool:
        """Private data was read, and the owner set that nothing leaves after that."""
        return self.security.block_sends_after_private and self.taint.is_private


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The verdict, and whether taint (not only routing) had a part in it."""

    verdict: Verdict
    tripped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Another call of the same turn and the labels its tool declares."""

    tool: str
    capabilities: Capabilities


def prospective(taint: Taint, others: Iterable[Declared], *, turn: int) -> Taint:
    """The conversation's taint plus what the other calls of the turn may bring into it."""
    private, untrusted = [], []
    for other in others:
        source = Source(tool=other.tool, turn=turn, what=SAME_TURN)
        if other.capabilities.private_data:
            private.append(source)
        if other.capabilities.untrusted_input:
            untrusted.append(source)
    return taint.merge(Taint(private=tuple(private), untrusted=tuple(untrusted)))


def nested_calls(arguments: object, known: Container[str]) -> tuple[str, ...]:
    """The tools named by calls that stand inside a call's arguments, at any depth, also as JSON text.

    A call is an object that names a known tool beside arguments, under any of the usual keys.
    """
    found, waiting, looked_at = [], [arguments], 0
    while waiting and looked_at < NESTING_LOOKED_AT:
        value = waiting.pop()
        looked_at += 1
        if isinstance(value, Mapping):
            found.extend(_named_by(value, known))
            waiting.extend(value.values())
        elif isinstance(value, list | tuple):
            waiting.extend(value)
        elif isinstance(value, str):
            waiting.extend(_parsed(value))
    return tuple(dict.fromkeys(found))


def _named_by(value: Mapping[object, object], known: Container[str]) -> list[str]:
    if not any(key in value for key in ("arguments", "args", "parameters", "input")):
        return []
    names = (value.get(key) for key in ("name", "function", "tool"))
    return [name for name in names if isinstance(name, str) and name in known]


def _parsed(text: str) -> list[object]:
    if not text.lstrip().startswith(("{", "[", '"')):
        return []
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return []


def rule(call: CallFacts, now: Situation) -> Ruling:
    """The strictest verdict of the table's columns that the call stands in.

    Only stageable calls are staged; for others `stage` reads as `ask`. Where nobody is present
    `ask` reads as `refuse`.
    """
    columns = (_sender(call, now), _web(call, now), _destructive(call, now), _blind(call, now))
    by_taint = max(columns, key=_STRICTNESS.index)
    routed = Verdict.STAGE if call.routed else Verdict.RUN
    verdict = max(by_taint, routed, key=_STRICTNESS.index)
    if verdict is Verdict.STAGE and not call.stageable:
        verdict = Verdict.ASK
    if verdict is Verdict.ASK and not now.present:
        verdict = Verdict.REFUSE
    return Ruling(verdict=verdict, tripped=by_taint is not Verdict.RUN)


def _sender(call: CallFacts, now: Situation) -> Verdict:
    if not call.is_sender:
        return Verdict.RUN
    if call.routed:
        return Verdict.STAGE if now.taint.is_untrusted else Verdict.RUN
    if now.sends_are_over:
        return Verdict.REFUSE
    return _where_the_table_stages(now) if now.taint.is_untrusted else Verdict.RUN


def _where_the_table_stages(now: Situation) -> Verdict:
    match now.security.trifecta:
        case Trifecta.STAGE:
            return Verdict.STAGE
        case Trifecta.BLOCK:
            return Verdict.REFUSE
        case Trifecta.ASK:
            return Verdict.ASK
        case Trifecta.ALLOW:
            return Verdict.RUN


def _web(call: CallFacts, now: Situation) -> Verdict:
    if not call.is_web_read:
        return Verdict.RUN
    if now.sends_are_over:
        return Verdict.REFUSE
    strict = now.security.web is WebRule.STRICT
    both = now.taint.is_private and now.security.trifecta is not Trifecta.ALLOW
    if not now.taint.is_untrusted or not (strict or both):
        return Verdict.RUN
    typed_by_owner = call.links is not None and call.links <= now.owner_links
    return Verdict.RUN if typed_by_owner else Verdict.ASK


def _destructive(call: CallFacts, now: Situation) -> Verdict:
    if not call.capabilities.destructive or not now.taint.is_untrusted:
        return Verdict.RUN
    if call.routed:
        return Verdict.STAGE
    if now.present and now.security.trifecta is not Trifecta.ALLOW:
        return Verdict.ASK
    return _where_the_table_stages(now)


def _blind(call: CallFacts, now: Situation) -> Verdict:
    blind = call.capabilities.egress is Egress.BLIND
    return Verdict.REFUSE if blind and now.sends_are_over else Verdict.RUN


def explain(call: CallFacts, now: Situation) -> str:
    """Why the interlock did not let the call run: which calls set which leg, and the way on.

    The way on names no tool, so that it can never send a model to read more private data.
    """
    legs = []
    if now.taint.is_untrusted:
        legs.append(f"text that is not the owner's came in by {_named(now.taint.untrusted)}")
    if now.taint.is_private:
        legs.append(f"private data was read by {_named(now.taint.private)}")
    because = " and ".join(legs) or "the owner routes it to the outbox, and it cannot be staged"
    return f"{because}. {_danger(call)} {_way_on(call, now)}"


def _named(sources: tuple[Source, ...]) -> str:
    named = ", ".join(str(source) for source in sources[:SOURCES_NAMED])
    rest = len(sources) - SOURCES_NAMED
    return f"{named} and {rest} more" if rest > 0 else named


def _danger(call: CallFacts) -> str:
    if call.is_sender:
        return f"So {call.tool} could send what it should not to whom it should not."
    if call.capabilities.egress is not Egress.NONE:
        return f"So {call.tool} could carry data away in what it asks for."
    return f"So {call.tool} could destroy something at a stranger's word."


def _way_on(call: CallFacts, now: Situation) -> str:
    sources = (*now.taint.untrusted, *now.taint.private)
    if sources and all(source.what == SAME_TURN for source in sources):
        return "Call it alone, in a later turn; it is judged anew by what has come in until then."
    if call.is_sender:
        return "Say in your answer what should go out and to whom; the owner can do it."
    if call.is_web_read:
        return "A link the owner typed passes unchanged; else go on without it and say so."
    if call.capabilities.egress is Egress.BLIND:
        return "Go on with what you have, and say what you could not look up."
    return "Leave it as it is, and say in your answer what should be changed; the owner can do it."
