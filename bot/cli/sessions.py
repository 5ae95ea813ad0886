"""`steward sessions`: every conversation, and one of them line by line."""

import argparse
from collections.abc import Mapping
from typing import Any

from bot.cli.exit_codes import DONE
from bot.cli.output import bold, dim, loud, plain, print_json, table
from bot.cli.words import tell_more
from bot.commands.sessions import list_sessions, show_session
from bot.wiring import open_house

TOLD = {"prompt": "you", "steering": "you", "assistant": "agent", "nudge": "steward"}


def execute(args: argparse.Namespace) -> int:
    """List or show."""
    house = open_house()
    if args.action == "show":
        shown = show_session(house, args.id)
        if args.json:
            print_json(shown)
        else:
            _print_session(shown)
        return DONE
    rows = list_sessions(house, limit=args.limit, after=args.after)
    if args.json:
        print_json(rows)
    elif not rows:
        print("no session yet")
    else:
        cells = [
            (r["id"], house.short(r["created_at"]), r["producer"], r["state"], plain(r["title"]))
            for r in rows
        ]
        print(table(cells, ("id", "created", "producer", "state", "title")))
        tell_more("sessions", rows, args.limit)
    return DONE


def _print_session(shown: Mapping[str, Any]) -> None:
    print(bold(plain(f"session {shown['id']}  {shown['title']}")))
    legs = [leg for leg, is_set in shown["taint"].items() if is_set]
    print(f"agent {shown['agent']}, model {shown['model']}, workspace {shown['workspace']}")
    print(loud(f"tainted: {', '.join(legs)}") if legs else "not tainted")
    for event in shown["events"]:
        print(dim(f"\n{event['seq']:>4}  {event['at']}  {event['kind']}"))
        print(plain(_line(event)))


def _line(event: Mapping[str, Any]) -> str:
    match event["kind"]:
        case "assistant":
            calls = [f"→ {call['name']} {call['arguments']}" for call in event["calls"]]
            return "\n".join([event["text"], *calls]).strip()
        case "result":
            return f"{event['tool']}: {event['text']}"
        case "started" | "parked":
            return f"{event['tool']} ({event['call_id']}) {event.get('question_id', '')}".strip()
        case "run-ended":
            return str(event["stop_cause"])
        case kind:
            return f"{TOLD.get(kind, kind)}: {event.get('text', '')}"
