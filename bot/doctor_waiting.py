"""Checks of what waits: drafts nobody knows the fate of, open questions, runs of dead processes."""

from sqlmodel import Session, col, func, select

from bot.doctor_check import Check, Finding, Subject, counted, ok, unknown, warn
from bot.errors import DatabaseProblem
from outbox.process import is_surely_dead
from outbox.tables import Draft, DraftStatus, Question, QuestionStatus
from triggers.tables import Cause, CauseStatus

_LOOKED_AT = 1000


def check_waiting(subject: Subject) -> list[Finding]:
    """What the owner, or a run that died, still owes an answer to."""
    try:
        if subject.database is None:
            return []
        with subject.database.read() as session:
            return _waiting(session) or [ok("nothing waits")]
    except DatabaseProblem:
        return [unknown("what waits is unknown while the database cannot be read")]


def _waiting(session: Session) -> list[Finding]:
    found: list[Finding] = []
    uncertain = _count_drafts(session, DraftStatus.UNCERTAIN)
    if uncertain:
        text = f"{counted(uncertain, 'draft')} may or may not have been sent"
        found.append(
            warn(text, "run 'steward outbox list --status uncertain', then reconcile each")
        )
    pending = _count_drafts(session, DraftStatus.PENDING)
    if pending:
        found.append(ok(f"{counted(pending, 'draft', 'wait')} for you ('steward outbox')"))
    questions = session.exec(
        select(func.count()).where(col(Question.status) == QuestionStatus.OPEN)
    ).one()
    if questions:
        found.append(ok(f"{counted(questions, 'question', 'wait')} for you ('steward questions')"))
    unrun = session.exec(
        select(func.count()).where(
            col(Cause.status) == CauseStatus.QUEUED, col(Cause.for_process).is_(None)
        )
    ).one()
    if unrun:
        text = f"{counted(unrun, 'cause', 'wait')} to run, such as answers and rejections"
        found.append(ok(f"{text} ('steward up' carries out what waits)"))
    dead = _causes_of_the_dead(session)
    if dead:
        text = f"{counted(dead, 'run', 'belong')} to a process that has ended"
        found.append(warn(text, "run 'steward chat' or 'steward run' in their session to go on"))
    return found


def _count_drafts(session: Session, status: DraftStatus) -> int:
    return session.exec(select(func.count()).where(col(Draft.status) == status)).one()


def _causes_of_the_dead(session: Session) -> int:
    unfinished = (CauseStatus.QUEUED, CauseStatus.CLAIMED)
    causes = session.exec(
        select(Cause).where(col(Cause.status).in_(unfinished)).limit(_LOOKED_AT)
    ).all()
    holders = [cause.owner or cause.for_process for cause in causes]
    return sum(1 for holder in holders if holder is not None and is_surely_dead(holder))


CHECKS = (Check(name="waiting", run=check_waiting),)
