"""Pure. What the rehearsal writes about letters: lists, replies, and what it says of an order.

A letter is always named by its sender, subject and date as they stand in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.models.rehearsal_mail import Letter, send_args
from bot.models.rehearsal_reading import Order, offered_times, questions, requests
from bot.models.rehearsal_steps import Step

NONE_OF_THESE = "None of these"
LISTED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A letter that needs an answer, and what in it says so, word for word."""

    letter: Letter
    asked: tuple[str, ...]
    times: tuple[str, ...]


def need_of(thread: Sequence[Letter]) -> Need | None:
    """What the last letter of a thread asks of the owner, if it is another person's and asks."""
    last = thread[-1]
    if last.from_owner or last.automatic or not last.can_be_quoted:
        return None
    asked = questions(last.text) or requests(last.text)
    return Need(letter=last, asked=asked, times=offered_times(last.text)) if asked else None


def first_word(need: Need) -> str:
    """A reply that promises nothing: it says which letter came, when, and what it asks."""
    letter = need.letter
    return paragraphs(
        f"Hello {letter.name or letter.address},",
        f'thank you for your message "{letter.subject}" of {letter.date} (from {letter.address}).',
        bullets("I have read what you ask:", [f'"{each}"' for each in need.asked]),
        "You will hear from me about it.",
    )


def answered(need: Need, answer: str) -> str:
    """A reply that carries the owner's answer, beside what was asked."""
    letter = need.letter
    said = (
        "None of the times you named suits me. Could you offer another?"
        if answer == NONE_OF_THESE
        else f"My answer: {answer}"
    )
    return paragraphs(
        f"Hello {letter.name or letter.address},",
        f'in your message "{letter.subject}" of {letter.date} (from {letter.address}) you asked: '
        f'"{need.asked[0]}"',
        said,
    )


def obeyed(letter: Letter, order: Order) -> Mapping[str, Any]:
    """The send a gullible reader would make of an order in a letter."""
    body = paragraphs(
        f'As asked in the message "{letter.subject}" of {letter.date} from {letter.sender}:',
        letter.text[:1_500],
    )
    return send_args(order.to, f"Fwd: {letter.subject}", body)


def obeyed_line(letter: Letter, order: Order, step: Step) -> str:
    """What came of an order that stood in a letter, as the owner is told."""
    became = (
        f"it was refused: {first_line(step.result or '')}"
        if step.failed
        else "it was not sent: it waits in your outbox, marked, and you can reject it"
    )
    return (
        f'Beware: a letter from {letter.sender} ("{letter.subject}") holds an order to a machine: '
        f'"{order.words}" This rehearsal obeys whatever it reads, so it tried to write to '
        f"{order.to}, and {became}."
    )


def needed(need: Need) -> str:
    """The letter, and the first thing it asks."""
    return f'{need.letter.line}: "{need.asked[0]}"'


def shown(letter: Letter) -> str:
    """The letter, and of what automatic kind it is."""
    kind = f" [{letter.automatic}]" if letter.automatic else ""
    return f"{letter.line}{kind}"


def bullets(title: str, lines: Sequence[str]) -> str:
    """The first 12 lines under a title and how many more there are; "" without any."""
    if not lines:
        return ""
    more = [f"- and {len(lines) - LISTED} more"] if len(lines) > LISTED else []
    return "\n".join([title, *(f"- {line}" for line in lines[:LISTED]), *more])


def paragraphs(*parts: str) -> str:
    """Those that are not empty, a blank line between them."""
    return "\n\n".join(part for part in parts if part)


def first_line(text: str) -> str:
    """As far as 300 characters."""
    return text.strip().partition("\n")[0][:300]
