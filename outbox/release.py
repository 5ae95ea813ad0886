"""Releases a draft, at most once: claim, commit, deliver, record.

Why in this order: after the claim is on disk no other surface can send the draft, so a crash
between any two steps leaves "uncertain", which a person sees and no program repeats. The
destination is asked first because a restored backup or a copied home does not know what was sent
after the copy was made.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlmodel import Session, col

from outbox.attempts import DEADLINE, VERIFY_SECONDS, Ending, end_attempt, is_newest, open_attempt
from outbox.clock import seconds_awake_or_asleep
from outbox.errors import NotRecorded, SenderMissing, StoreFailed
from outbox.failures import Saying
from outbox.fence import Fence
from outbox.journal import Store
from outbox.judge import record_released
from outbox.process import current_process
from outbox.senders import Ready, SenderDesk, unchanged_sender_for
from outbox.states import Decider, Step, change, changed, load, move, not_pending
from outbox.tables import Attempt, AttemptOutcome, Draft, DraftStatus
from tools.contract import Delivery, DeliveryOutcome, ReviewShape, Verification
from tools.crashpoint import crash_point
from tools.invoke import Consignment, deliver_bounded, verify_bounded

Note = Callable[[Session, Draft, str], None]  # leaves the draft's session words for its next run

_OUTCOMES = {
    DeliveryOutcome.SENT: AttemptOutcome.SENT,
    DeliveryOutcome.FAILED: AttemptOutcome.FAILED,
    DeliveryOutcome.UNKNOWN: AttemptOutcome.UNKNOWN,
}
_IN_FLIGHT = frozenset({DraftStatus.SENDING, DraftStatus.UNCERTAIN})


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """What became of a release: the draft as stored, and one line for the owner."""

    draft: Draft
    text: str

    @property
    def is_sent(self) -> bool:
        """True if it went out."""
        return self.draft.status is DraftStatus.SENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Releaser:
    """Releases drafts of one store. `process` is who holds the attempts it opens.

    `note` is called in the transaction that records an outcome. `clock` counts while suspended.
    No destination is asked for longer than `patience_seconds`.
    """

    store: Store
    desk: SenderDesk
    note: Note
    now: Callable[[], datetime]
    clock: Callable[[], float] = seconds_awake_or_asleep
    patience_seconds: float = VERIFY_SECONDS
    process: str = field(default_factory=lambda: str(current_process()))

    async def approve(self, draft_id: str, *, revision: int, decider: Decider) -> Released:
        """The draft was sent, or returned to pending with the error, or is uncertain.

        What goes out is what the store holds at this revision, and nothing else; where the
        destination says that it has it already, nothing does, and the draft is sent. A cancel before
        the sender's point of no return leaves it pending, a later one uncertain.

        Raises: NotFound; Stale if the draft changed or somebody else decided, saying who and when;
        NotAllowed while it is uncertain; NotRecorded when the outcome could not be written down.
        """
        draft = self._read(draft_id, revision)
        try:
            ready = unchanged_sender_for(self.desk, draft)
        except SenderMissing as missing:
            return self._landed(draft, str(missing))
        is_there = await self._is_there(ready, draft)
        opened = self.clock()
        draft, attempt = self._claim(draft, decider)
        crash_point("release.claimed")
        flight = Flight(draft=draft, attempt=attempt, decider=decider, shape=ready.shape)
        fence = Fence(store=self.store, attempt=attempt, clock=self.clock, opened=opened)
        delivery = _FOUND if is_there else await self._deliver(ready, flight, fence)
        crash_point("release.delivered")
        released = self._record(flight, delivery)
        crash_point("release.recorded")
        return released

    def _read(self, draft_id: str, revision: int) -> Draft:
        with self.store.read() as session:
            draft = load(session, draft_id)
        if draft.status is not DraftStatus.PENDING:
            raise not_pending(draft)
        if draft.revision != revision:
            raise changed(draft)
        return draft

    async def _is_there(self, ready: Ready, draft: Draft) -> bool:
        """True only where the destination says so; whatever else it says does not hold up a release."""
        what = Consignment(completed=draft.args, delivery_key=draft.delivery_key, ctx=ready.context)
        answer = await verify_bounded(ready.sender, what, seconds=self.patience_seconds)
        return answer is Verification.DELIVERED

    def _landed(self, draft: Draft, error: str) -> Released:
        """A failure before the tool ran stays on the draft, if nobody decided meanwhile."""
        with self.store.effect() as session:
            change(
                session,
                draft.id,
                col(Draft.status) == DraftStatus.PENDING,
                col(Draft.revision) == draft.revision,
                values={"error": error, "updated_at": self.now()},
            )
            stored = load(session, draft.id)
        crash_point("release.refused")
        return Released(draft=stored, text=f"draft {draft.id} was not sent: {error}")

    def _claim(self, draft: Draft, decider: Decider) -> tuple[Draft, Attempt]:
        now = self.now()
        step = Step(
            sources=frozenset({DraftStatus.PENDING}),
            target=DraftStatus.SENDING,
            values={
                "decided_at": now,
                "decided_by": decider.by,
                "decided_via": decider.via,
                "error": None,
                "updated_at": now,
            },
            where=(col(Draft.revision) == draft.revision,),
        )
        with self.store.effect() as session:
            claimed = move(session, draft.id, step)
            stored = load(session, draft.id)
            if not claimed:
                raise not_pending(stored)
            return stored, open_attempt(session, stored, self.process)

    async def _deliver(self, ready: Ready, flight: "Flight", fence: Fence) -> Delivery:
        delivery = None
        what = Consignment(
            completed=flight.draft.args,
            delivery_key=flight.attempt.delivery_key,
            ctx=ready.context,
        )
        crash_point("release.delivering")
        try:
            delivery = await deliver_bounded(
                ready.sender, what, fence, seconds=DEADLINE.total_seconds()
            )
        finally:
            if delivery is None:  # cancelled
                self._record(flight, _BROKEN_OFF if fence.passed else _STOPPED)
        return delivery

    def _record(self, flight: "Flight", delivery: Delivery) -> Released:
        try:
            with Saying(lambda error: _not_recorded(flight, delivery, error)):
                stored = self._recorded(flight, delivery)
        except StoreFailed as failure:
            raise _not_recorded(flight, delivery, failure) from failure
        return Released(draft=stored, text=_owner_line(stored, delivery))

    def _recorded(self, flight: "Flight", delivery: Delivery) -> Draft:
        with self.store.effect() as session:
            is_news = end(session, flight, delivery, self.now())
            stored = load(session, flight.draft.id)
            if is_news:
                leave_note(session, self.note, stored, delivery)
        return stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Flight:
    """A draft that was claimed, its attempt, and who released it."""

    draft: Draft
    attempt: Attempt
    decider: Decider
    shape: ReviewShape


def end(session: Session, flight: Flight, delivery: Delivery, now: datetime) -> bool:
    """The attempt is ended and the draft moved by its own truth, however late it comes.

    False where the draft said so already, or a newer attempt speaks for it.

    A `sent` also counts if the draft was called uncertain, or given back to pending, while the
    attempt was still running: a second send of the same revision must not happen.
    """
    draft, attempt = flight.draft, flight.attempt
    ending = Ending(outcome=_OUTCOMES[delivery.outcome], detail=delivery.detail, at=now)
    end_attempt(session, attempt, ending)
    match delivery.outcome:
        case DeliveryOutcome.SENT:
            return _sent(session, flight, now)
        case DeliveryOutcome.FAILED:
            values = {
                "error": delivery.detail,
                "decided_at": None,
                "decided_by": None,
                "decided_via": None,
                "updated_at": now,
            }
            back = _step(_IN_FLIGHT, DraftStatus.PENDING, values, attempt)
            return move(session, draft.id, back)
        case DeliveryOutcome.UNKNOWN:
            values = {"error": delivery.detail, "updated_at": now}
            sending = frozenset({DraftStatus.SENDING})
            lost = _step(sending, DraftStatus.UNCERTAIN, values, attempt)
            return move(session, draft.id, lost)


def _step(
    sources: frozenset[DraftStatus],
    target: DraftStatus,
    values: Mapping[str, object],
    attempt: Attempt,
) -> Step:
    return Step(sources=sources, target=target, values=values, where=(is_newest(attempt),))


def _sent(session: Session, flight: Flight, now: datetime) -> bool:
    draft, attempt = flight.draft, flight.attempt
    values: dict[str, object] = {
        "error": None,
        "decided_at": draft.decided_at,
        "decided_by": flight.decider.by,
        "decided_via": flight.decider.via,
        "updated_at": now,
    }
    sent = _step(_IN_FLIGHT, DraftStatus.SENT, values, attempt)
    moved = move(session, draft.id, sent)
    if not moved and _reopened(session, flight):
        moved = move(session, draft.id, sent)
    if moved:
        record_released(session, draft, flight.shape)
        return True
    return change(
        session,
        draft.id,
        col(Draft.status) != DraftStatus.SENT,
        values={
            "error": f"attempt {attempt.n} did go out, at revision {attempt.revision}",
            "updated_at": now,
        },
    )


def _reopened(session: Session, flight: Flight) -> bool:
    """A draft that was given back to pending too early is uncertain again, if it is still the same."""
    step = Step(
        sources=frozenset({DraftStatus.PENDING}),
        target=DraftStatus.UNCERTAIN,
        where=(is_newest(flight.attempt), col(Draft.revision) == flight.attempt.revision),
    )
    return move(session, flight.draft.id, step)


_FOUND = Delivery(
    outcome=DeliveryOutcome.SENT, detail="found at its destination; it was not sent again"
)
_BROKEN_OFF = Delivery(
    outcome=DeliveryOutcome.UNKNOWN, detail="the delivery was broken off before an answer came"
)
_STOPPED = Delivery(
    outcome=DeliveryOutcome.FAILED,
    detail="the release was stopped before the hand-over; nothing was sent",
)


def _owner_line(draft: Draft, delivery: Delivery) -> str:
    match delivery.outcome:
        case DeliveryOutcome.SENT:
            return f"draft {draft.id} was sent: {delivery.detail}"
        case DeliveryOutcome.FAILED:
            return f"draft {draft.id} was not sent, and waits: {delivery.detail}"
        case DeliveryOutcome.UNKNOWN:
            return (
                f"draft {draft.id} may or may not have gone out: {delivery.detail}; it is not sent "
                "again before that is known"
            )


def leave_note(session: Session, note: Note, draft: Draft, delivery: Delivery) -> None:
    """Leave the session's next run word of a release; none while nothing is known."""
    text = _session_note(draft, delivery)
    if text is not None:
        note(session, draft, text)


def _session_note(draft: Draft, delivery: Delivery) -> str | None:
    edited = f" as the owner edited it (revision {draft.revision})" if draft.revision > 1 else ""
    match delivery.outcome:
        case DeliveryOutcome.SENT:
            return f"The owner released draft {draft.id} ({draft.summary}){edited}: it was sent."
        case DeliveryOutcome.FAILED:
            return (
                f"The owner released draft {draft.id} ({draft.summary}){edited}, and it could not "
                f"be sent: {delivery.detail}. Nothing went out; the draft still waits for him."
            )
        case DeliveryOutcome.UNKNOWN:
            return None


def _not_recorded(flight: Flight, delivery: Delivery, failure: Exception) -> NotRecorded:
    return NotRecorded(
        f"draft {flight.draft.id}: the delivery ended as {delivery.outcome} ({delivery.detail}), "
        f"but that could not be written down ({failure}); mend the database, then let steward verify "
        "it, and send nothing again by hand"
    )
