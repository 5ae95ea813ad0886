"""The tour's own mailbox: a morning's post of a small joinery, written new for the day it is played.

The messages lie beside this file as data. The first line of each says how many minutes before
`now` it came and whether it was read; in the rest `{{...}}` stands for a date of that day.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from importlib import resources
from pathlib import Path

from bot.tour.maildir import Slot, file_message, make_maildir

ADDRESS = "robin@ashford.example"
DISPLAY_NAME = "Robin Ashford"
CONTACTS = {
    "amara": "amara@okafor-lund.example",
    "ingrid": "ingrid.solheim@harbour-library.example",
    "juergen": "j.muehlbauer@dielenhof.example",
    "priya": "priya@repair-saturday.example",
    "tomas": "tomas@ashford.example",
}

_PLACE = re.compile(rb"\{\{(\w+)(?: (\d))?\}\}")
_ENVELOPE = re.compile(rb"ago (\d+)( seen)?")
_ENGLISH = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_GERMAN = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag")
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleMessage:
    """One message of the sample post, its dates filled in."""

    name: str
    at: datetime
    seen: bool
    raw: bytes


def sample_messages(now: datetime) -> tuple[SampleMessage, ...]:
    """The post of the 27 hours before `now`, by file name; the same `now` gives the same bytes.

    `now` is aware; its zone is the one the dates are written in.
    """
    files = resources.files("bot.tour").joinpath("messages").iterdir()
    sources = sorted((file.name, file.read_bytes()) for file in files if file.name.endswith(".eml"))
    return tuple(_fill(name.removesuffix(".eml"), source, now) for name, source in sources)


def write_mailbox(folder: Path, *, now: datetime) -> int:
    """How many messages now lie in the Maildir `folder`, which must be new or empty.

    Raises: FileExistsError when the same post was written there before, OSError.
    """
    make_maildir(folder)
    messages = sample_messages(now)
    for message in messages:
        slot = Slot(
            name=f"{int(message.at.timestamp())}.{message.name}.steward",
            flags="S" if message.seen else "",
            at=message.at,
        )
        file_message(folder, slot, [message.raw])
    return len(messages)


def _fill(name: str, source: bytes, now: datetime) -> SampleMessage:
    envelope, _, message = source.partition(b"\n")
    facts = _ENVELOPE.fullmatch(envelope)
    assert facts is not None, f"{name}: the first line says when it came"
    ago = timedelta(minutes=int(facts[1]))
    at = (now.astimezone(UTC) - ago).replace(second=0, microsecond=0).astimezone(now.tzinfo)
    fixed = {b"date": format_datetime(at), b"stamp": f"{now:%Y%m%d%H%M%S}"}

    def value(match: re.Match[bytes]) -> bytes:
        return _value(match, fixed, now.date()).encode("ascii")

    return SampleMessage(
        name=name, at=at, seen=facts[2] is not None, raw=_PLACE.sub(value, message)
    )


def _value(match: re.Match[bytes], fixed: Mapping[bytes, str], today: date) -> str:
    if match[1] in fixed:
        return fixed[match[1]]
    day = _workday_after(today, int(match[2]))
    if match[1] == b"workday":
        return f"{_ENGLISH[day.weekday()]} {day.day} {_MONTHS[day.month - 1]}"
    assert match[1] == b"werktag", match[1]
    return f"{_GERMAN[day.weekday()]}, {day.day}.{day.month}."


def _workday_after(today: date, count: int) -> date:
    """The `count`th day from Monday to Friday after today."""
    day = today
    while count:
        day += timedelta(days=1)
        count -= day.weekday() < 5
    return day
