"""`steward try`: the guided tour, on a home and a mailbox of its own."""

import argparse
import asyncio
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bot.cli.asking import ask_line, is_present, is_yes
from bot.cli.exit_codes import DONE, ERROR, INTERRUPTED
from bot.cli.output import bold, dim, plain, print_json
from bot.home import HOME_VARIABLE, Home, expand_user
from bot.settings import machine_timezone
from bot.tour.home import (
    BRIEFING_PROMPT,
    MadeHome,
    TourMarker,
    Wishes,
    make_home,
    read_marker,
    tour_home,
    write_marker,
)
from bot.tour.script import Played, Waiting, next_commands, play
from bot.tour.servers import ModelServer, seen_servers

PAGE = 200


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the words."""
    parser.add_argument("--yes", action="store_true", help="play it through without any input")
    parser.add_argument(
        "--mailbox",
        metavar="DIR",
        help="play it on a copy of this Maildir, mbox file or folder of .eml files",
    )
    parser.add_argument("--address", help="your address in that mailbox, if the tour guesses wrong")
    parser.add_argument("--json", action="store_true", help="print one JSON document, nothing else")


def execute(args: argparse.Namespace) -> int:
    """Play it; what the person approves is sent to the server inside the tour and nowhere else."""
    home = tour_home(os.environ)
    person = Person(present=is_present() and not args.yes and not args.json, silent=args.json)
    with _home_named(home):
        try:
            return _Tour(home, args, person).run()
        except KeyboardInterrupt:
            print(f"\nStopped. Go on with: {_shown(home, ('try',))}", file=sys.stderr)
            return INTERRUPTED


class Person:
    """bot.tour.script.Person on this terminal. After the end of input nobody is there any more."""

    def __init__(self, *, present: bool, silent: bool) -> None:
        self.present = present
        self._silent = silent

    def say(self, text: str) -> None:
        """A paragraph, unless only JSON is wanted."""
        if not self._silent:
            print(f"\n{plain(text)}", flush=True)

    def wants(self, question: str) -> bool:
        """A clear yes; plain Enter is no."""
        return is_yes(self._line(f"\n{plain(question)} [y/N] "))

    def pause(self) -> None:
        """Enter goes on."""
        self._line(dim("(Enter) "))

    def type_in(self, prompt: str) -> str:
        """One line."""
        return self._line(prompt).strip()

    def _line(self, prompt: str) -> str:
        if not self.present:
            return ""
        line = ask_line(prompt)
        if line is None:
            self.present = False
        return line or ""


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
        failed = played.report is not None and bool(played.report.get("error"))
        if not failed:
            marker = marker.model_copy(update={"session": played.session})
            write_marker(self._home, marker)
        self._close(marker, played)
        return ERROR if failed else DONE

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
        self._person.say(
            bold("A tour of steward: it reads everything and sends nothing until you say so.")
        )
        server = self._server()
        wishes = Wishes(source=source, address=self._args.address, server=server)
        zone = ZoneInfo(machine_timezone(os.environ))
        made = make_home(self._home, wishes, now=datetime.now(UTC).astimezone(zone))
        self._introduce(made, server)
        return made

    def _server(self) -> ModelServer | None:
        """The model server that the person wants used, if any; none is used unasked."""
        seen = asyncio.run(seen_servers(has_openai_key="OPENAI_API_KEY" in os.environ))
        for server in seen:
            warning = " The mail of this tour would be sent there." if server.leaves_machine else ""
            if self._person.wants(f"There is a model: {server}.{warning} Shall it be used?"):
                return server
        if seen and not self._person.present:
            names = ", ".join(map(str, seen))
            self._person.say(f"Seen but not used, because nobody was asked: {names}.")
        return None

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
        commands = [_shown(self._home, words) for words in next_commands(played.waiting)]
        if self._args.json:
            print_json(self._document(marker, played, commands))
            return
        drafts, questions = len(played.waiting.drafts), len(played.waiting.questions)
        others = played.waiting.others
        besides = f" (and {others} more from before this tour)" if others else ""
        self._person.say(
            f"So far: {drafts} draft{'s' * (drafts != 1)} and {questions} "
            f"question{'s' * (questions != 1)} wait for you{besides}. "
            "Go on with the ordinary commands:"
        )
        print("\n" + "\n".join(f"  {command}" for command in commands))
        self._person.say(
            f"Everything lies in {self._home.root}; what is approved is filed in "
            f"{self._home.root / 'sent'} and goes nowhere else."
        )

    def _document(
        self, marker: TourMarker, played: Played, commands: Sequence[str]
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
            "commands": list(commands),
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

        print(bold(f"\n$ steward {shlex.join(words)}"), flush=True)
        if main(words) == INTERRUPTED:
            raise KeyboardInterrupt

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
        f"message{'s' * (copied.messages != 1)}{rest}. "
        f"Yours are taken to be those to {made.marker.address}; --address says otherwise."
    )


def _shown(home: Home, words: Sequence[str]) -> str:
    """A command line that works when pasted, from the current directory."""
    return f"{HOME_VARIABLE}={shlex.quote(str(home.root))} {_program()} {shlex.join(words)}"


def _program() -> str:
    """How this very steward can be called again."""
    started = Path(sys.argv[0])
    found = shutil.which("steward")
    if found is not None and started.name == "steward" and Path(found).samefile(started):
        return "steward"
    return shlex.quote(str(started.absolute())) if started.name == "steward" else "steward"
