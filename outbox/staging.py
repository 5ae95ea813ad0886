"""Stages a call: completes it, judges it, and keeps it as a draft instead of executing it.

Why completion comes first: release must compute nothing, so recipients, quoted text, times and
attachments are settled here, while the session that asked for them is at hand.
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, select

from outbox.errors import StagingFailed, StoreFailed
from outbox.failures import Saying
from outbox.journal import Journal, Store
from outbox.judge import Judge
from outbox.leaves import refuse_unkeepable
from outbox.marks import Subject
from outbox.settings import OutboxSettings
from outbox.source import Answering, drawn_text, find_source
from outbox.states import Step, move
from outbox.summary import summarise
from outbox.tables import Draft, DraftKind, DraftStatus
from outbox.turn import Prepared, SessionFacts, Staged
from tools.contract import Completed, CompletionError, Sender
from tools.crashpoint import crash_point
from tools.errors import ToolsError
from tools.ids import NewId
from tools.registry import matches_any
from tools.result import ToolResult
from tools.taint import CLEAN, Source, Taint

_UNSETTLED = (DraftStatus.PENDING, DraftStatus.SENDING, DraftStatus.UNCERTAIN)

logger = logging.getLogger("steward.outbox")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stager:
    """Implements `outbox.turn.Stages` over one store."""

    store: Store
    judge: Judge
    settings: OutboxSettings
    now: Callable[[], datetime]
    new_id: NewId

    async def stage(self, journal: Journal, prepared: Prepared, facts: SessionFacts) -> Staged:
        """The draft that the call became, or already was; its result stands in the transcript.

        The same tool with the same arguments pending in the session is that draft; the same tool
        and thread replaces the older one.

        Raises: StagingFailed: nothing was staged, written or executed; LeaseLost.
        """
        tool = prepared.entry.spec.name
        try:
            twin = self._finish_twin(journal, prepared, facts)
            if twin is not None:
                return twin
            completed = await self._complete(prepared)
            crash_point("staging.completed")
            draft = self._draft(prepared, facts, completed)
            staged = self._keep(journal, prepared, draft)
        except StoreFailed as failure:
            raise StagingFailed(f"{tool} could not be staged: {failure}") from failure
        crash_point("staging.staged")
        return staged

    async def begin(self, journal: Journal, prepared: Prepared, facts: SessionFacts) -> Draft:
        """The draft of a call that is released at once; the call is written as started with it.

        It replaces an older draft of the same thread.

        Raises: StagingFailed: nothing was staged, also where the same call is a draft already that
        waits, is being sent or is in doubt; LeaseLost.
        """
        tool = prepared.entry.spec.name
        try:
            completed = await self._complete(prepared)
            draft = self._draft(prepared, facts, completed)
            with journal.effect() as session:
                _refuse_again(session, draft)
                _supersede(session, draft, self.now())
                journal.call_started(session, prepared.call)
                session.add(draft)
                session.flush()
                session.expunge(draft)
        except StoreFailed as failure:
            raise StagingFailed(f"{tool} could not be staged: {failure}") from failure
        return draft

    async def _complete(self, prepared: Prepared) -> Completed:
        spec = prepared.entry.spec
        with Saying(lambda error: _not_completed(spec.name, error)):
            sender = prepared.entry.handler
            if not isinstance(sender, Sender):
                raise StagingFailed(
                    f"{spec.name} cannot be staged: it makes no draft of what it would do"
                )
            async with asyncio.timeout(spec.timeout_seconds):
                completed = await sender.complete(prepared.args, prepared.ctx)
            refuse_unkeepable(completed.args)
        return completed

    def _draft(self, prepared: Prepared, facts: SessionFacts, completed: Completed) -> Draft:
        """The row, judged outside of the transaction that will write it, because that locks."""
        spec, args, now = prepared.entry.spec, dict(completed.args), self.now()
        taint = prepared.taint.merge(_drawn_taint(prepared, completed))
        answering = Answering(
            tool=spec.name, shape=spec.review, arguments=prepared.arguments, completed=completed
        )
        with self.store.read() as session:
            replying_to = find_source(session, self.judge.text, facts.id, answering)
            subject = Subject(
                session_id=facts.id,
                args=args,
                shape=spec.review,
                taint=taint,
                drawn=drawn_text(spec.name, replying_to, now),
            )
            marks = self.judge.marks(session, subject)
        published = matches_any(spec.name, self.settings.publish)
        return Draft(
            id=self.new_id(now),
            status=DraftStatus.PENDING,
            kind=DraftKind.PUBLISH if published else DraftKind.MESSAGE,
            tool=spec.name,
            definition_hash=prepared.entry.definition_hash,
            summary=summarise(spec.name, spec.review, args),
            fingerprint=fingerprint(spec.name, prepared.arguments),
            args_before=args,
            args=args,
            session_id=facts.id,
            agent=facts.agent,
            producer=facts.producer,
            call_id=prepared.call.id,
            root=str(facts.root),
            taint=taint.as_json(),
            marks=[mark.as_json() for mark in marks],
            replying_to=replying_to,
            delivery_key=completed.delivery_key,
            thread_key=_thread(spec.review.thread_id, args, prepared.arguments),
            loopback_only=facts.loopback_only,
            created_at=now,
            updated_at=now,
        )

    def _finish_twin(
        self, journal: Journal, prepared: Prepared, facts: SessionFacts
    ) -> Staged | None:
        """The same call that is pending already, told to the model; None if there is none."""
        mark = fingerprint(prepared.entry.spec.name, prepared.arguments)
        with self.store.read() as session:
            if _twin(session, facts.id, mark) is None:
                return None
        with journal.effect() as session:
            twin = _twin(session, facts.id, mark)
            return None if twin is None else _told_twin(session, journal, prepared, twin)

    def _keep(self, journal: Journal, prepared: Prepared, draft: Draft) -> Staged:
        """Draft, transcript row and the end of the older draft, in one transaction."""
        with journal.effect() as session:
            twin = _twin(session, draft.session_id, draft.fingerprint)
            if twin is not None:
                return _told_twin(session, journal, prepared, twin)
            replaced = _supersede(session, draft, self.now())
            session.add(draft)
            text = (
                f"Nothing was sent. This is draft {draft.id} now; the owner reads it and decides "
                "whether it goes out. Do not call the tool again for it."
            )
            if replaced:
                text += f" It replaces draft {', '.join(replaced)} of the same thread."
            result = ToolResult.ok(text)
            journal.call_finished(session, prepared.call, result, CLEAN)
            session.flush()
            return Staged(draft_id=draft.id, result=result)


def _drawn_taint(prepared: Prepared, completed: Completed) -> Taint:
    """What completion brought into the draft.

    Into the draft only: the model is told the draft's id and never sees a word of what was drawn,
    so the conversation is as it was (each staged call brings `CLEAN`).
    """
    name, turn = prepared.entry.spec.name, prepared.ctx.turn
    private = [each.what for each in completed.drawn if each.private]
    untrusted = [each.what for each in completed.drawn if each.untrusted]
    return Taint(
        private=tuple(Source(tool=name, turn=turn, what=what) for what in private),
        untrusted=tuple(Source(tool=name, turn=turn, what=what) for what in untrusted),
    )


def fingerprint(tool: str, arguments: Mapping[str, Any]) -> str:
    """SHA-256 over a tool's name and its decoded arguments, whatever their order."""
    facts = json.dumps([tool, arguments], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(facts.encode("utf-8", "surrogatepass")).hexdigest()


def _refuse_again(session: Session, draft: Draft) -> None:
    """What may go out yet, or may have gone out, is not sent a second time by the same call."""
    twin = session.exec(
        select(Draft.id, Draft.status).where(
            col(Draft.session_id) == draft.session_id,
            col(Draft.status).in_(_UNSETTLED),
            col(Draft.fingerprint) == draft.fingerprint,
        )
    ).first()
    if twin is not None:
        raise StagingFailed(
            f"the same call is draft {twin[0]} already, which is {twin[1]} and the owner's to decide"
        )


def _twin(session: Session, session_id: str, mark: str) -> str | None:
    return session.exec(
        select(Draft.id)
        .where(
            col(Draft.session_id) == session_id,
            col(Draft.status) == DraftStatus.PENDING,
            col(Draft.fingerprint) == mark,
        )
        .order_by(col(Draft.id).desc())
        .limit(1)
    ).first()


def _told_twin(session: Session, journal: Journal, prepared: Prepared, twin: str) -> Staged:
    result = ToolResult.ok(
        f"Nothing was sent. The same call is waiting for the owner already, as draft {twin}; "
        "it was not staged again."
    )
    journal.call_finished(session, prepared.call, result, CLEAN)
    return Staged(draft_id=twin, result=result)


def _supersede(session: Session, draft: Draft, now: datetime) -> list[str]:
    """The pending drafts of the same session, tool and thread point to the new one."""
    if draft.thread_key is None:
        return []
    older = session.exec(
        select(Draft.id).where(
            col(Draft.session_id) == draft.session_id,
            col(Draft.tool) == draft.tool,
            col(Draft.thread_key) == draft.thread_key,
            col(Draft.status) == DraftStatus.PENDING,
        )
    ).all()
    step = Step(
        sources=frozenset({DraftStatus.PENDING}),
        target=DraftStatus.SUPERSEDED,
        values={"superseded_by": draft.id, "updated_at": now},
    )
    return [each for each in older if move(session, each, step)]


def _thread(name: str | None, *argument_sets: Mapping[str, Any]) -> str | None:
    if name is None:
        return None
    values = (arguments.get(name) for arguments in argument_sets)
    return next((value for value in values if isinstance(value, str) and value), None)


def _not_completed(tool: str, error: Exception) -> StagingFailed:
    match error:
        case CompletionError() | ToolsError():
            return StagingFailed(str(error))
        case TimeoutError():
            return StagingFailed(f"{tool} could not be staged in time")
        case _:
            logger.error(
                "staging broke",
                exc_info=error,
                extra={"action": "staging_broke", "tool": tool},
            )
            return StagingFailed(f"{tool} could not be staged: {type(error).__name__} inside it")
