"""The one gate every tool call passes: run, stage or refuse, in the order of DESIGN section 7.

Each call of a turn is judged after the other; what was let through is then executed together.
"""

from collections.abc import Sequence
from dataclasses import replace

from outbox.approval import ApprovalRequest, Decision
from outbox.errors import StagingFailed
from outbox.execute import Execution, hooked_call, tell
from outbox.hooks import first_denial
from outbox.interlock import Situation, Verdict
from outbox.policy import Judgement, RefusalCause, decide, refusal_text
from outbox.prepare import Unrunnable, prepare
from outbox.rules import RuleDecision, RuleRuling, strictest_rule
from outbox.turn import CallOutcome, GateParts, Prepared, SessionFacts, Staged, Stages, TurnOutcome
from tools.contract import ToolCall
from tools.crashpoint import crash_point
from tools.result import ToolResult
from tools.taint import Taint

NOBODY_THERE = "it needs a person's yes, and nobody is present"


class Gate:
    """The gate of one run."""

    def __init__(self, parts: GateParts) -> None:
        self._parts = parts

    async def turn(self, calls: Sequence[ToolCall], taint: Taint, turn: int) -> TurnOutcome:
        """What became of each call; every result is in the transcript when this returns.

        `taint` is the conversation's before the turn. A parked call has no result yet.

        Raises: LeaseLost, StoreFailed: nothing more was staged, begun or written. On a cancel, a
        call that had started stays without a result.
        """
        outcomes: dict[int, CallOutcome] = {}
        going: list[Prepared] = []
        for each in prepare(calls, self._parts, taint, turn):
            if isinstance(each, Unrunnable):
                outcomes[each.index] = tell(self._parts, each.call, ToolResult.error(each.text))
            elif (settled := await self._settle(each)) is not None:
                outcomes[each.index] = settled
            else:
                going.append(each)
        execution = Execution(self._parts, going)
        outcomes.update(await execution.run())
        return TurnOutcome(
            outcomes=tuple(outcomes[index] for index in range(len(calls))),
            taint=taint.merge(execution.brought),
        )

    async def _settle(self, prepared: Prepared) -> CallOutcome | None:
        """The outcome of a call that is refused or staged; None lets it run."""
        judgement = decide(prepared.facts, self._parts.mode, self._situation(prepared))
        if judgement.verdict is Verdict.REFUSE:
            refused = self._refuse(prepared, RefusalCause.POLICY, judgement.why)
            return replace(refused, blocked_send=judgement.blocked_send)
        told = hooked_call(self._parts, prepared, judgement.verdict)
        denial = await first_denial(self._parts.hooks, told)
        if denial is not None:
            return self._refuse(prepared, RefusalCause.HOOK, f"{denial.hook}: {denial.text}")
        ruling = strictest_rule(self._parts.rules, prepared.entry.spec.name, prepared.arguments)
        if ruling is not None and ruling.decision is RuleDecision.FORBID:
            return self._refuse(prepared, RefusalCause.RULE, ruling.rule)
        if judgement.verdict is Verdict.STAGE:
            staged = await self._stage(prepared)
            return replace(staged, blocked_send=judgement.blocked_send)
        return await self._consent(prepared, judgement, ruling)

    def _situation(self, prepared: Prepared) -> Situation:
        return Situation(
            taint=prepared.taint,
            present=self._parts.door.present,
            security=self._parts.settings.security,
            owner_links=self._parts.facts.owner_links(),
        )

    async def _stage(self, prepared: Prepared) -> CallOutcome:
        """Never falls through to execution: what cannot be staged is told as a failure."""
        try:
            staged = await self._parts.stager.stage(
                self._parts.journal, prepared, self._parts.facts
            )
        except StagingFailed as failure:
            return tell(
                self._parts, prepared.call, ToolResult.error(f"{failure}; nothing was sent")
            )
        crash_point("gate.staged")
        return CallOutcome(call=prepared.call, result=staged.result, draft_id=staged.draft_id)

    async def _consent(
        self, prepared: Prepared, judgement: Judgement, ruling: RuleRuling | None
    ) -> CallOutcome | None:
        """None where nobody need be asked, or the person said yes."""
        reasons, needs_person = judgement.approval, judgement.needs_person
        if ruling is not None and ruling.decision is RuleDecision.PROMPT:
            reasons, needs_person = (*reasons, f"the rule {ruling.rule} asks"), True
        elif ruling is not None and judgement.verdict is not Verdict.ASK:
            reasons = ()  # the owner's own rule for this very call; it answers no interlock
        if not reasons:
            return None
        if needs_person and not self._parts.door.present:
            cause = _cause_of_absence(judgement, ruling)
            return self._refuse(prepared, cause, f"{'; '.join(reasons)}; {NOBODY_THERE}")
        approval = await self._parts.door.approve(
            ApprovalRequest(
                tool=prepared.entry.spec.name,
                arguments=prepared.arguments,
                reasons=reasons,
                taint=prepared.taint,
                needs_person=needs_person,
                session_id=self._parts.facts.id,
                agent=self._parts.facts.agent,
            )
        )
        match approval.decision:
            case Decision.YES:
                return None
            case Decision.NO:
                return self._refuse(prepared, RefusalCause.OWNER, approval.reason)
            case Decision.UNANSWERED:
                return self._refuse(prepared, RefusalCause.UNANSWERED, "")

    def _refuse(self, prepared: Prepared, cause: RefusalCause, detail: str) -> CallOutcome:
        text = refusal_text(cause, prepared.entry.spec.name, detail)
        return replace(tell(self._parts, prepared.call, ToolResult.error(text)), refusal=cause)


def _cause_of_absence(judgement: Judgement, ruling: RuleRuling | None) -> RefusalCause:
    """Who made a call need a person, where there is none."""
    if judgement.verdict is Verdict.ASK:
        return RefusalCause.POLICY
    if ruling is not None and ruling.decision is RuleDecision.PROMPT:
        return RefusalCause.RULE
    return RefusalCause.UNANSWERED


__all__ = ["CallOutcome", "Gate", "GateParts", "SessionFacts", "Staged", "Stages", "TurnOutcome"]
