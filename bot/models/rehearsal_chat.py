"""Pure. The few things the rehearsal understands in a conversation, each one a short way of steps."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bot.models.rehearsal_mail import (
    Letter,
    letters_in,
    recent_args,
    reply_args,
    search_args,
    send_args,
    thread_args,
)
from bot.models.rehearsal_steps import NO_MODEL, Move, Progress, Step

HELP = """\
I understand these, and nothing else:
- briefing
- what is new
- search WORDS
- read WORDS (the newest message that has them)
- reply to WORDS saying TEXT (a draft; nothing is sent)
- write to ADDRESS saying TEXT (a draft as well)
- ask me QUESTION"""

SHOWN = 10
LETTER_CHARACTERS = 3_000

Way = Callable[[Progress, re.Match[str]], Move]


def chat(progress: Progress) -> Move:
    """The next step of what the owner asked for, or what can be asked for."""
    words = " ".join(progress.words.split())
    for pattern, way in _WAYS:
        if match := pattern.search(words):
            return way(progress, match)
    return _say("I am a rehearsal without a model, so I cannot answer that.", HELP)


def _help(progress: Progress, match: re.Match[str]) -> Move:
    del progress, match
    return _say(HELP)


def _news(progress: Progress, match: re.Match[str]) -> Move:
    del match
    if move := _first_call(progress, "mail_recent", recent_args()):
        return move
    return _say(_listing(progress.steps[0], "The newest messages:"))


def _search(progress: Progress, match: re.Match[str]) -> Move:
    if move := _first_call(progress, "mail_search", search_args(match["words"])):
        return move
    return _say(_listing(progress.steps[0], f'Messages with "{match["words"]}":'))


def _read(progress: Progress, match: re.Match[str]) -> Move:
    if move := _first_call(progress, "mail_search", search_args(match["words"])):
        return move
    letter = _found(progress.steps[0])
    if letter is None:
        return _say(_listing(progress.steps[0], ""))
    if move := _next_call(progress, "mail_get_thread", thread_args(letter.id)):
        return move
    step = progress.steps[1]
    thread = letters_in(step.result or "")
    if step.failed or not thread:
        return _say(f"That message could not be read: {step.result}")
    last = thread[-1]
    earlier = f"(the last of {len(thread)} messages of its thread)" if len(thread) > 1 else ""
    head = f'From {last.sender}, {last.date}, "{last.subject}" {earlier}'.rstrip()
    return _say(head, last.text[:LETTER_CHARACTERS] or "(it has no text)")


def _reply(progress: Progress, match: re.Match[str]) -> Move:
    if move := _first_call(progress, "mail_search", search_args(match["words"])):
        return move
    letter = _found(progress.steps[0])
    if letter is None:
        return _say(_listing(progress.steps[0], ""))
    if move := _next_call(progress, "mail_reply", reply_args(letter.id, match["text"])):
        return move
    return _say(_drafted(progress.steps[1], f'A reply to {letter.sender} ("{letter.subject}")'))


def _write(progress: Progress, match: re.Match[str]) -> Move:
    text = match["text"]
    args = send_args(match["to"], " ".join(text.split()[:8]), text)
    if move := _first_call(progress, "mail_send", args):
        return move
    return _say(_drafted(progress.steps[0], f"A message to {match['to']}"))


def _ask(progress: Progress, match: re.Match[str]) -> Move:
    if move := _first_call(progress, "ask_user", {"question": match["question"]}):
        return move
    step = progress.steps[0]
    return _say(f"No answer: {step.result}" if step.failed else f"You answered: {step.result}")


def _rejected(progress: Progress, match: re.Match[str]) -> Move:
    del match
    return _say(
        "I have read why you rejected it:", progress.words, "I draft nothing new by myself."
    )


def _first_call(progress: Progress, tool: str, args: Mapping[str, Any]) -> Move | None:
    return _call(progress, tool, args) if not progress.steps else None


def _next_call(progress: Progress, tool: str, args: Mapping[str, Any]) -> Move | None:
    return _call(progress, tool, args) if len(progress.steps) == 1 else None


def _call(progress: Progress, tool: str, args: Mapping[str, Any]) -> Move:
    if tool not in progress.offered:
        return _say(f"I cannot do that here: {tool} is not offered in this conversation.")
    return Move(calls=[(tool, args)])


def _found(step: Step) -> Letter | None:
    """The newest message of a search that has an id; None where it failed or found nothing."""
    if step.failed or step.result is None:
        return None
    return next((letter for letter in letters_in(step.result) if letter.id), None)


def _listing(step: Step, title: str) -> str:
    letters = letters_in(step.result or "")
    if step.failed:
        return f"The mailbox could not be read: {step.result}"
    if not letters:
        return "No such message was found."
    lines = [f"- {letter.line}" for letter in letters[:SHOWN]]
    return "\n".join([title, *lines] if title else lines)


def _drafted(step: Step, what: str) -> str:
    if step.failed:
        return f"{what} could not be drafted: {step.result}"
    return f"{what} waits in your outbox as a draft. Nothing was sent."


def _say(*paragraphs: str) -> Move:
    return Move(text="\n\n".join((*paragraphs, NO_MODEL)))


def _way(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_WAYS: Sequence[tuple[re.Pattern[str], Way]] = (
    (_way(r"\bThe owner rejected draft\b"), _rejected),
    (
        _way(r"^(?:please )?reply to (?P<words>.{1,200}?) (?:saying|with|that):? (?P<text>.+)"),
        _reply,
    ),
    (
        _way(
            r"^(?:please )?(?:write|send)(?: a mail)? to (?P<to>\S+@\S+?),? (?:saying|with):? (?P<text>.+)"
        ),
        _write,
    ),
    (_way(r"^(?:please )?ask me:? (?P<question>.+)"), _ask),
    (_way(r"^(?:please )?(?:search|find|look)(?: for)?:? (?P<words>.{1,200})"), _search),
    (_way(r"^(?:please )?(?:read|show|open)(?: me)?:? (?P<words>.{1,200})"), _read),
    (_way(r"\b(?:what(?:'s| is) new|new mail|any news|inbox|recent)\b"), _news),
    (_way(r"^(?:help|\?|what can you do|hello|hi)\b"), _help),
)
