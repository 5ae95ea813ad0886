"""The place of `[[rules]]` in the gate: what a rule decides, and which of several holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol


class RuleDecision(StrEnum):
    """What a rule says of a call."""

    ALLOW = "allow"  # no approval is due; an interlock's question stands all the same
    PROMPT = "prompt"  # a person is asked, also under a standing yes
    FORBID = "forbid"  # also what would only be staged


_STRICTNESS = (RuleDecision.ALLOW, RuleDecision.PROMPT, RuleDecision.FORBID)


class Rule(Protocol):
    """One of the owner's rules."""

    @property
    def name(self) -> str:
        """What refusals and questions call it."""
        ...

    def decide(self, tool: str, arguments: Mapping[str, Any]) -> RuleDecision | None:
        """Its decision, None where it does not speak of such a call."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRuling:
    """The decision that holds, and the rule it came from."""

    rule: str
    decision: RuleDecision


def strictest_rule(
    rules: Sequence[Rule], tool: str, arguments: Mapping[str, Any]
) -> RuleRuling | None:
    """Forbid beats prompt beats allow; None where no rule speaks of this call."""
    ruling: RuleRuling | None = None
    for rule in rules:
        decision = rule.decide(tool, arguments)
        if decision is None:
            continue
        if ruling is None or _STRICTNESS.index(decision) > _STRICTNESS.index(ruling.decision):
            ruling = RuleRuling(rule=rule.name, decision=decision)
    return ruling
