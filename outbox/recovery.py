"""What became of drafts whose answer was lost: found, asked about, and settled by evidence.

Nothing here sends. A draft in flight is called uncertain only when its process is surely dead or
its deadline has passed; then the destination is asked, and what stays unknown is the owner's.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from outbox.attempts import (
    VERIFY_AFTER,
    VERIFY_SECONDS,
    Ending,
    database_now,
    end_attempt,
    is_newest,
    last_attempt,
    lost_because,
    next_verify_at,
)
from outbox.errors import NotAllowed, SenderMissing
from outbox.journal import Store
from outbox.judge import record_released
from outbox.release import Note, Released, leave_note
from outbox.senders import Ready, SenderDesk, sender_for
from outbox.states import Decider, Step, load, move, not_pending
from outbox.tables import Attempt, AttemptOutcome, Draft, DraftStatus
from tools.contract import Delivery, DeliveryOutcome, ReviewShape, Verification
from tools.crashpoint import crash_point
from tools.invoke import Consignment, verify_bounded

_UNCERTAIN = frozenset({DraftStatus.UNCERTAIN})


def settle(session: Session, now: datetime) -> list[Draft]:
    """Every draft in flight that nobody will end becomes uncertain; gives those, as stored."""
    flying = session.exec(_in_flight()).all()
    return [draft for draft_id in flying if (draft := _settle_one(session, draft_id, now))]


def _in_flight() -> SelectOfScalar[str]:
    return select(Draft.id).where(col(Draft.status) == DraftStatus.SENDING)


def _settle_one(session: Session, draft_id: str, now: datetime) -> Draft | None:
    attempt = last_attempt(session, draft_id)
    reason = lost_because(attempt, database_now(session))
    if reason is None:
        return None
    step = Step(
        sources=frozenset({DraftStatus.SENDING}),
        target=DraftStatus.UNCERTAIN,
        values={"error": reason, "updated_at": now},
        where=() if attempt is None else (is_newest(attempt),),
    )
    if not move(session, draft_id, step):
        return None
    if attempt is not None:
        ending = Ending(outcome=AttemptOutcome.UNKNOWN, detail=reason, at=now)
        end_attempt(session, attempt, ending)
    return load(session, draft_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifier:
    """Asks destinations what became of uncertain drafts.

    `note` is called in the transaction that records what was found. No destination is waited for
    longer than `patience_seconds`.
    """

    store: Store
    desk: SenderDesk
    note: Note
    now: Callable[[], datetime]
    patience_seconds: float = VERIFY_SECONDS

    def settle(self) -> list[Draft]:
        """As `settle`, in a transaction of its own, if there is anything in flight at all."""
        with self.store.read() as session:
            if session.exec(_in_flight().limit(1)).first() is None:
                return []
        with self.store.effect() as session:
            settled = settle(session, self.now())
        crash_point("release.settled")
        return settled

    async def verify(self, *, only_due: bool = True) -> list[Released]:
        """The drafts whose fate is known now: sent, or pending where a repeat is harmless.

        Only those whose next of three tries is due (0.5, 2 and 10 minutes after the answer was
        lost), or all of them; all at the same time. A destination that cannot be asked, does not
        answer or breaks counts as a try.
        """
        pairs = [
            (draft, attempt)
            for draft, attempt in self._uncertain()
            if not only_due or self._is_due(attempt)
        ]
        found = await asyncio.gather(*(self._ask(*pair) for pair in pairs))
        known = []
        for (draft, attempt), (answer, ready) in zip(pairs, found, strict=True):
            crash_point("release.verified")
            released = self._record(draft, attempt, answer, ready)
            if released is not None:
                known.append(released)
        return known

    def _is_due(self, attempt: Attempt) -> bool:
        due = next_verify_at(attempt.ended_at or attempt.deadline_at, attempt.verify_tries)
        return due is not None and due <= self.now()

    async def _ask(self, draft: Draft, attempt: Attempt) -> tuple[Verification, Ready | None]:
        ready = self._ready(draft)
        if ready is None:
            return Verification.UNKNOWN, None
        what = Consignment(
            completed=draft.args, delivery_key=attempt.delivery_key, ctx=ready.context
        )
        answer = await verify_bounded(ready.sender, what, seconds=self.patience_seconds)
        return answer, ready

    def _uncertain(self) -> Sequence[tuple[Draft, Attempt]]:
        with self.store.read() as session:
            ids = session.exec(
                select(Draft.id).where(col(Draft.status) == DraftStatus.UNCERTAIN)
            ).all()
            pairs = [(load(session, each), last_attempt(session, each)) for each in ids]
        return [(draft, attempt) for draft, attempt in pairs if attempt is not None]

    def _ready(self, draft: Draft) -> Ready | None:
        try:
            return sender_for(self.desk, draft)
        except SenderMissing:
            return None

    def _record(
        self, draft: Draft, attempt: Attempt, answer: Verification, ready: Ready | None
    ) -> Released | None:
        now = self.now()
        with self.store.effect() as session:
            moved = False
            match answer:
                case Verification.DELIVERED:
                    shape = ready.shape if ready else ReviewShape()
                    moved = _found(session, draft, attempt, shape, now)
                case Verification.ABSENT:
                    moved = _absent(session, draft, attempt, now)
                case Verification.UNKNOWN:
                    pass
            _count_try(session, attempt, now)
            stored = load(session, draft.id)
            if moved:
                leave_note(session, self.note, stored, _delivery_found(stored))
        crash_point("release.verify-recorded")
        return _released(stored) if moved else None


def _found(
    session: Session, draft: Draft, attempt: Attempt, shape: ReviewShape, now: datetime
) -> bool:
    step = Step(
        sources=_UNCERTAIN,
        target=DraftStatus.SENT,
        values={"error": None, "updated_at": now},
        where=(is_newest(attempt),),
    )
    if not move(session, draft.id, step):
        return False
    detail = "found at its destination"
    end_attempt(session, attempt, Ending(outcome=AttemptOutcome.SENT, detail=detail, at=now))
    record_released(session, draft, shape)
    return True


def _absent(session: Session, draft: Draft, attempt: Attempt, now: datetime) -> bool:
    detail = "its destination says that it never arrived"
    step = Step(
        sources=_UNCERTAIN,
        target=DraftStatus.PENDING,
        values={
            "error": detail,
            "decided_at": None,
            "decided_by": None,
            "decided_via": None,
            "updated_at": now,
        },
        where=(is_newest(attempt),),
    )
    if not move(session, draft.id, step):
        return False
    end_attempt(session, attempt, Ending(outcome=AttemptOutcome.FAILED, detail=detail, at=now))
    return True


def _count_try(session: Session, attempt: Attempt, now: datetime) -> None:
    row = session.get(Attempt, (attempt.draft_id, attempt.n), populate_existing=True)
    if row is not None:
        row.verify_tries = min(row.verify_tries + 1, len(VERIFY_AFTER))
        row.verified_at = now
        session.flush()


def _delivery_found(stored: Draft) -> Delivery:
    if stored.status is DraftStatus.SENT:
        return Delivery(outcome=DeliveryOutcome.SENT, detail="found at its destination")
    return Delivery(outcome=DeliveryOutcome.FAILED, detail="it never arrived")


def _released(stored: Draft) -> Released:
    if stored.status is DraftStatus.SENT:
        text = f"draft {stored.id} was sent after all: it was found at its destination"
    else:
        text = f"draft {stored.id} never arrived, and waits again"
    return Released(draft=stored, text=text)


class Reconciled(StrEnum):
    """What the owner found at the destination of an uncertain draft."""

    DELIVERED = "delivered"
    NOT_DELIVERED = "not-delivered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What the owner found, how he knows, and in which door he says so."""

    outcome: Reconciled
    evidence: str
    decider: Decider


def reconcile(
    session: Session, draft_id: str, finding: Finding, *, shape: ReviewShape, now: datetime
) -> Draft:
    """An uncertain draft becomes sent, or pending again, by the owner's word; nothing is sent.

    Raises: NotAllowed without evidence, for a draft that is not uncertain, and while its attempt
    may still end by itself.
    """
    if not finding.evidence.strip():
        raise NotAllowed("say how you know: --evidence TEXT")
    attempt = last_attempt(session, draft_id)
    _settle_one(session, draft_id, now)
    _refuse_unless_uncertain(load(session, draft_id), attempt)
    where = () if attempt is None else (is_newest(attempt),)
    target, values = _reconciled(finding, now)
    step = Step(sources=_UNCERTAIN, target=target, values=values, where=where)
    if not move(session, draft_id, step):
        raise not_pending(load(session, draft_id))
    delivered = finding.outcome is Reconciled.DELIVERED
    if attempt is not None:
        outcome = AttemptOutcome.SENT if delivered else AttemptOutcome.FAILED
        detail = f"by the word of {finding.decider.by}: {finding.evidence.strip()}"
        end_attempt(session, attempt, Ending(outcome=outcome, detail=detail, at=now))
    draft = load(session, draft_id)
    if delivered:
        record_released(session, draft, shape)
    return draft


def _refuse_unless_uncertain(draft: Draft, attempt: Attempt | None) -> None:
    if draft.status is DraftStatus.SENDING and attempt is not None:
        raise NotAllowed(
            f"draft {draft.id} is still being sent and may end by itself; wait until "
            f"{attempt.deadline_at:%Y-%m-%d %H:%M:%S} UTC"
        )
    if draft.status is not DraftStatus.UNCERTAIN:
        raise NotAllowed(f"draft {draft.id} is {draft.status}; only an uncertain one is reconciled")


def _reconciled(finding: Finding, now: datetime) -> tuple[DraftStatus, dict[str, object]]:
    decider, evidence = finding.decider, finding.evidence.strip()
    match finding.outcome:
        case Reconciled.DELIVERED:
            return DraftStatus.SENT, {
                "decided_at": now,
                "decided_by": decider.by,
                "decided_via": decider.via,
                "reason": evidence,
                "error": None,
                "updated_at": now,
            }
        case Reconciled.NOT_DELIVERED:
            return DraftStatus.PENDING, {
                "decided_at": None,
                "decided_by": None,
                "decided_via": None,
                "error": f"not delivered, says {decider.by} via {decider.via}: {evidence}",
                "updated_at": now,
            }
