"""Pure. Text that may deceive an eye, made visible without losing a character.

Why: a reviewer approves what is displayed, so what is displayed must be what goes out. A character
that cannot be seen is written as its number between brackets, and the bracket itself is written
that way too, so that every display has exactly one original.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby

OPEN, CLOSE = "\u27e6", "\u27e7"  # mathematical white square brackets: rare in mail
GUTTER = "  \u2502 "  # in front of every line that somebody else chose
SPACES_SHOWN = 20  # a longer run of spaces may push words out of sight; it is counted instead
BLANK_LINES_SHOWN = 2

# Default-ignorable code points (Unicode's DerivedCoreProperties) and blanks that pass for nothing.
_UNSEEN_RANGES = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U000e0000-\U000e0fff"
)
_UNSEEN = re.compile(f"[{_UNSEEN_RANGES}]")
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_SPACES = " \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_SUSPECT = re.compile(rf"[{_SPACES}]{{{SPACES_SHOWN + 1},}}|[^\x20-\x7e]")
_EMOJI_STYLE = "\ufe0f"


def without_unseen(text: str) -> str:
    """The text without zero-width, bidirectional and other ignorable characters."""
    return text if text.isascii() else _UNSEEN.sub("", text)


def has_unseen(text: str) -> bool:
    """True if a character in it cannot be seen, a control character or line break included."""
    return any(_is_unseen(char) for char in text)


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) in _UNSEEN_CATEGORIES or _UNSEEN.fullmatch(char) is not None


def visible(text: str) -> str:
    """One line that shows every character: unseen ones as `⟦U+202E⟧`, long runs of spaces counted.

    A tab stays a tab, and an emoji keeps the selector that makes it one. Distinct texts give
    distinct results.
    """

    def shown(match: re.Match[str]) -> str:
        found = match.group()
        if len(found) > 1:
            return _counted(found)
        if found in (OPEN, CLOSE):
            return _number(found)
        before = text[match.start() - 1 : match.start()]
        if found == _EMOJI_STYLE and before and unicodedata.category(before) == "So":
            return found
        return _number(found) if found != "\t" and _is_unseen(found) else found

    return _SUSPECT.sub(shown, text)


def _number(char: str) -> str:
    return f"{OPEN}U+{ord(char):04X}{CLOSE}"


def _counted(run: str) -> str:
    """A run of spaces and tabs as `⟦25 spaces⟧`, each kind in the order it stands."""
    kinds = [(char, len(list(group))) for char, group in groupby(run)]
    return "".join(f"{OPEN}{_amount(char, count)}{CLOSE}" for char, count in kinds)


def _amount(char: str, count: int) -> str:
    name = {" ": "space", "\t": "tab"}.get(char, f"U+{ord(char):04X}")
    return f"{count} {name}{'s' if count > 1 else ''}"


def block(text: str) -> tuple[str, ...]:
    """The lines of a longer text, each behind a gutter; a long run of blank lines becomes its count.

    A line break is the only character that is not escaped; the count stands without a gutter,
    so that no text can imitate it.
    """
    return tuple(_folded([visible(line) for line in text.split("\n")]))


def _folded(lines: Sequence[str]) -> Iterator[str]:
    for blank, group in groupby(lines, key=lambda line: not line.strip()):
        run = list(group)
        if blank and len(run) > BLANK_LINES_SHOWN:
            kind = "blank lines" if not any(run) else "lines of nothing but white space"
            yield f"  {OPEN}{len(run)} {kind}{CLOSE}"
        else:
            yield from (GUTTER + line for line in run)


def punycode_domain(domain: str) -> str:
    """The domain in lower case, each non-ASCII label in its ASCII form (RFC 3492, RFC 5890).

    No label is mapped onto another one: `faß` and `fass` stay two names.
    """
    return ".".join(_ascii_label(label) for label in domain.lower().rstrip(".").split("."))


def _ascii_label(label: str) -> str:
    if label.isascii():
        return label
    try:
        return "xn--" + label.encode("punycode").decode("ascii")
    except UnicodeError:  # a lone surrogate has no encoding; as it stands it equals nothing else
        return label
