"""Start a run: a prompt of the owner's becomes a cause that this very process claims and carries out."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlmodel import Session

from bot import sessions
from bot.errors import UsageProblem
from bot.logs import redact
from bot.prompts import system_prompt
from bot.service import Posture
from bot.tables import SessionRow
from bot.transcript import session_taint
from bot.wiring import House
from outbox.journal import Span
from outbox.process import ProcessId
from tools.crashpoint import crash_point
from tools.ids import new_id
from triggers import mailbox
from triggers.errors import Busy
from triggers.mailbox import Claim, NewCause
from triggers.tables import CauseKind
from triggers.ticker import Ended

TITLE_LENGTH = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a door asks for. `resume` is a handle of a session; `piped`: some of it came by a pipe."""

    spans: Sequence[Span]
    producer: str
    piped: bool = False
    agent: str | None = None
    model: str | None = None
    resume: str | None = None
    workspace: Path | None = None


async def run_prompt(
    house: House, request: RunRequest, posture: Posture, stop: asyncio.Event | None = None
) -> Mapping[str, Any]:
    """Run the prompt to its end and give the report that `steward run --json` prints.

    Raises: UsageProblem for an empty prompt, NotFound, Busy when another process runs the
    session; then nothing was posted.
    """
    if not any(span.text.strip() for span in request.spans):
        raise UsageProblem('the prompt is empty; give it as words: steward run "..."')
    _check(house, request)
    ticker = house.ticker(posture)
    claim = _post(house, request)
    return report(house, claim, await ticker.carry_out(claim, stop))


def report(house: House, claim: Claim, ended: Ended) -> Mapping[str, Any]:
    """What `--json` prints of a run that ended, also of one that was cut short."""
    known = {"session": claim.session_id, **ended.outcome}
    if ended.retry_at is not None:
        known["retry_at"] = house.local(ended.retry_at)
    if "taint" not in known:
        with house.store.read() as session:
            known["taint"] = session_taint(session, claim.session_id).flags()
    return known


def _check(house: House, request: RunRequest) -> None:
    """Refuse what cannot be run before anything is posted."""
    if request.resume is not None and (request.agent or request.workspace):
        raise UsageProblem("a resumed session keeps its agent and workspace; leave them out")
    if request.model is not None:
        house.model_name(house.agent(request.agent), request.model)


def _post(house: House, request: RunRequest) -> Claim:
    """Queue the prompt and claim it, in one transaction: a session that is busy gets nothing."""
    now = house.now()
    with house.store.effect() as session:
        row = (
            sessions.find(session, request.resume)
            if request.resume is not None
            else _new_session(house, session, request)
        )
        cause_id = new_id(now)
        payload = {
            "spans": [
                {
                    "origin": span.origin.value,
                    "text": redact(span.text)[0],
                    "source": span.source,
                }
                for span in request.spans
            ],
            "piped": request.piped,
        }
        cause = NewCause(
            id=cause_id,
            kind=CauseKind.PROMPT,
            session_id=row.id,
            producer=row.producer,
            agent=row.agent,
            payload=payload,
            for_process=house.process,
        )
        mailbox.post(session, cause, now)
        claim = mailbox.claim(session, owner=house.process, now=now, cause_id=cause_id)
        if claim is None:
            holder = mailbox.holder(session, row.id)
            who = ProcessId.parse(holder) if holder else None
            where = f"process {who.pid} on {who.host}" if who else "another process"
            raise Busy(f"session {row.id} is being run by {where}; wait for it, or start anew")
    crash_point("cause.claimed")
    return claim


def _new_session(house: House, session: Session, request: RunRequest) -> SessionRow:
    agent = house.agent(request.agent)
    now = house.now()
    producer = request.producer if request.agent is None else agent.name
    first = next(span.text for span in request.spans if span.text.strip())
    row = SessionRow(
        id=new_id(now),
        producer=producer,
        agent=agent.name,
        model=house.model_name(agent, request.model),
        workspace=str(house.workspace(producer, request.workspace)),
        system=system_prompt(agent.name, agent.instructions),
        title=_title(redact(first)[0]),
        created_at=now,
    )
    sessions.create(session, row)
    return row


def _title(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1] + "…"
