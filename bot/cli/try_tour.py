"""`steward try`: the guided tour, on a home and a mailbox of its own."""

import argparse
import asyncio
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.cli.asking import is_present
from bot.cli.exit_codes import DONE, ERROR, INTERRUPTED
from bot.cli.output import bold, plain, print_json
from bot.cli.tour_person import Person
from bot.cli.words import ADDRESS
from bot.home import HOME_VARIABLE, Home, expand_user
from bot.settings import machine_timezone
from bot.tour.home import (
    BRIEFING_PROMPT,
    REHEARSAL,
    UNKNOWN_OWNER,
    MadeHome,
    TourMarker,
    Wishes,
    make_home,
    read_marker,
    tour_home,
    write_marker,
)
from bot.tour.lock import playing_in
from bot.tour.script import Played, Waiting, next_commands, play
from bot.tour.servers import USUAL_PORTS, ModelServer, seen_servers

PAGE = 200
_MAIL_LOOKS = frozenset({"mail_recent", "mail_search", "mail_get_thread"})


def execute(args: argparse.Namespace) -> int:
    """Play it; what the person approves is sent to the server inside the tour and nowhere else."""
    home = tour_home(os.environ)
    person = Person(present=is_present() and not args.yes and not args.json, silent=args.json)
    with _home_named(home), playing_in(home):
        try:
            return _Tour(home, args, person).run()
        except KeyboardInterrupt:
            print(f"\nStopped. Go on with: {_shown(home, ('try',))}", file=sys.stderr)
            return INTERRUPTED


class _Tour:
    """One go of the tour."""

    def __init__(self, home: Home, args: argparse.Namespace, person: Person) -> None:
        self._home = home
        self._args = args
        self._person = person
        self._stage = _Stage(home, silent=args.json)

    def run(self) -> int:
        """Make or find the home, play, and say how to go on."""
        source = self._source()
        former = read_marker(self._home)
        earlier = self._earlier(former, source)
        if earlier is None:
            made = self._make(source)
            marker = made.marker
        else:
            assert former is not None
            marker = former
            self._person.say(
                f"An earlier tour waits in {self._home.root}; it goes on where it stopped. "
                "(For a fresh one decide what waits, or set STEWARD_HOME to another folder.)"
            )
        played = play(self._stage, self._person, earlier=earlier)
        if played.problem is None:
            marker = marker.model_copy(update={"session": played.session})
            write_marker(self._home, marker)
        self._close(marker, played)
        return DONE if played.problem is None else ERROR

    def _source(self) -> Path | None:
        if self._args.mailbox is None:
            return None
        return expand_user(self._args.mailbox, os.environ).absolute()

    def _earlier(self, former: TourMarker | None, source: Path | None) -> str | None:
        """The session of an earlier play on the same mailbox of which something still waits."""
        if former is None or former.session is None:
            return None
        if former.source != (str(source) if source else None):
            return None
        waiting = self._stage.waiting(former.session)
        return former.session if waiting.drafts or waiting.questions else None

    def _make(self, source: Path | None) -> MadeHome:
        self._person.headline(
            "A tour of steward: it reads everything and sends nothing until you say so."
        )
        server = self._server()
        wishes = Wishes(
            source=source,
            address=self._args.address,
            ask_address=self._ask_address,
            server=server,
            timezone=machine_timezone(os.environ),
        )
        made = make_home(self._home, wishes, now=datetime.now(UTC))
        self._introduce(made, server)
        return made

    def _server(self) -> ModelServer | None:
        """The model server that the person wants used, if any; none is used unasked."""
        has_key = bool(os.environ.get("OPENAI_API_KEY"))
        ports = self._args.port or USUAL_PORTS
        seen = asyncio.run(seen_servers(has_openai_key=has_key, ports=ports))
        for server in seen:
            warning = " The mail of this tour would be sent there." if server.leaves_machine else ""
            if self._person.wants(f"There is a model: {server}.{warning} Shall it be used?"):
                return server
        if seen and not self._person.present:
            self._person.say("\n".join(map(_offered, seen)))
        return None

    def _ask_address(self) -> str:
        """The owner's address, where the mailbox does not tell and somebody is there to ask."""
        if self._person.present:
            self._person.say("No message in that mailbox names a recipient.")
        while typed := self._person.type_in("Your address (or Enter to go on without):"):
            if ADDRESS.fullmatch(typed):
                return typed
            self._person.say(f"{typed} is no address such as you@example.org.")
        return ""

    def _introduce(self, made: MadeHome, server: ModelServer | None) -> None:
        tell = self._person.say
        tell(f"Home:    {self._home.root}\nMailbox: {_mailbox_line(made)}")
        if server is None:
            tell(
                "Model:   none. A rehearsal plays its part: a fixed script that calls the real tools "
                "and quotes what it reads."
            )
        else:
            tell(f"Model:   {server}")
        if made.kept_config is not None:
            tell(f"You had edited config.toml; your version is kept as {made.kept_config}.")

    def _close(self, marker: TourMarker, played: Played) -> None:
        commands = next_commands(played.waiting)
        if self._args.json:
            print_json(self._document(marker, played, commands))
            return
        tell = self._person.say
        drafts, questions = len(played.waiting.drafts), len(played.waiting.questions)
        others = played.waiting.others
        besides = f" (and {others} more from before this tour)" if others else ""
        tell(
            f"So far: {drafts} draft{'s' * (drafts != 1)} and {questions} "
            f"question{'s' * (questions != 1)} wait for you{besides}.\n"
            f"{_who_answered(marker)}"
        )
        tell("Go on with the ordinary commands. First paste this line into your shell, once:")
        print(f"\n  {_export(self._home)}")
        tell("Then these, and every command that steward names in a hint, work as typed:")
        print("\n" + "\n".join(f"  steward {plain(shlex.join(words))}" for words in commands))
        tell(
            f"Everything lies in {self._home.root}; what is approved is filed in "
            f"{self._home.root / 'sent'} and goes nowhere else."
        )

    def _document(
        self, marker: TourMarker, played: Played, commands: Sequence[Sequence[str]]
    ) -> Mapping[str, Any]:
        return {
            "home": str(self._home.root),
            "mailbox": str(self._home.root / marker.mailbox),
            "address": marker.address,
            "model": marker.model,
            "session": marker.session,
            "answer": played.report["answer"] if played.report else None,
            "drafts": [draft["id"] for draft in played.waiting.drafts],
            "questions": [question["id"] for question in played.waiting.questions],
            "problem": played.problem,
            "commands": [_shown(self._home, words) for words in commands],
        }


class _Stage:
    """bot.tour.script.Stage on the tour's home, through the ordinary commands."""

    def __init__(self, home: Home, *, silent: bool) -> None:
        self._home = home
        self._silent = silent

    def brief(self) -> Mapping[str, Any]:
        """Run the briefing with nobody at the door, so that what it asks is kept."""
        from bot.cli.running import posture, stoppable
        from bot.cli.watch import Silent, Watching
        from bot.commands.run import RunRequest, run_prompt
        from bot.wiring import open_house
        from outbox.approval import NobodyDoor
        from outbox.journal import Origin, Span

        house = open_house()
        prompt = Span(seq=0, origin=Origin.CONFIGURED, text=BRIEFING_PROMPT, source="steward try")
        request = RunRequest(spans=[prompt], producer="run")
        observer = Watching() if sys.stdout.isatty() and not self._silent else Silent()
        how = posture(NobodyDoor("try"), observer, read_only=False, model=None)
        report = asyncio.run(stoppable(lambda stop: run_prompt(house, request, how, stop)))
        if isinstance(observer, Watching):
            observer.end_line()
        elif not self._silent:
            print(f"\n{plain(report['answer'])}")
        if report["stop_cause"] == "cancelled":
            raise KeyboardInterrupt
        return report

    def command(self, *words: str) -> None:
        """The command as the person would type it, then what it prints."""
        if self._silent:
            return
        from bot.cli.main import main

        _print_typed(words)
        if main(words) == INTERRUPTED:
            raise KeyboardInterrupt

    def look(self, draft_id: str) -> None:
        """One draft as `outbox show` prints it; nothing invites to release what nobody asked for."""
        if self._silent:
            return
        from bot.cli.review_text import print_review
        from bot.commands.outbox import show_draft
        from bot.wiring import open_house

        _print_typed(("outbox", "show", draft_id))
        print_review(show_draft(open_house(), draft_id))

    def waiting(self, session: str) -> Waiting:
        """What waits of this session, the oldest first, and how much else does."""
        from bot.commands.outbox import list_drafts
        from bot.commands.questions import list_questions
        from bot.wiring import open_house
        from outbox.tables import DraftStatus

        house = open_house()
        drafts = list_drafts(house, status=DraftStatus.PENDING, limit=PAGE, after=None)
        questions = list_questions(house, every=False, limit=PAGE, after=None)
        mine = [draft for draft in reversed(drafts) if draft["session"] == session]
        asked = [question for question in reversed(questions) if question["session"] == session]
        others = len(drafts) + len(questions) - len(mine) - len(asked)
        return Waiting(drafts=mine, questions=asked, others=others)

    def unread(self, session: str) -> str | None:
        """The first line of the last failed look, where every look into the mailbox failed."""
        from bot.commands.sessions import show_session
        from bot.wiring import open_house

        looks = [
            event
            for event in show_session(open_house(), session)["events"]
            if event["kind"] == "result" and event["tool"] in _MAIL_LOOKS
        ]
        if not looks or not all(look["is_error"] for look in looks):
            return None
        return str(looks[-1]["text"]).strip().partition("\n")[0]


def _print_typed(words: Sequence[str]) -> None:
    print("\n" + bold(plain(f"$ steward {shlex.join(words)}")), flush=True)


@contextmanager
def _home_named(home: Home) -> Iterator[None]:
    """While inside, every command of this process works on the tour's home."""
    before = os.environ.get(HOME_VARIABLE)
    os.environ[HOME_VARIABLE] = str(home.root)
    try:
        yield
    finally:
        if before is None:
            del os.environ[HOME_VARIABLE]
        else:
            os.environ[HOME_VARIABLE] = before


def _mailbox_line(made: MadeHome) -> str:
    copied = made.copied
    if copied is None:
        return f"{made.messages} sample messages to {made.marker.address}, written just now"
    notes = [f"{copied.skipped} could not be read"] if copied.skipped else []
    notes += [f"{copied.older} older ones were left out"] if copied.older else []
    rest = f" ({'; '.join(notes)})" if notes else ""
    return (
        f"a copy of {made.marker.source}, a {copied.kind}: {copied.messages} "
        f"message{'s' * (copied.messages != 1)}{rest}. {_whose(made.marker.address)}"
    )


def _whose(address: str) -> str:
    if address == UNKNOWN_OWNER:
        return (
            "No message there names a recipient, so steward does not know your address: drafts are "
            f"written as from {address}, which cannot exist. Name yours with --address YOU@HOST."
        )
    return f"Your address there is taken to be {address}; --address says otherwise."


def _offered(server: ModelServer) -> str:
    where = (
        "OPENAI_API_KEY is set"
        if server.leaves_machine
        else f"A model server answers at {server.base_url} ({server.model})"
    )
    return f"{where}; without --yes, at a terminal, the tour offers it."


def _who_answered(marker: TourMarker) -> str:
    if marker.model == REHEARSAL:
        return "The rehearsal gave the briefing; no model was used."
    return f"The model {marker.model} gave the briefing."


def _export(home: Home) -> str:
    """The shell line after which a plain `steward` is this one, on the tour's home."""
    named = f"export {HOME_VARIABLE}={shlex.quote(str(home.root))}"
    return f'{named} PATH={shlex.quote(str(_program().parent))}:"$PATH"'


def _shown(home: Home, words: Sequence[str]) -> str:
    """A command line that works when pasted anywhere, and from any directory."""
    named = f"{HOME_VARIABLE}={shlex.quote(str(home.root))}"
    return f"{named} {shlex.quote(str(_program()))} {shlex.join(words)}"


def _program() -> Path:
    """Where this very steward lies: what was started, else beside the interpreter that runs it."""
    started = Path(sys.argv[0])
    return (
        started.absolute()
        if started.name == "steward"
        else Path(sys.executable).with_name("steward")
    )
