"""The loop: ask the model, pass its calls through the gate, hand the results back, until it answers.

Everything is written to the transcript as it happens. The loop knows neither where a tool came
from nor which vendor is behind the model.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Protocol

from bot.conversation import NOTHING_RETURNED, Conversation, assistant_data, call_data
from bot.limits import Limits, StopCause, is_last_turn, limit_met
from bot.models.contract import (
    AssistantMessage,
    Finish,
    Model,
    ModelError,
    ReasoningDelta,
    Reply,
    Request,
    TextDelta,
    ToolMessage,
    ToolSchema,
    Usage,
)
from bot.outcome import RunOutcome
from bot.repetition import RepetitionGuard
from bot.streamed import StreamRedactor, without_secrets
from bot.tables import EventKind
from bot.transcript import RunJournal, spans_data
from outbox.gate import CallOutcome, Gate
from outbox.journal import Span
from tools.contract import ToolCall
from tools.crashpoint import crash_point
from tools.output import strip_wrapper
from tools.result import ToolResult
from tools.taint import CLEAN, Taint

NUDGES_AT_MOST = 3
EMPTY = "(an empty answer)"
NUDGE_EMPTY = "Your last answer was empty. Answer the owner, or call a tool."
NUDGE_REASONING = "Your last answer held reasoning only. Give the answer itself, or call a tool."
LAST_TURN = "This is the last turn you have: no tools are offered. Answer with what you know."
NOT_OFFERED = "not run: no tool was offered on the last turn"
BEYOND_LIMIT = "not run: this run may make no more calls"
NO_ANSWER = "The model gave no answer: it was asked {times} times and said nothing."


class Observer(Protocol):
    """Who watches a run as it happens; nothing an observer does can change it."""

    def asked(self) -> None:
        """The model was asked, and nothing has come yet."""
        ...

    def text(self, delta: str) -> None:
        """A piece of the answer streamed in."""
        ...

    def calls(self, calls: Sequence[ToolCall]) -> None:
        """The model called these tools."""
        ...

    def outcome(self, outcome: CallOutcome) -> None:
        """One call came to this."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """Words that arrived during the run, whose they are, and the taint they bring."""

    text: str
    spans: tuple[Span, ...]
    taint: Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopParts:
    """What one run of the loop is made of. `take_steering` gives each piece exactly once."""

    model: Model
    schemas: Sequence[ToolSchema]
    gate: Gate
    journal: RunJournal
    limits: Limits
    observer: Observer
    take_steering: Callable[[], Sequence[Steering]]
    price: Callable[[Usage], Decimal | None]
    redact: Callable[[str], tuple[str, int]]
    clock: Callable[[], float]


async def run(conversation: Conversation, parts: LoopParts) -> RunOutcome:
    """Work on the conversation until it is answered, parked, stopped or out of means.

    Raises: LeaseLost; then nothing more was written.
    """
    going = _Run(conversation, parts)
    try:
        while (stop := await going.turn()) is None:
            pass
        going.outcome.stop_cause = stop
    except ModelError as error:
        going.outcome.stop_cause, going.outcome.error = StopCause.ERROR, str(error)
        going.count(error.usage)
    except asyncio.CancelledError:
        going.outcome.stop_cause = StopCause.CANCELLED
        going.count(Usage())  # what a cut request used is unknown
    return going.outcome


class _Run:
    """One run while it goes."""

    def __init__(self, conversation: Conversation, parts: LoopParts) -> None:
        self.conversation = conversation
        self.parts = parts
        self.outcome = RunOutcome()
        self._started = parts.clock()
        self._guard = RepetitionGuard()
        self._nudges = 0

    async def turn(self) -> StopCause | None:
        """One model answer and the calls in it; None where another turn follows."""
        spent = self.outcome.spent
        spent.wall_seconds = self.parts.clock() - self._started
        if (met := limit_met(self.parts.limits, spent)) is not None:
            return met
        self._take_steering()
        last = is_last_turn(self.parts.limits, spent)
        if last and spent.turns:
            self._tell(EventKind.NUDGE, LAST_TURN)
        reply = await self._ask(offered=not last)
        spent.turns += 1
        self.count(reply.usage)
        message = self._record_answer(reply)
        match reply.finish:
            case Finish.TRUNCATED:
                return StopCause.TRUNCATED
            case Finish.REFUSED:
                self.outcome.error = reply.detail or None
                return StopCause.REFUSED
            case Finish.DONE:
                pass
        if message.calls:
            self._nudges = 0
            return self._decline(message) if last else await self._pass_calls(message)
        if reply.message.text:
            return StopCause.TURNS if last and spent.turns > 1 else StopCause.ANSWERED
        return self._nudge(reply)

    async def _ask(self, *, offered: bool) -> Reply:
        """Stream one answer. Whatever streamed before an end in mid-air is kept as an answer."""
        request = Request(
            system=self.conversation.system,
            messages=self.conversation.messages,
            tools=self.parts.schemas if offered else (),
        )
        streamed: list[str] = []
        shown = StreamRedactor(self.parts.redact)
        self.parts.observer.asked()
        try:
            async with aclosing(self.parts.model.respond(request)) as pieces:
                async for piece in pieces:
                    match piece:
                        case TextDelta(text=text):
                            streamed.append(text)
                            self.parts.observer.text(shown.feed(text))
                        case ReasoningDelta():
                            pass
                        case Reply():
                            self.parts.observer.text(shown.rest())
                            return piece
        except (ModelError, asyncio.CancelledError):
            self._keep_half("".join(streamed))
            raise
        half = AssistantMessage(text="".join(streamed), producer=self.parts.model.name)
        return Reply(message=half, finish=Finish.TRUNCATED, detail="the stream ended in mid-air")

    def _keep_half(self, text: str) -> None:
        if text:
            half = AssistantMessage(text=text, producer=self.parts.model.name)
            self._record_answer(Reply(message=half, finish=Finish.TRUNCATED))

    def _record_answer(self, reply: Reply) -> AssistantMessage:
        """Write the answer down; an empty one is written as such, half calls are not written."""
        runnable = reply.message.calls if reply.finish is Finish.DONE else ()
        said = reply.message.text or ("" if runnable else self._emptiness(reply))
        text, _ = self.parts.redact(said)
        message = replace(
            reply.message,
            text=text,
            calls=self._unique(runnable),
            reasoning=self.parts.redact(reply.message.reasoning)[0],
            extra=without_secrets(reply.message.extra, self.parts.redact),
        )
        data = {
            **assistant_data(message),
            "finish": reply.finish.value,
            "usage": {
                "input_tokens": reply.usage.input_tokens,
                "output_tokens": reply.usage.output_tokens,
                "cached_tokens": reply.usage.cached_tokens,
            },
        }
        with self.parts.journal.record() as session:
            self.parts.journal.write(session, EventKind.ASSISTANT, data)
        crash_point("turn.answered")
        self.conversation.absorb_answer(message)
        if reply.message.text:
            self.outcome.answer = text
        return message

    @staticmethod
    def _emptiness(reply: Reply) -> str:
        reasoning = reply.message.reasoning.strip()
        return f"(reasoning only, no answer: {reasoning})" if reasoning else EMPTY

    def _unique(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """Calls under ids that are new in this session, without secrets in their arguments.

        Why: some servers count their ids from zero in every answer.
        """
        taken = set(self.conversation.call_ids)
        unique = []
        for call in calls:
            safe = ToolCall(**without_secrets(call_data(call), self.parts.redact))
            fresh, n = safe.id, 1
            while not fresh or fresh in taken:
                n += 1
                fresh = f"{safe.id or 'call'}-{self.conversation.turns}-{n}"
            taken.add(fresh)
            unique.append(replace(safe, id=fresh))
        return tuple(unique)

    def _nudge(self, reply: Reply) -> StopCause | None:
        if self._nudges >= NUDGES_AT_MOST:
            self.outcome.answer = NO_ANSWER.format(times=self._nudges + 1)
            self.parts.observer.text(self.outcome.answer)
            return StopCause.EMPTY
        self._nudges += 1
        self._tell(EventKind.NUDGE, NUDGE_REASONING if reply.message.reasoning else NUDGE_EMPTY)
        return None

    async def _pass_calls(self, message: AssistantMessage) -> StopCause | None:
        """Put the turn's calls through the gate and hand the results back."""
        self.parts.observer.calls(message.calls)
        allowed, beyond = self._within_limit(message.calls)
        self._close(beyond, BEYOND_LIMIT)
        turn = await self.parts.gate.turn(allowed, self.conversation.taint, self.conversation.turns)
        self.conversation.taint = turn.taint
        for outcome in turn.outcomes:
            self._take_outcome(outcome)
        if turn.broken:
            self.outcome.error = f"a tool broke (error {turn.broken}); the log has the trace"
            return StopCause.ERROR
        if self.conversation.waiting:
            return StopCause.PARKED
        seen = [
            (o.call.name, o.call.arguments, strip_wrapper(o.result.text)) for o in turn.outcomes
        ]
        return StopCause.LOOP if self._guard.is_circling(seen) else None

    def _take_outcome(self, outcome: CallOutcome) -> None:
        self.parts.observer.outcome(outcome)
        run, result = self.outcome, outcome.result
        self.outcome.spent.calls += 1
        if outcome.question_id is not None:
            run.parked.append(outcome.question_id)
            self.conversation.parked[outcome.call.id] = outcome.question_id
            return
        if outcome.draft_id is not None and outcome.draft_id not in run.staged:
            run.staged.append(outcome.draft_id)
        run.blocked_sends += outcome.blocked_send
        if outcome.refusal is not None:
            run.refusals[outcome.refusal.value] += 1
        else:
            run.tool_calls += 1
            run.tool_errors += result.is_error
            run.ended_on_failed_call = result.is_error
        self._absorb(outcome.call, result)

    def _absorb(self, call: ToolCall, result: ToolResult) -> None:
        self.conversation.absorb_result(
            ToolMessage(
                call_id=call.id, text=result.text or NOTHING_RETURNED, is_error=result.is_error
            )
        )

    def _within_limit(
        self, calls: Sequence[ToolCall]
    ) -> tuple[Sequence[ToolCall], Sequence[ToolCall]]:
        """The calls of a turn that the run may still make, and those beyond."""
        most = self.parts.limits.calls
        room = len(calls) if most is None else max(most - self.outcome.spent.calls, 0)
        return calls[:room], calls[room:]

    def _decline(self, message: AssistantMessage) -> StopCause:
        """Close calls that a model wrote from memory though none were offered."""
        self._close(message.calls, NOT_OFFERED)
        return StopCause.TURNS

    def _close(self, calls: Sequence[ToolCall], why: str) -> None:
        """Give calls that are not run a result that says so."""
        if not calls:
            return
        result = ToolResult.error(why)
        with self.parts.journal.record() as session:
            for call in calls:
                self.parts.journal.call_finished(session, call, result, CLEAN)
        for call in calls:
            self._absorb(call, result)

    def _take_steering(self) -> None:
        for steering in self.parts.take_steering():
            self.conversation.taint = self.conversation.taint.merge(steering.taint)
            data = {"spans": spans_data(steering.spans)}
            self._tell(EventKind.STEERING, steering.text, data, steering.taint)

    def _tell(
        self,
        kind: EventKind,
        text: str,
        data: Mapping[str, object] | None = None,
        taint: Taint = CLEAN,
    ) -> None:
        with self.parts.journal.record() as session:
            self.parts.journal.write(session, kind, {"text": text, **(data or {})}, taint)
        self.conversation.absorb_words(text)

    def count(self, usage: Usage) -> None:
        """Add what one request used; a cost nobody knows makes the run's cost unknown."""
        spent = self.outcome.spent
        spent.input_tokens += usage.input_tokens or 0
        spent.output_tokens += usage.output_tokens or 0
        spent.cached_tokens += usage.cached_tokens or 0
        cost = self.parts.price(usage)
        if spent.cost_usd is None or cost is None:
            spent.cost_usd = None
        else:
            spent.cost_usd += cost
