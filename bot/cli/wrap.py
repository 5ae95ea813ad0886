"""Pure. Prose broken between words at a terminal's width, also while it is still streaming in."""

import re
import unicodedata

_TOKEN = re.compile(r"\n|[^\S\n]+|\S+")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CUT_MARK = "…"


def columns(text: str) -> int:
    """How many columns of a terminal the text takes.

    Wide letters take two; combining ones and colours take none.
    """
    text = _COLOUR.sub("", text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def cut(text: str, width: int) -> str:
    """The text in at most `width` columns, its end cut off with a mark."""
    if columns(text) <= width:
        return text
    kept = ""
    for char in text:
        if columns(kept + char) > width - 1:
            break
        kept += char
    return kept + CUT_MARK


class Wrapper:
    """Takes text in pieces and gives it back with line ends where a word would not fit.

    A line that begins with blanks or a list mark is continued under its text. A word is given
    back when its end is known: call `rest` after the last piece.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._word = ""
        self._column = 0
        self._blanks = ""
        self._indent = ""
        self._at_start = True

    def feed(self, piece: str) -> str:
        """What can be printed now."""
        pieces = _TOKEN.findall(self._word + piece)
        self._word = pieces.pop() if pieces and not pieces[-1].isspace() else ""
        return "".join(map(self._place, pieces))

    def rest(self) -> str:
        """What was still held back."""
        word, self._word = self._word, ""
        return self._place(word) if word else ""

    def _place(self, word: str) -> str:
        if word == "\n":
            self._column, self._blanks, self._indent, self._at_start = 0, "", "", True
            return "\n"
        if word.isspace():
            self._blanks += word
            return ""
        return self._place_word(word)

    def _place_word(self, word: str) -> str:
        blanks, self._blanks = self._blanks, ""
        if self._at_start:
            self._indent = blanks + ("  " if word in ("-", "*", "•", "│") else "")
        wide = columns(blanks) + columns(word)
        breaks = not self._at_start and self._column + wide > self._width
        lead = f"\n{self._indent}" if breaks else blanks
        self._column = (columns(self._indent) if breaks else self._column + columns(blanks)) + (
            columns(word)
        )
        self._at_start = False
        return lead + word


def wrapped(text: str, width: int) -> str:
    """The whole text, broken between words."""
    wrapper = Wrapper(width)
    return wrapper.feed(text) + wrapper.rest()
