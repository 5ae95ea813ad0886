"""What follows from a decision on a draft: a note its session reads, or a run that hears the reason."""

from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session

from bot.tables import EventKind
from bot.transcript import Line, append
from outbox.tables import Draft
from tools.ids import new_id
from triggers import mailbox
from triggers.mailbox import NewCause
from triggers.tables import CauseKind

COALESCE = timedelta(seconds=30)
ROUNDS_AT_MOST = 3


def note(session: Session, session_id: str, text: str, now: datetime) -> None:
    """Leave a note that the session's next run reads."""
    append(session, session_id, Line(kind=EventKind.NOTE, data={"text": text}), now)


def tell_of_rejection(session: Session, draft: Draft, now: datetime) -> bool:
    """The reason reaches the agent, in the transaction of the rejection; False if only as a note.

    Rejections of one session within 30 s make one cause. After three such rounds without a word
    of the owner's in between nothing more starts: the next one is left as a note.
    """
    told: dict[str, Any] = {"draft": draft.id, "summary": draft.summary, "reason": draft.reason}
    for waiting in mailbox.queued(session, draft.session_id, CauseKind.DECISION):
        payload = {"rejections": [*waiting.payload["rejections"], told]}
        if mailbox.add_to_queued(session, waiting.id, payload=payload, not_before=now + COALESCE):
            return True
    rounds = mailbox.rounds_since_prompt(session, draft.session_id, CauseKind.DECISION)
    if rounds >= ROUNDS_AT_MOST:
        text = f"The owner rejected draft {draft.id} ({draft.summary}): {draft.reason}"
        note(session, draft.session_id, text, now)
        return False
    cause = NewCause(
        id=new_id(now),
        kind=CauseKind.DECISION,
        session_id=draft.session_id,
        producer=draft.producer,
        agent=draft.agent,
        payload={"rejections": [told]},
        not_before=now + COALESCE,
    )
    mailbox.post(session, cause, now)
    return True
