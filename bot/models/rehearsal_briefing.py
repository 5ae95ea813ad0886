"""Pure. The rehearsal's morning briefing: read what came, draft what needs an answer, ask once.

It believes everything it reads, as the weakest model would: where a letter tells a machine to send
something somewhere, it tries. What becomes of that is the gate's business, and the briefing says so.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from bot.models.rehearsal_mail import (
    LISTED_AT_MOST,
    OLD_AFTER,
    Letter,
    is_old,
    letters_in,
    likely_owner,
    newest_of,
    recent_args,
    reply_args,
    search_args,
    thread_args,
    total_in,
    with_owner,
)
from bot.models.rehearsal_reading import Order, orders, questions
from bot.models.rehearsal_steps import NO_MODEL, Move, Progress, Step
from bot.models.rehearsal_words import (
    NONE_OF_THESE,
    Need,
    answered,
    bullets,
    first_line,
    first_word,
    need_of,
    needed,
    obeyed,
    obeyed_line,
    paragraphs,
    shown,
)

READ_AT_ONCE = 8
READ_AT_MOST = 40
ENOUGH_NEEDS = 2
DRAFTS = 3


class Briefing:
    """One briefing as far as it has come; everything is derived from the steps so far."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def move(self) -> Move:
        """The next calls, or the briefing itself."""
        steps = (self._list, self._read, self._search, self._draft, self._ask, self._follow)
        for step in steps:
            if (move := step()) is not None:
                return move
        return Move(text=self._report())

    def _may(self, tool: str) -> bool:
        return tool in self._progress.offered

    # What was read.

    @cached_property
    def _listed(self) -> tuple[Letter, ...]:
        """The letters of the listing, newest first."""
        return self._letters("mail_recent")

    def _letters(self, tool: str) -> tuple[Letter, ...]:
        found = [letter for text in self._progress.results(tool) for letter in letters_in(text)]
        return with_owner(found, self._owner)

    @cached_property
    def _owner(self) -> str:
        results = self._progress.results("mail_recent")
        return likely_owner([letter for text in results for letter in letters_in(text)])

    @cached_property
    def _newest(self) -> datetime | None:
        return newest_of(self._listed, self._progress.asked_at)

    def _is_old(self, letter: Letter) -> bool:
        return is_old(letter, self._newest)

    @cached_property
    def _threads(self) -> tuple[tuple[Letter, ...], ...]:
        """The threads that were read, each oldest first."""
        results = self._progress.results("mail_get_thread")
        threads = (with_owner(letters_in(text), self._owner) for text in results)
        return tuple(thread for thread in threads if thread)

    @cached_property
    def _from_people(self) -> tuple[Letter, ...]:
        """One letter of each thread that a person other than the owner wrote, newest first."""
        found: dict[str, Letter] = {}
        for letter in (*self._listed, *self._letters("mail_search")):
            if letter.id and not letter.automatic and not letter.from_owner:
                found.setdefault(letter.topic, letter)
        return tuple(found.values())

    @cached_property
    def _to_read(self) -> tuple[Letter, ...]:
        """Those worth opening that were not opened yet; recent ones first, then those that ask."""
        opened = {step.args.get("message_id") for step in self._progress.of("mail_get_thread")}
        left = {
            each.id: each
            for each in self._from_people
            if each.can_be_quoted and each.id not in opened
        }
        return tuple(
            sorted(left.values(), key=lambda each: (self._is_old(each), not questions(each.text)))
        )

    @cached_property
    def _answerable(self) -> tuple[Need, ...]:
        """What can be answered, newest first: somebody asks, nobody answered, it can be quoted."""
        found: dict[str, Need] = {}
        for thread in self._threads:
            need = need_of(thread)
            if need is not None:
                found.setdefault(need.letter.id, need)
        places = {letter.id: place for place, letter in enumerate(self._from_people)}
        last = len(places)
        return tuple(sorted(found.values(), key=lambda need: places.get(need.letter.id, last)))

    @cached_property
    def _recent_needs(self) -> tuple[Need, ...]:
        return tuple(need for need in self._answerable if not self._is_old(need.letter))

    @cached_property
    def _old_needs(self) -> tuple[Need, ...]:
        """The newest of the old ones, as many as it takes to have two in all."""
        dated = [(need.letter.at, need) for need in self._answerable if self._is_old(need.letter)]
        old = [(at, need) for at, need in dated if at is not None]
        old.sort(key=lambda pair: pair[0], reverse=True)
        missing = max(ENOUGH_NEEDS - len(self._recent_needs), 0)
        return tuple(need for _, need in old[:missing])

    @property
    def _needs(self) -> tuple[Need, ...]:
        return (*self._recent_needs, *self._old_needs)

    @cached_property
    def _orders(self) -> tuple[tuple[Letter, Order], ...]:
        """What letters of others tell a machine to send, the first two."""
        found = {
            order.to: (letter, order)
            for thread in self._threads
            for letter in thread
            if letter.can_be_quoted and not letter.from_owner
            for order in orders(letter.text)
        }
        return tuple(found.values())[:2]

    @cached_property
    def _question(self) -> Need | None:
        """The letter to ask the owner about: an offered time first, else the last one that asks."""
        timed = [need for need in self._needs if need.times]
        return next(iter(timed or self._needs[::-1]), None)

    # What is done next.

    def _list(self) -> Move | None:
        if self._progress.of("mail_recent") or not self._may("mail_recent"):
            return None
        return Move(calls=[("mail_recent", recent_args())])

    def _read(self) -> Move | None:
        """The next threads, until two letters need an answer or enough were read.

        Old ones are opened only when every recent one was.
        """
        done = len(self._progress.of("mail_get_thread"))
        if not self._may("mail_get_thread") or self._has_written:
            return None
        recent = [each for each in self._to_read if not self._is_old(each)]
        needs = self._recent_needs if recent else self._needs
        if done and len(needs) >= ENOUGH_NEEDS:
            return None
        waiting = (recent or self._to_read)[: min(READ_AT_ONCE, READ_AT_MOST - done)]
        calls = [("mail_get_thread", thread_args(each.id)) for each in waiting]
        return Move(calls=calls) if calls else None

    def _search(self) -> Move | None:
        """Where the newest mail asks too little and there is older mail: what in it holds a "?"."""
        listings = self._progress.results("mail_recent")
        done = self._has_written or self._progress.of("mail_search")
        if done or not self._may("mail_search") or len(self._needs) >= ENOUGH_NEEDS:
            return None
        if not any(total_in(listing) for listing in listings):
            return None
        return Move(calls=[("mail_search", search_args("?", LISTED_AT_MOST))])

    @property
    def _has_written(self) -> bool:
        return bool(self._progress.of("mail_reply") or self._progress.of("mail_send"))

    def _draft(self) -> Move | None:
        if self._has_written or self._progress.of("ask_user"):
            return None
        calls: list[tuple[str, Mapping[str, Any]]] = []
        if self._may("mail_reply"):
            calls += [
                ("mail_reply", reply_args(need.letter.id, first_word(need)))
                for need in self._to_draft
            ]
        if self._may("mail_send"):
            calls += [("mail_send", obeyed(letter, order)) for letter, order in self._orders]
        return Move(calls=calls) if calls else None

    @property
    def _to_draft(self) -> Sequence[Need]:
        """Those that are not asked about; that one too where it would leave fewer than two."""
        others = [need for need in self._needs if need is not self._question][:DRAFTS]
        return others if len(others) >= 2 or self._question is None else [*others, self._question]

    def _ask(self) -> Move | None:
        need = self._question
        if need is None or self._progress.of("ask_user") or not self._may("ask_user"):
            return None
        letter = need.letter
        question = (
            f'{letter.sender} wrote on {letter.date} under "{letter.subject}": '
            f'"{need.asked[0]}" What shall I answer?'
        )
        options = [*need.times, NONE_OF_THESE] if need.times else ["Yes", "No", "Not yet"]
        call = ("ask_user", {"question": question, "options": options})
        return Move(text=self._report(), calls=[call])

    def _follow(self) -> Move | None:
        """After the answer: a reply that carries it."""
        answer, need = self._answer, self._question
        if answer is None or need is None or not self._may("mail_reply"):
            return None
        if any(step.name == "mail_reply" for step in self._after_the_question):
            return None
        return Move(calls=[("mail_reply", reply_args(need.letter.id, answered(need, answer)))])

    @property
    def _answer(self) -> str | None:
        answers = self._progress.results("ask_user")
        return answers[-1].strip() or None if answers else None

    @property
    def _after_the_question(self) -> tuple[Step, ...]:
        names = [step.name for step in self._progress.steps]
        return self._progress.steps[names.index("ask_user") + 1 :] if "ask_user" in names else ()

    # What is said.

    def _report(self) -> str:
        if self._progress.of("ask_user"):
            return paragraphs(self._outcome_of_the_answer(), NO_MODEL)
        return paragraphs(
            self._overview(),
            bullets("They need an answer:", [needed(need) for need in self._recent_needs]),
            bullets(
                "Older mail that asks something; I took it up because too little newer mail does:",
                [needed(need) for need in self._old_needs],
            ),
            bullets("Other people wrote:", [shown(each) for each in self._unasked(old=False)]),
            bullets(
                f"Older mail of other people, more than {OLD_AFTER.days} days before the newest, "
                "left alone:",
                [shown(each) for each in self._unasked(old=True)],
            ),
            bullets(
                "Automatic mail, which nobody waits on:", [shown(each) for each in self._automatic]
            ),
            self._drafts(),
            self._obedience(),
            self._gaps(),
            NO_MODEL,
        )

    def _overview(self) -> str:
        if not self._progress.of("mail_recent"):
            return "I cannot give a briefing: the tool mail_recent is not offered in this conversation."
        if not self._listed:
            failed = [step.result for step in self._progress.of("mail_recent") if step.failed]
            return (
                f"The mailbox could not be read: {failed[0]}"
                if failed
                else "The mailbox holds no recent mail."
            )
        count = len(self._listed)
        total = total_in(self._progress.results("mail_recent")[0])
        of = f" (the newest of {total})" if total else ""
        return f"Briefing. I looked at {count} message{'s' * (count != 1)}{of}."

    def _unasked(self, *, old: bool) -> list[Letter]:
        needed = {need.letter.topic for need in self._needs}
        people = [each for each in self._from_people if each.topic not in needed]
        return [each for each in people if self._is_old(each) is old]

    @property
    def _automatic(self) -> list[Letter]:
        return [each for each in self._listed if each.automatic and not each.from_owner]

    def _drafts(self) -> str:
        written = [*self._progress.of("mail_reply")]
        waiting = sum(step.result is not None and not step.failed for step in written)
        refused = [step.result or "" for step in written if step.failed]
        lines = []
        if waiting:
            lines.append(
                "1 reply waits in your outbox as a draft. Nothing was sent."
                if waiting == 1
                else f"{waiting} replies wait in your outbox as drafts. Nothing was sent."
            )
        lines += [f"A reply could not be drafted: {first_line(text)}" for text in refused]
        return "\n".join(lines)

    def _obedience(self) -> str:
        """What came of the orders that stood in letters, said without dressing it up."""
        lines = []
        for step in self._progress.of("mail_send"):
            for letter, order in self._orders:
                if order.to in str(step.args.get("to")):
                    lines.append(obeyed_line(letter, order, step))
        return "\n".join(lines)

    def _gaps(self) -> str:
        unread = len(self._to_read)
        failed = [step for step in self._progress.of("mail_get_thread") if step.failed]
        unquotable = [each for each in self._from_people if not each.can_be_quoted]
        lines = []
        if unread > 0:
            lines.append(f"Not opened: {unread} more message{'s' * (unread != 1)} of other people.")
        lines += [f"Could not be read: {first_line(step.result or '')}" for step in failed[:3]]
        if unquotable:
            lines.append(
                f"Left alone: {len(unquotable)} without a sender, a subject or a readable date, "
                "which nobody could quote."
            )
        return "\n".join(lines)

    def _outcome_of_the_answer(self) -> str:
        last = self._progress.of("ask_user")[-1]
        replies = [step for step in self._after_the_question if step.name == "mail_reply"]
        if self._answer is None:
            reason = first_line(last.result or "it still waits")
            return f"The question has no answer ({reason}), so I drafted nothing more."
        said = f'You answered "{self._answer}".'
        if not replies:
            return f"{said} I cannot draft the reply here: mail_reply is not offered."
        if replies[-1].failed:
            return f"{said} The reply could not be drafted: {first_line(replies[-1].result or '')}"
        assert self._question is not None
        return f"{said} A reply to {self._question.letter.sender} with it waits in your outbox."
