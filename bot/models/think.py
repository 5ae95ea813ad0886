"""Pure. Reasoning that a server left inside the answer, between <think> and </think>.

Why: only a block that opens the answer counts. The same words later on are text that somebody
wrote about such blocks.
"""

from enum import StrEnum

_OPEN = "<think>"
_CLOSE = "</think>"


class _State(StrEnum):
    START = "start"
    THINKING = "thinking"
    AFTER = "after"  # between the block and the first word of the answer
    TEXT = "text"


def _held_back(text: str, tag: str) -> int:
    """How many characters at the end of `text` may be the beginning of `tag`."""
    for size in range(min(len(tag) - 1, len(text)), 0, -1):
        if tag.startswith(text[-size:]):
            return size
    return 0


class ThinkSplitter:
    """Content as it streams, parted into answer and reasoning; a tag may arrive in pieces.

    `prefilled`: the server's template opened the block already, so the content starts inside it.
    """

    def __init__(self, *, prefilled: bool = False) -> None:
        self._state = _State.THINKING if prefilled else _State.START
        self._held = ""

    def feed(self, piece: str) -> tuple[str, str]:
        """What is surely (answer, reasoning) now; what may be half a tag is kept back."""
        if self._state is _State.TEXT:
            return piece, ""
        self._held += piece
        reasoning = ""
        if self._state is _State.START:
            self._open()
        if self._state is _State.THINKING:
            reasoning = self._think()
        return self._answer(), reasoning

    def close(self) -> tuple[str, str]:
        """The (answer, reasoning) that was kept back when the stream ended."""
        held, self._held = self._held, ""
        match self._state:
            case _State.THINKING:
                return "", held
            case _State.AFTER:
                return held.lstrip(), ""
            case _State.START | _State.TEXT:
                return held, ""

    def _open(self) -> None:
        lead = self._held.lstrip()
        if lead.startswith(_OPEN):
            self._held = lead[len(_OPEN) :]
            self._state = _State.THINKING
        elif not _OPEN.startswith(lead):
            self._state = _State.TEXT

    def _think(self) -> str:
        before, closed, after = self._held.partition(_CLOSE)
        if closed:
            self._held = after
            self._state = _State.AFTER
            return before
        keep = _held_back(self._held, _CLOSE)
        cut = len(self._held) - keep
        before, self._held = self._held[:cut], self._held[cut:]
        return before

    def _answer(self) -> str:
        if self._state is _State.AFTER and self._held.strip():
            self._held = self._held.lstrip()
            self._state = _State.TEXT
        if self._state is not _State.TEXT:
            return ""
        text, self._held = self._held, ""
        return text
