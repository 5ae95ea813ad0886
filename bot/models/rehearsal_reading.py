"""Pure. What the rehearsal makes of a letter's words: what is asked, which times are offered.

Why: no model reads here, so these are plain patterns. They quote what stands there, word for word,
and find nothing rather than guess.
"""

import re
from dataclasses import dataclass

TEXT_READ = 20_000  # characters of one letter that are looked at

_QUOTED = re.compile(r"^\s*[>|]")
_CUT = re.compile(
    r"^(-- ?|_{10,}|-+ ?(original message|forwarded message|ursprüngliche nachricht) ?-+"
    r"|on .{6,120} wrote:|am .{6,120} schrieb.{0,120}:|le .{6,120} a écrit ?:"
    r"|(from|von|de): .+)$",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"(?:^|(?<=[.!?:;？。])\s|(?<=\d\.)\s)([^.!?？。]{2,240}[?？])(?=[\s\"')\]”»]|$)"
)
_ASKING = re.compile(
    r"\b(could you|can you|would you|will you|please (?:let|confirm|send|tell|reply|answer|call)"
    r"|let (?:me|us) know|get back to (?:me|us)|do you|are you|r\.?s\.?v\.?p"
    r"|können sie|könnten sie|kannst du|könntest du|bitte|sagen sie|pouvez-vous|pourriez-vous"
    r"|puedes?|podrías?|kan du|kunne du)\b",
    re.IGNORECASE,
)
_MEETING = re.compile(
    r"\b(meet|meeting|call|appointment|visit|lunch|coffee|interview|available|suits?"
    r"|termin|treffen|besprechung|réunion|rendez-vous|reunión|møte)\b",
    re.IGNORECASE,
)
_DAY = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|montag|dienstag|mittwoch|donnerstag|freitag"
    r"|samstag|sonntag|tomorrow|today|morgen|heute"
)
_MONTH = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_OFFER = re.compile(
    rf"\b(?:{_DAY})(?:,? (?:the )?\d{{1,2}}(?:st|nd|rd|th)?\.? ?(?:{_MONTH})?)?"
    rf"(?:,? (?:(?:{_MONTH}) \d{{1,2}}))?,? (?:at |um |@ ?)?"
    r"(?:\d{1,2}[:.]\d\d(?: ?[ap]\.?m\b\.?)?|\d{1,2} ?[ap]\.?m\b\.?|\d{1,2} ?uhr)",
    re.IGNORECASE,
)
_TO_A_MACHINE = re.compile(
    r"\b(assistant|a\.?i\.?|language model|chatbot|agent|bot)\b"
    r"|ignore (?:all|any|the|your|previous)",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\b(forward|send|e-?mail|transmit|copy)\b(?P<what>[^@]{0,300}?)\bto:?\s+<?"
    r"(?P<to>[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)>?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An instruction to a machine that stood in a letter: send something to an address."""

    to: str
    words: str


def own_words(text: str) -> str:
    """The writer's own lines: no quotation, nothing under a signature or a forwarded header."""
    lines: list[str] = []
    for line in text[:TEXT_READ].splitlines():
        if _CUT.match(line.strip()) and any(kept.strip() for kept in lines):
            break
        if not _QUOTED.match(line):
            lines.append(line.rstrip())
    return "\n".join(lines).strip()


def questions(text: str) -> tuple[str, ...]:
    """The questions in a writer's own words, word for word, white space made single, at most five."""
    found: list[str] = []
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:\d+[.)]|[-*•])\s)", own_words(text)):
        line = " ".join(paragraph.split())
        found.extend(match.strip() for match in _QUESTION.findall(line))
    return tuple(dict.fromkeys(_without_number(each) for each in found))[:5]


def requests(text: str) -> tuple[str, ...]:
    """Sentences that ask for something without a question mark, at most three."""
    words = " ".join(own_words(text).split())
    sentences = re.split(r"(?<=[.!?])\s+", words)
    return tuple(each for each in sentences if _ASKING.search(each) and len(each) < 300)[:3]


def offered_times(text: str) -> tuple[str, ...]:
    """The times a letter offers for a meeting, as written, each once, at most four."""
    words = own_words(text)
    if not _MEETING.search(words):
        return ()
    found = [" ".join(match[0].split()) for match in _OFFER.finditer(" ".join(words.split()))]
    return tuple(dict.fromkeys(found))[:4]


def orders(text: str) -> tuple[Order, ...]:
    """What a letter tells a machine to send somewhere, at most one of each address."""
    found: dict[str, Order] = {}
    for paragraph in re.split(r"\n\s*\n", own_words(text)):
        words = " ".join(paragraph.split())
        if _TO_A_MACHINE.search(words):
            for match in _ORDER.finditer(words):
                to = match["to"].rstrip(".")
                found.setdefault(to, Order(to=to, words=_sentence_at(words, match.start())))
    return tuple(found.values())[:2]


def _without_number(question: str) -> str:
    return re.sub(r"^(?:\d+[.)]|[-*•])\s*", "", question)


def _sentence_at(words: str, position: int) -> str:
    """The sentence that begins at or before this position, as far as 200 characters."""
    before = max(words.rfind(mark, 0, position) for mark in (". ", "! ", "? "))
    after = re.compile(r"[.!?](?:\s|$)").search(words, position)
    return words[before + 2 if before >= 0 else 0 : after.end() if after else None].strip()[:200]
