"""`steward questions`: what a run could not decide, and the answer that lets it go on."""

import argparse
import asyncio
import sys
from collections.abc import Mapping
from typing import Any

from bot.cli.asking import ask_yes, is_present, needs_owner
from bot.cli.exit_codes import DONE, ERROR
from bot.cli.output import bold, dim, loud, plain, print_json, say, table
from bot.cli.run import exit_code, tell_report
from bot.cli.running import posture, stoppable, tell_at_start, terminal_door
from bot.cli.watch import Silent, Watching
from bot.cli.words import tell_more
from bot.commands.questions import (
    Answered,
    abandon_question,
    answer_question,
    list_questions,
    resume,
    show_question,
)
from bot.errors import UsageProblem
from bot.wiring import House, open_house
from outbox import options as choices
from outbox import questions
from outbox.tables import Question
from outbox.visible import block, visible


def execute(args: argparse.Namespace) -> int:
    """Do what the action says."""
    house = open_house()
    match args.action:
        case "show":
            return _show(house, args)
        case "answer":
            return _answer(house, args)
        case "abandon":
            row, _ = show_question(house, args.id)
            return _go_on(house, args, abandon_question(house, row.id, via="cli"))
        case _:
            return _list(house, args)


def _list(house: House, args: argparse.Namespace) -> int:
    rows = list_questions(house, every=args.all, limit=args.limit, after=args.after)
    if args.json:
        print_json(rows)
    elif not rows:
        print("no question" if args.all else "no open question")
    else:
        cells = [
            (
                row["id"],
                row["status"],
                house.short(row["asked_at"]),
                plain(_first_line(row["question"])),
            )
            for row in rows
        ]
        print(table(cells, ("id", "status", "asked", "question")))
        tell_more("questions", rows, args.limit)
    return DONE


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:100]


def _show(house: House, args: argparse.Namespace) -> int:
    row, shown = show_question(house, args.id)
    if args.json:
        print_json(shown)
    else:
        _print_question(row, house)
    return DONE


def _print_question(row: Question, house: House) -> None:
    print(bold(f"question {row.id}  {row.status.value}"))
    print(dim(f"asked {house.local(row.asked_at)} in session {row.session_id} ({row.surface})"))
    warning = questions.warning(row)
    if warning:
        print(loud(plain(warning)))
    print("\n" + "\n".join(block(row.question)))
    for option in choices.listed(row.options):
        print(f"  {visible(option)}")
    if row.answer is not None and row.answered_at is not None:
        print(f"\nanswered by {row.answered_by} ({row.answered_via}): {plain(row.answer)}")


def _answer(house: House, args: argparse.Namespace) -> int:
    row, _ = show_question(house, args.id)
    text = choices.meant(" ".join(args.text), row.options)
    if questions.needs_confirmation(row):
        _confirm(row, text, house, yes=args.yes)
    answered = answer_question(house, row.id, text, via="cli")
    say(f"answered: {plain(text)}")
    return _go_on(house, args, answered)


def _confirm(row: Question, text: str, house: House, *, yes: bool) -> None:
    """The owner stands behind the answer, having seen whose question it may be."""
    if not is_present():
        what = f"question {row.id} may be a stranger's ('steward questions show {row.id}'); it"
        needs_owner(what, scripts=house.outbox_settings.scripts)
        say(plain(questions.warning(row) or ""))
        return
    if yes:
        return
    _print_question(row, house)
    print(f"\nyour answer: {plain(text)}")
    if not ask_yes("Give this answer? [y/N] "):
        raise UsageProblem(f"not answered; question {row.id} stays open")


def _go_on(house: House, args: argparse.Namespace, answered: Answered) -> int:
    if answered.still_open:
        waiting = ", ".join(answered.still_open)
        say(f"kept; the run goes on when these are answered too: {waiting}")
        return DONE
    if answered.cause_id is None:
        say(f"question {answered.question['id']} is closed; nothing was started")
        return DONE
    return _resume(house, args, answered.cause_id)


def _resume(house: House, args: argparse.Namespace, cause_id: str) -> int:
    tell_at_start(house)
    unattended = getattr(args, "unattended", False)
    as_json = getattr(args, "json", False)
    door = terminal_door("cli", present=False if unattended else None)
    watching = sys.stdout.isatty() and not as_json
    observer = Watching() if watching else Silent()
    how = posture(door, observer, read_only=unattended, model=None)
    stopped: Mapping[str, Any] = {}

    async def work(stop: asyncio.Event) -> Mapping[str, Any]:
        return await resume(house, cause_id, how, stop) or stopped

    report = asyncio.run(stoppable(work))
    if report is stopped:
        say("the answer is kept; the run goes on when its session is free ('steward up')")
        return ERROR
    if as_json:
        print_json(report)
    else:
        tell_report(report, observer, house)
    return exit_code(report)
