"""Pure. Run, ask, stage or refuse: the mode, routing, the interlock and the need for an approval."""

from dataclasses import dataclass
from enum import StrEnum

from outbox.interlock import CallFacts, Ruling, Situation, Verdict, explain, rule
from outbox.settings import OutboxSettings
from tools.contract import EffectScope, Egress, Phase, ToolSpec
from tools.registry import Registry


class Mode(StrEnum):
    """What a run may do at all."""

    NORMAL = "normal"
    READ_ONLY = "read-only"
    PLANNING = "planning"


class RefusalCause(StrEnum):
    """Who or what refused; distinct in text and in counts."""

    POLICY = "policy"  # the interlock or the mode
    HOOK = "hook"
    RULE = "rule"
    OWNER = "owner"  # a person said no
    UNANSWERED = "unanswered"  # nobody answered, which is not a no


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What becomes of a call before hooks, rules and people are heard.

    `why` explains anything but a plain run. `approval` says why a person should be asked, empty
    where nobody need be; with `needs_person` a standing yes does not count, as for every send at
    once. `blocked_send`: the interlock kept a call from running that could have let data leave.
    """

    verdict: Verdict
    why: str = ""
    approval: tuple[str, ...] = ()
    needs_person: bool = False
    blocked_send: bool = False


def decide(call: CallFacts, mode: Mode, now: Situation) -> Judgement:
    """Mode first, then the interlock, then whether an approval is due (DESIGN section 7)."""
    forbidden = _forbidden_by_mode(call, mode)
    if forbidden is not None:
        return Judgement(verdict=Verdict.REFUSE, why=forbidden)
    ruling = rule(call, now)
    match ruling.verdict:
        case Verdict.RUN:
            return Judgement(
                verdict=Verdict.RUN, approval=_approval_due(call), needs_person=call.is_sender
            )
        case Verdict.ASK:
            why = explain(call, now)
            return Judgement(verdict=Verdict.ASK, why=why, approval=(why,), needs_person=True)
        case Verdict.STAGE | Verdict.REFUSE:
            return Judgement(
                verdict=ruling.verdict,
                why=explain(call, now) if ruling.tripped or not call.routed else "",
                blocked_send=_kept_from_sending(call, ruling),
            )


def _kept_from_sending(call: CallFacts, ruling: Ruling) -> bool:
    leaves = call.capabilities.egress is not Egress.NONE
    return leaves and ruling.tripped and not call.routed


def _forbidden_by_mode(call: CallFacts, mode: Mode) -> str | None:
    match mode:
        case Mode.NORMAL:
            return None
        case Mode.PLANNING:
            if call.read_only and Phase.PLAN in call.phases:
                return None
            return "a plan is being made, and nothing is changed before the owner accepts it"
        case Mode.READ_ONLY:
            if call.read_only or call.scope is EffectScope.NONE:
                return None
            if call.routed and call.stageable:
                return None
            if call.scope is EffectScope.FILES and not call.capabilities.destructive:
                return None  # the run's own scratch: elsewhere the call is destructive
            return (
                "this run is read-only: outside its scratch directory it changes nothing. "
                "Say in your answer what should be done"
            )


def _approval_due(call: CallFacts) -> tuple[str, ...]:
    """Why a person is asked about a call that nothing else stops."""
    if call.read_only:
        return ()
    reasons = []
    if call.capabilities.destructive:
        reasons.append("it may overwrite or delete")
    if call.is_sender:
        reasons.append("it sends at once, without a draft")
    if call.scope is EffectScope.WORLD and not reasons:
        reasons.append("it acts outside the workspace")
    return tuple(reasons)


def offered(registry: Registry, mode: Mode, outbox: OutboxSettings) -> Registry:
    """The tools that some call of could be allowed in this mode; the rest is absent."""
    names = [entry.spec.name for entry in registry if _offers(entry.spec, mode, outbox)]
    return registry.select(names, phase=Phase.PLAN if mode is Mode.PLANNING else Phase.ACT)


def _offers(spec: ToolSpec, mode: Mode, outbox: OutboxSettings) -> bool:
    if mode is Mode.NORMAL or spec.read_only:
        return True
    if mode is Mode.PLANNING:
        return False
    return spec.scope is not EffectScope.WORLD or (spec.stageable and outbox.routes(spec))


def refusal_text(cause: RefusalCause, tool: str, detail: str) -> str:
    """What the model is told; the first words differ for each cause."""
    said = f": {detail}" if detail else ""
    match cause:
        case RefusalCause.POLICY:
            return f"refused by policy, {tool} was not run: {detail}"
        case RefusalCause.HOOK:
            return f"denied by a hook of the owner, {tool} was not run{said}"
        case RefusalCause.RULE:
            return f"forbidden by a rule of the owner, {tool} was not run{said}"
        case RefusalCause.OWNER:
            return f"the owner said no, {tool} was not run{said}"
        case RefusalCause.UNANSWERED:
            return (
                f"nobody answered whether {tool} may run, so it was not run; "
                "this is not a no of the owner. Go on without it, and say in your answer what waits"
            )
