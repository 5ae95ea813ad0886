"""The append-only transcript: written as things happen, each line with the taint it brought.

What the lines hold (`Event.data`):
  prompt, steering  text (as the model reads it), spans [{origin, text, source}], notes_upto
  assistant         text, reasoning, calls, producer, extra, finish, usage
  started           call_id, tool
  result            call_id, tool, text, is_error, external, typed_by_owner, items
  parked            call_id, tool, question_id
  nudge, note       text
  run-started       cause, attempt, door, present, mode    run-ended  stop_cause and the counts
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import func, insert
from sqlmodel import Session, col, select

from bot.tables import Event, EventKind, SessionRow
from outbox.journal import Origin, ReadItem, Span, Store
from outbox.leaves import texts
from outbox.source import drawn_text
from outbox.tables import Draft
from tools.contract import ToolCall
from tools.output import strip_wrapper
from tools.result import Item, ToolResult
from tools.taint import CLEAN, Taint, taint_from_json
from triggers.lease import Lease

ITEMS_AT_MOST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line to be added: what it is, what it holds, and the taint it brings."""

    kind: EventKind
    data: Mapping[str, Any]
    taint: Taint = CLEAN
    run_id: str | None = None


def append(session: Session, session_id: str, line: Line, now: datetime) -> None:
    """Add a line at the end of the session's transcript, in the caller's transaction."""
    mine = col(Event.session_id) == session_id
    last = select(func.coalesce(func.max(Event.seq), 0) + 1).where(mine).scalar_subquery()
    session.execute(
        insert(Event).values(
            session_id=session_id,
            seq=last,
            at=now,
            kind=line.kind,
            run_id=line.run_id,
            data=dict(line.data),
            taint=line.taint.as_json(),
        )
    )


def lines(session: Session, session_id: str, *, after: int = 0) -> Sequence[Event]:
    """The session's transcript, oldest first, from beyond a line on."""
    wanted = (col(Event.session_id) == session_id, col(Event.seq) > after)
    return session.exec(select(Event).where(*wanted).order_by(col(Event.seq))).all()


class RunJournal:
    """outbox.journal.Journal for one run: every transaction first proves that the lease is held."""

    def __init__(self, store: Store, lease: Lease, now: Callable[[], datetime]) -> None:
        self._store = store
        self._lease = lease
        self._now = now
        self.session_id = lease.claim.session_id
        self.run_id = lease.claim.cause_id

    @contextmanager
    def effect(self) -> Iterator[Session]:
        """A fenced transaction that guards an effect. Raises: LeaseLost."""
        with self._store.effect() as session:
            self._lease.check(session)
            yield session

    @contextmanager
    def record(self) -> Iterator[Session]:
        """A fenced transaction for the transcript. Raises: LeaseLost."""
        with self._store.record() as session:
            self._lease.check(session)
            yield session

    def write(
        self,
        session: Session,
        kind: EventKind,
        data: Mapping[str, Any],
        taint: Taint = CLEAN,
    ) -> None:
        """Add one line of this run."""
        line = Line(kind=kind, data=data, taint=taint, run_id=self.run_id)
        append(session, self.session_id, line, self._now())

    def call_started(self, session: Session, call: ToolCall) -> None:
        """Write ahead that this call is about to run."""
        self.write(session, EventKind.STARTED, {"call_id": call.id, "tool": call.name})

    def call_finished(
        self, session: Session, call: ToolCall, result: ToolResult, brought: Taint
    ) -> None:
        """Write the result as the model will see it, and the taint it brought, as one line."""
        self.write(session, EventKind.RESULT, result_data(call, result), brought)

    def call_parked(self, session: Session, call: ToolCall, question_id: str) -> None:
        """Write that this call waits for the answer to a question."""
        data = {"call_id": call.id, "tool": call.name, "question_id": question_id}
        self.write(session, EventKind.PARKED, data)


def result_data(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    """The data of a `result` line."""
    return {
        "call_id": call.id,
        "tool": call.name,
        "text": result.text,
        "is_error": result.is_error,
        "external": result.external,
        "typed_by_owner": result.typed_by_owner,
        "items": [
            {"provider_id": item.provider_id, "title": item.title, "text": item.text}
            for item in result.items
        ],
    }


def spans_data(spans: Sequence[Span]) -> list[dict[str, str]]:
    """How words and whose they are stand in a `prompt` or `steering` line."""
    return [
        {"origin": span.origin.value, "text": span.text, "source": span.source} for span in spans
    ]


def session_taint(session: Session, session_id: str) -> Taint:
    """What has entered this session so far; a line without a record is unknown, and so both."""
    return CLEAN.merge(*(taint_from_json(event.taint) for event in lines(session, session_id)))


class TranscriptText:
    """outbox.journal.SessionText over the transcripts of this database."""

    def spans(self, session: Session, session_id: str) -> Sequence[Span]:
        """All text of the session with whose it is, oldest first; the instructions come first."""
        row = session.get(SessionRow, session_id)
        found = [] if row is None else [Span(seq=0, origin=Origin.CONFIGURED, text=row.system)]
        taint = CLEAN
        drafts = {draft.call_id: draft for draft in _drafts_of(session, session_id)}
        for event in lines(session, session_id):
            held = taint.is_untrusted  # by the time this line was written
            found.extend(replace(span, after_others=held, at=event.at) for span in _spans_of(event))
            if event.kind is EventKind.RESULT and event.data["call_id"] in drafts:
                drafted = _drafted(drafts[event.data["call_id"]])
                found.extend(replace(span, seq=event.seq, at=event.at) for span in drafted)
            taint = taint.merge(taint_from_json(event.taint))
        return found

    def items(self, session: Session, session_id: str, provider_id: str) -> Sequence[ReadItem]:
        """The items of that provider id, newest first, at most 20; failed reads left out."""
        newest_first = (
            select(Event)
            .where(col(Event.session_id) == session_id, col(Event.kind) == EventKind.RESULT)
            .order_by(col(Event.seq).desc())
        )
        found: list[ReadItem] = []
        for event in session.exec(newest_first):
            if not event.data["is_error"]:
                found.extend(
                    ReadItem(seq=event.seq, tool=event.data["tool"], item=Item(**item))
                    for item in event.data["items"]
                    if item["provider_id"] == provider_id
                )
            if len(found) >= ITEMS_AT_MOST:
                break
        return found[:ITEMS_AT_MOST]


def _spans_of(event: Event) -> Iterator[Span]:
    match event.kind:
        case EventKind.PROMPT | EventKind.STEERING:
            for span in event.data["spans"]:
                yield Span(
                    seq=event.seq,
                    origin=Origin(span["origin"]),
                    text=span["text"],
                    source=span["source"],
                )
        case EventKind.ASSISTANT:
            calls = (_argument_text(call["arguments"]) for call in event.data["calls"])
            for text in (event.data["reasoning"], event.data["text"], *calls):
                yield Span(seq=event.seq, origin=Origin.AGENT, text=text)
        case EventKind.RESULT:
            yield Span(
                seq=event.seq,
                origin=_origin_of_result(event.data),
                text=strip_wrapper(event.data["text"]),
                source=event.data["tool"],
            )
        case _:
            return


def _drafts_of(session: Session, session_id: str) -> Sequence[Draft]:
    return session.exec(select(Draft).where(col(Draft.session_id) == session_id)).all()


def _drafted(draft: Draft) -> Iterator[Span]:
    """What a call became, which the owner is shown: the message that completion quoted, and words
    that may be taken from it."""
    yield from drawn_text(draft.tool, draft.replying_to, draft.created_at)
    yield Span(
        seq=0,
        origin=Origin.AGENT,
        text="\n".join(text for _, text in texts(draft.args_before)),
        source=draft.tool,
        after_others=taint_from_json(draft.taint).is_untrusted,
    )


def _argument_text(arguments: str) -> str:
    """What a call's arguments say, names of fields included; malformed ones as they were written."""
    try:
        said = texts(json.loads(arguments))
        return "\n".join(piece for where, text in said for piece in (where, text))
    except (ValueError, RecursionError):
        return arguments


def _origin_of_result(data: Mapping[str, Any]) -> Origin:
    if data["typed_by_owner"]:
        return Origin.OWNER
    if data["external"]:
        return Origin.THIRD_PARTY
    return Origin.AGENT if data["is_error"] else Origin.PRIVATE
