"""Runs the calls that were let through: written ahead, executed, and written down in one piece.

Why a read-only call has no start: repeating it does no harm. Any other is committed as started
before it runs, so that a dead process leaves "unknown" and never a second try.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from outbox.ask_tool import NOT_STORED
from outbox.direct import send_at_once
from outbox.errors import StoreFailed
from outbox.files import Ahead, Writer
from outbox.hooks import HookedCall
from outbox.interlock import Verdict
from outbox.turn import CallOutcome, GateParts, Prepared
from tools.contract import ToolCall
from tools.crashpoint import crash_point
from tools.invoke import invoke
from tools.output import OutputBudget, Presentation, present
from tools.result import ImagePart, Item, Part, TextPart, ToolResult
from tools.taint import CLEAN, Source, Taint

DESCRIBED_LENGTH = 60
NOT_RUN = "not run: an earlier call of this turn broke, and the run ends; nothing came of this one"


class Execution:
    """The calls of one turn that may run. `brought` is the taint that they brought so far."""

    def __init__(self, parts: GateParts, going: Sequence[Prepared]) -> None:
        self._parts = parts
        self._going = going
        self._budget = OutputBudget(parts.output_budget_bytes, results=max(len(going), 1))
        self._turn_key = parts.new_id(parts.now())
        self._broken = False
        self.brought = CLEAN

    async def run(self) -> list[tuple[int, CallOutcome]]:
        """Every call's outcome by its place in the turn.

        In the model's order; neighbours that only read run at the same time. After a call that
        broke nothing more runs. Raises: LeaseLost, StoreFailed; then nothing more is begun.
        """
        outcomes: list[tuple[int, CallOutcome]] = []
        for only_reads, group in groupby(self._going, key=lambda each: each.facts.read_only):
            calls = list(group)
            if only_reads and not self._broken:
                done = await together([self._read(each) for each in calls])
            else:
                done = [await self._one_of_order(each) for each in calls]
            outcomes.extend(
                (each.index, outcome) for each, outcome in zip(calls, done, strict=True)
            )
        return outcomes

    async def _one_of_order(self, prepared: Prepared) -> CallOutcome:
        if self._broken:
            return tell(self._parts, prepared.call, ToolResult.error(NOT_RUN))
        return await self._write(prepared)

    async def _read(self, prepared: Prepared) -> CallOutcome:
        result = await invoke(prepared.entry, prepared.args, prepared.ctx)
        return await self._conclude(prepared, result, ())

    async def _write(self, prepared: Prepared) -> CallOutcome:
        if prepared.entry.spec.stageable:
            sent = await send_at_once(self._parts, prepared)
            outcome = await self._conclude(prepared, sent.result, ())
            return replace(outcome, draft_id=sent.waiting)
        ahead = self._start(prepared)
        crash_point("gate.started")
        result = await invoke(prepared.entry, prepared.args, prepared.ctx)
        crash_point("gate.executed")
        return await self._conclude(prepared, result, ahead)

    def _start(self, prepared: Prepared) -> tuple[Ahead, ...]:
        files, spec = self._parts.files, prepared.entry.spec
        untrusted = prepared.taint.is_untrusted
        with self._parts.journal.effect() as session:
            self._parts.journal.call_started(session, prepared.call)
            if spec.unnamed_writes or prepared.writes is None:
                if untrusted or prepared.facts.capabilities.untrusted_input:
                    files.mark_root(session, prepared.ctx.jail.root, self._writer(prepared))
                return ()
            by = self._writer(prepared)
            return files.mark_ahead(session, prepared.writes, by, untrusted=untrusted)

    async def _conclude(
        self, prepared: Prepared, result: ToolResult, ahead: Sequence[Ahead]
    ) -> CallOutcome:
        if result.parked is not None:
            return self._park(prepared, result.parked)
        brought = taint_brought(prepared, result)
        shown = self._shown(prepared, result)
        reads = prepared.facts.read_only
        journal, files = self._parts.journal, self._parts.files
        with journal.record() if reads else journal.effect() as session:
            journal.call_finished(session, prepared.call, shown, brought)
            if result.broken is None:
                files.settle(session, ahead, result.files)
            untrusted = prepared.taint.merge(brought).is_untrusted
            by = self._writer(prepared)
            files.record_written(session, result.files, by, untrusted=untrusted)
        crash_point("gate.finished")
        self.brought = self.brought.merge(brought)
        self._broken = self._broken or result.broken is not None
        await self._tell_hooks(prepared, shown)
        return CallOutcome(call=prepared.call, result=shown)

    def _park(self, prepared: Prepared, question_id: str) -> CallOutcome:
        """Question and parked call are one transaction; a question nobody will see is no question."""
        parts, call = self._parts, prepared.call
        try:
            with parts.journal.effect() as session:
                parts.questions.park(
                    session,
                    question_id,
                    turn_key=self._turn_key,
                    taint=prepared.taint,
                    now=parts.now(),
                )
                parts.journal.call_parked(session, call, question_id)
        except StoreFailed:
            return tell(parts, call, ToolResult.error(NOT_STORED))
        crash_point("gate.parked")
        result = ToolResult(parked=question_id)
        return CallOutcome(call=call, result=result, question_id=question_id)

    def _shown(self, prepared: Prepared, result: ToolResult) -> ToolResult:
        spec = prepared.entry.spec
        how = Presentation(
            call_id=prepared.call.id,
            source=spec.name,
            spill_dir=prepared.ctx.spill_dir,
            boundary=self._parts.boundary(),
            parseable=spec.parseable,
            keep=spec.keep,
            hint=self._hint(prepared, result),
        )
        return present(redacted(self._parts, result), how, self._budget)

    @staticmethod
    def _hint(prepared: Prepared, result: ToolResult) -> str | None:
        if result.broken is not None:  # perhaps there is no handler that could say
            return None
        return prepared.entry.handler.truncation_hint(prepared.args)

    def _writer(self, prepared: Prepared) -> Writer:
        return Writer(
            tool=prepared.entry.spec.name,
            session_id=self._parts.facts.id,
            now=self._parts.now(),
        )

    async def _tell_hooks(self, prepared: Prepared, shown: ToolResult) -> None:
        """After the result is on disk, so that a slow observer leaves no effect unknown."""
        for hook in self._parts.hooks:
            await hook.after(hooked_call(self._parts, prepared, Verdict.RUN), shown)


def tell(parts: GateParts, call: ToolCall, result: ToolResult) -> CallOutcome:
    """Write a result of steward's own: it is never external and brings no taint."""
    shown = redacted(parts, result)
    with parts.journal.record() as session:
        parts.journal.call_finished(session, call, shown, CLEAN)
    return CallOutcome(call=call, result=shown)


def taint_brought(prepared: Prepared, result: ToolResult) -> Taint:
    """What an executed call brought: private also when it failed, untrusted by what it returned."""
    source = Source(
        tool=prepared.entry.spec.name, turn=prepared.ctx.turn, what=_described(prepared)
    )
    pictures = any(isinstance(part, ImagePart) for part in result.parts)
    private = prepared.facts.capabilities.private_data or pictures
    untrusted = result.external or pictures
    return Taint(private=(source,) if private else (), untrusted=(source,) if untrusted else ())


def _described(prepared: Prepared) -> str:
    """`query=invoice 12`: the first argument that says anything, in one short printable line."""
    for name, value in prepared.arguments.items():
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            line = "".join(sign if sign.isprintable() else " " for sign in f"{name}={value}")
            line = " ".join(line.split())
            return line if len(line) <= DESCRIBED_LENGTH else f"{line[: DESCRIBED_LENGTH - 1]}…"
    return "no arguments"


def hooked_call(parts: GateParts, prepared: Prepared, verdict: Verdict) -> HookedCall:
    """The call as hooks see it."""
    return HookedCall(
        tool=prepared.entry.spec.name,
        arguments=prepared.arguments,
        verdict=verdict,
        session_id=parts.facts.id,
        agent=parts.facts.agent,
    )


def redacted(parts: GateParts, result: ToolResult) -> ToolResult:
    """The result without secrets: neither the model nor the transcript's items get one."""
    count = result.redactions

    def clean(text: str) -> str:
        nonlocal count
        kept, removed = parts.redact(text)
        count += removed
        return kept

    shown: tuple[Part, ...] = tuple(
        TextPart(text=clean(part.text)) if isinstance(part, TextPart) else part
        for part in result.parts
    )
    items = tuple(
        Item(provider_id=item.provider_id, title=clean(item.title), text=clean(item.text))
        for item in result.items
    )
    return replace(result, parts=shown, items=items, redactions=count)


async def together(calls: Sequence[Coroutine[Any, Any, CallOutcome]]) -> list[CallOutcome]:
    """All outcomes in order; the first exception (or a cancel) stops the rest before it goes on."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
