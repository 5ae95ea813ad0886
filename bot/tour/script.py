"""The tour as it is played: what is said, in which order, and where the person may take part.

It decides nothing about mail or drafts. Each act is the very command the person would type, so
what the tour shows is what steward does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from outbox import options as choices

REPLY = "mail_reply"
UNOWNED = (
    'The marks: a "tainted" draft was written after reading mail of others; an "unowned" one goes to an '
    "address that steward has not found in your own words, your contacts or your sent mail. With a "
    "copied mailbox that is nearly everybody; approving such a draft asks once more."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What waits of one play, as `outbox list --json` and `questions list --json` give it.

    `others`: how many drafts and questions of anything else wait in the same home.
    """

    drafts: Sequence[Mapping[str, Any]]
    questions: Sequence[Mapping[str, Any]]
    others: int = 0


class Stage(Protocol):
    """Where the tour is played. Raises (every act): KeyboardInterrupt when the person stops it."""

    def brief(self) -> Mapping[str, Any]:
        """Run the briefing with nobody present, its answer shown; gives the run's report."""
        ...

    def command(self, *words: str) -> None:
        """Run `steward WORDS` on the tour's home, its output shown under the command itself."""
        ...

    def look(self, draft_id: str) -> None:
        """Show a draft as `steward outbox show` does, without its hint how to release it."""
        ...

    def waiting(self, session: str) -> Waiting:
        """The pending drafts and open questions of this session, the oldest first."""
        ...

    def unread(self, session: str) -> str | None:
        """Why no look into the mailbox succeeded in this session; None where one did or none was tried."""
        ...


class Person(Protocol):
    """Who watches, if anybody does."""

    def say(self, text: str) -> None:
        """A paragraph of the tour."""
        ...

    def wants(self, question: str) -> bool:
        """True for a clear yes; no for Enter, the end of input, or nobody there."""
        ...

    def pause(self) -> None:
        """Wait for Enter where somebody watches."""
        ...

    def type_in(self, prompt: str) -> str:
        """A line the person typed, "" for none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What a play came to. `report` is the briefing's, None where an earlier play was gone on with.

    `problem`: why this was no tour of the mailbox after all.
    """

    session: str
    report: Mapping[str, Any] | None
    waiting: Waiting
    problem: str | None = None


def play(stage: Stage, person: Person, *, earlier: str | None) -> Played:
    """Play the tour; `earlier` is the session of a briefing whose drafts and question still wait."""
    report, session = None, earlier
    if session is None:
        report = _briefing(stage, person)
        session = str(report["session"])
        if problem := _problem(stage, report):
            person.say(problem)
            return Played(
                session=session, report=report, waiting=stage.waiting(session), problem=problem
            )
    waiting = stage.waiting(session)
    _outbox(stage, person, waiting.drafts)
    _question(stage, person, waiting.questions)
    return Played(session=session, report=report, waiting=stage.waiting(session))


def _briefing(stage: Stage, person: Person) -> Mapping[str, Any]:
    person.say("Now the morning briefing runs, as it would while you are still asleep.")
    person.pause()
    return stage.brief()


def _problem(stage: Stage, report: Mapping[str, Any]) -> str | None:
    if report.get("error"):
        return f"The briefing ended early: {report['error']}"
    reason = stage.unread(str(report["session"]))
    return None if reason is None else f"The mailbox could not be read: {reason}"


def _outbox(stage: Stage, person: Person, drafts: Sequence[Mapping[str, Any]]) -> None:
    if not drafts:
        person.say("No draft waits: the briefing drafted nothing.")
        return
    person.say("Nothing was sent. Whatever would leave this machine waits in the outbox:")
    person.pause()
    stage.command("outbox")
    if any(_is_unowned(draft) for draft in _replies(drafts)):
        person.say(UNOWNED)
    for draft in _strange(drafts)[:1]:
        _marked(stage, person, draft)
    for draft in _replies(drafts)[:1]:
        _reply(stage, person, draft)


def _marked(stage: Stage, person: Person, draft: Mapping[str, Any]) -> None:
    person.say(
        "One of them nobody asked for: a letter told the reader to send something to a stranger. Its "
        "recipient stands neither in your words nor in your records, so it is marked, and it can be "
        "released only by name, after it was shown whole."
    )
    person.pause()
    stage.look(draft["id"])


def _reply(stage: Stage, person: Person, draft: Mapping[str, Any]) -> None:
    if person.wants(f"Shall I show one of the replies ({draft['summary']})?"):
        stage.command("outbox", "show", draft["id"])
    if person.wants("Do you want to approve it? It goes to the mail server inside this tour only."):
        stage.command("outbox", "approve", draft["id"])


def _question(stage: Stage, person: Person, questions: Sequence[Mapping[str, Any]]) -> None:
    if not questions:
        return
    question = questions[0]
    person.say("The run could not decide one thing. It asked, ended, and goes on when you answer:")
    person.pause()
    stage.command("questions", "show", question["id"])
    answer = person.type_in(f"Your answer ({_ways_to_answer(question)}, or Enter to leave it):")
    if answer:
        # The question and its warning stand right above, so nothing is asked under them once more.
        words = ("--", answer) if answer.startswith("-") else (answer,)
        stage.command("questions", "answer", question["id"], "--yes", *words)


def _ways_to_answer(question: Mapping[str, Any]) -> str:
    options = question.get("options") or []
    if not options:
        return "your own words"
    if not choices.are_numbered(options):
        return "an option as it stands there, your own words"
    return f"{'1' if len(options) == 1 else f'1-{len(options)}'}, your own words"


def next_commands(waiting: Waiting) -> list[tuple[str, ...]]:
    """The commands to go on with, as words after `steward`."""
    commands: list[tuple[str, ...]] = [("outbox",)]
    for draft in _replies(waiting.drafts)[:1]:
        commands += [("outbox", "show", draft["id"]), ("outbox", "approve", draft["id"])]
    for draft in _strange(waiting.drafts)[:1]:
        commands.append(("outbox", "reject", draft["id"], "--reason", "I know nobody of that name"))
    for question in waiting.questions[:1]:
        answer = (question.get("options") or ["my answer"])[0]
        commands += [("questions",), ("questions", "answer", question["id"], answer)]
    return [*commands, ("chat",)]


def _replies(drafts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [draft for draft in drafts if draft["tool"] == REPLY]


def _strange(drafts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that answer nobody and go to an address the owner never named."""
    return [draft for draft in drafts if draft["tool"] != REPLY and _is_unowned(draft)]


def _is_unowned(draft: Mapping[str, Any]) -> bool:
    return any(mark["code"] == "unowned" for mark in draft["marks"])
