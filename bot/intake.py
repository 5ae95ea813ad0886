"""What a run begins with: a cause becomes the first lines that the run adds to its transcript.

Each intake is one transaction and can be repeated: a run that died after it and is claimed once
more finds its lines there and adds nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlmodel import Session, col, select

from bot.conversation import Conversation, tool_message
from bot.prompts import UNATTENDED, clock_line, prompt_text
from bot.tables import Event, EventKind
from bot.transcript import RunJournal, result_data, spans_data
from outbox import questions
from outbox.journal import Origin, Span
from outbox.policy import Mode
from outbox.tables import Question
from tools.contract import ToolCall
from tools.result import ToolResult
from tools.taint import CLEAN, UNKNOWN, Source, Taint
from triggers import mailbox
from triggers.mailbox import Claim
from triggers.tables import CauseKind

UNKNOWN_EFFECT = (
    "this call had started when steward stopped; whether it took effect is unknown; "
    "it was not repeated"
)
QUESTION_GONE = "the question this call asked is gone; no answer to it will come"
NEVER_RAN = "steward stopped before this call ran; it had no effect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When and how the run begins, for the words that stand above the prompt."""

    now: datetime
    zone: ZoneInfo
    door: str
    attended: bool
    mode: Mode
    boundary: Callable[[], str]


def begin(journal: RunJournal, conversation: Conversation, claim: Claim, moment: Moment) -> None:
    """Write what the cause says into the transcript and the conversation, in one transaction."""
    with journal.effect() as session:
        into = _Intake(session, journal, conversation, moment)
        into.started(claim)
        into.repair()
        match claim.kind:
            case CauseKind.PROMPT:
                into.prompt(claim)
            case CauseKind.ANSWER:
                into.answers(claim)
            case CauseKind.DECISION:
                into.decisions(claim)


def prompt_taint(spans: Sequence[Span], *, piped: bool, turn: int) -> Taint:
    """What words bring: the owner's nothing, others' the untrusted leg, piped text both."""
    foreign = [span for span in spans if span.origin is Origin.THIRD_PARTY]
    if not foreign:
        return CLEAN
    sources = tuple(
        Source(tool=span.source or "text", turn=turn, what="text the owner did not type")
        for span in foreign
    )
    return Taint(untrusted=sources, private=sources if piped else ())


@dataclass(slots=True)
class _Intake:
    session: Session
    journal: RunJournal
    conversation: Conversation
    moment: Moment

    def started(self, claim: Claim) -> None:
        """Why this run began, where, and what it may do."""
        data = {
            "cause": claim.kind.value,
            "attempt": claim.attempt,
            "door": self.moment.door,
            "present": self.moment.attended,
            "mode": self.moment.mode.value,
        }
        self.journal.write(self.session, EventKind.RUN_STARTED, data)

    def repair(self) -> None:
        """Close calls that a dead process left without a result, once."""
        for call in self.conversation.broken_tail:
            had_started = call.id in self.conversation.started
            text = UNKNOWN_EFFECT if had_started else NEVER_RAN
            self._result(call, ToolResult.error(text), UNKNOWN if had_started else CLEAN)

    def prompt(self, claim: Claim) -> None:
        """The owner's words (and what came with them) go on the session."""
        if self._has_prompt(claim):
            return
        self._close_parked()
        spans = _spans(claim.payload["spans"])
        piped = bool(claim.payload.get("piped"))
        taint = prompt_taint(spans, piped=piped, turn=self.conversation.turns)
        self._say(spans, taint, also=self._fold_decisions(claim))

    def answers(self, claim: Claim) -> None:
        """Each answer becomes the result of the call that asked; a late one is the owner's words."""
        waited = bool(self.conversation.waiting)
        self._close_parked()
        if claim.payload["late"]:
            if not self._has_prompt(claim):
                row = questions.find(self.session, claim.payload["question"])
                self._say(_late_answer_spans(row), CLEAN)
        elif waited:
            self._tell_moment()

    def decisions(self, claim: Claim) -> None:
        """The owner's rejections, with their reasons, reach the agent that drafted."""
        if not self._has_prompt(claim):
            self._close_parked()
            self._say(_decision_spans(claim.payload), CLEAN)

    def _has_prompt(self, claim: Claim) -> bool:
        return self._has_prompt_of(claim.cause_id)

    def _has_prompt_of(self, cause_id: str) -> bool:
        mine = (
            col(Event.session_id) == self.conversation.session_id,
            col(Event.run_id) == cause_id,
            col(Event.kind) == EventKind.PROMPT,
        )
        return self.session.exec(select(Event.seq).where(*mine)).first() is not None

    def _close_parked(self) -> None:
        """Every call that waited for a question gets its result: the answer, or that there is none."""
        waiting = {call.id: call for call in self.conversation.waiting}
        for row in questions.close_calls(self.session, self.conversation.session_id):
            call = waiting.get(row.call_id)
            if call is not None:
                self._result(call, questions.call_result(row), CLEAN)
        for call in self.conversation.waiting:  # its question is not in the database any more
            self._result(call, ToolResult.error(QUESTION_GONE), CLEAN)

    def _notes(self) -> list[Event]:
        """What was noted for this session, such as what the owner released, and not told yet."""
        kinds = (EventKind.NOTE, EventKind.PROMPT, EventKind.NUDGE)
        mine = (
            col(Event.session_id) == self.conversation.session_id,
            col(Event.kind).in_(kinds),
        )
        rows = self.session.exec(select(Event).where(*mine).order_by(col(Event.seq))).all()
        told = max((row.data.get("notes_upto", 0) for row in rows), default=0)
        return [row for row in rows if row.kind is EventKind.NOTE and row.seq > told]

    def _fold_decisions(self, claim: Claim) -> list[str]:
        """Rejections that still wait for a run of their own ride with this one."""
        told: list[str] = []
        waiting = mailbox.queued(self.session, claim.session_id, CauseKind.DECISION)
        for cause in waiting:
            was_told = self._has_prompt_of(cause.id)  # by a run that died after it had begun
            folded = mailbox.fold(self.session, cause.id, claim.cause_id, self.moment.now)
            if folded and not was_told:
                told.extend(span.text for span in _decision_spans(cause.payload))
        return told

    def _result(self, call: ToolCall, result: ToolResult, taint: Taint) -> None:
        data = result_data(call, result)
        self.journal.write(self.session, EventKind.RESULT, data, taint)
        self.conversation.taint = self.conversation.taint.merge(taint)
        self.conversation.absorb_result(tool_message(data))

    def _tell_moment(self) -> None:
        """After results that came late: the time, whether somebody is there, what happened since."""
        notes = self._notes()
        text = self._worded((), [note.data["text"] for note in notes])
        self.journal.write(self.session, EventKind.NUDGE, {"text": text, **_upto(notes)})
        self.conversation.absorb_words(text)

    def _head(self) -> list[str]:
        clock = clock_line(self.moment.now, self.moment.zone)
        return [clock] if self.moment.attended else [clock, UNATTENDED]

    def _say(self, spans: Sequence[Span], taint: Taint, also: Sequence[str] = ()) -> None:
        """Words to the model, under what was noted meanwhile (and `also`)."""
        notes = self._notes()
        text = self._worded(spans, [*(note.data["text"] for note in notes), *also])
        data = {"text": text, "spans": spans_data(spans), **_upto(notes)}
        self.journal.write(self.session, EventKind.PROMPT, data, taint)
        self.conversation.taint = self.conversation.taint.merge(taint)
        self.conversation.absorb_words(text)

    def _worded(self, spans: Sequence[Span], notes: Sequence[str]) -> str:
        boundary = self.moment.boundary()
        return prompt_text(spans, head=self._head(), notes=notes, boundary=boundary)


def _upto(notes: Sequence[Event]) -> dict[str, int]:
    """Which notes a line tells, so that each is told once whatever becomes of the run."""
    return {"notes_upto": notes[-1].seq} if notes else {}


def _late_answer_spans(row: Question) -> list[Span]:
    """The owner's words are theirs; the question was the agent's, and so is a tapped option."""
    result = questions.call_result(row)
    return [
        Span(seq=0, origin=Origin.AGENT, text=f'To question {row.id} ("{row.question}"):'),
        Span(
            seq=0,
            origin=Origin.OWNER if result.typed_by_owner else Origin.AGENT,
            text=result.text,
        ),
    ]


def _spans(data: Sequence[Mapping[str, str]]) -> list[Span]:
    return [
        Span(
            seq=0,
            origin=Origin(span["origin"]),
            text=span["text"],
            source=span.get("source", ""),
        )
        for span in data
    ]


def _decision_spans(payload: Mapping[str, Any]) -> list[Span]:
    """What the draft said is the agent's. The reason is the owner's, and makes nothing his: he may
    repeat an address only to forbid it."""
    spans = []
    for each in payload["rejections"]:
        told = f"The owner rejected draft {each['draft']} ({each['summary']}), for this reason:"
        spans.append(Span(seq=0, origin=Origin.AGENT, text=told))
        spans.append(Span(seq=0, origin=Origin.VERDICT, text=each["reason"]))
    return spans
