"""Pure. Takes secrets out of what a model says: while it streams, and out of all that is kept."""

import json
from collections.abc import Callable, Mapping
from typing import Any

Redact = Callable[[str], tuple[str, int]]


class StreamRedactor:
    """Gives a stream back word by word; a word is judged when it, and its line before it, are whole.

    Why by words: a secret holds no blank, so nothing of it has been shown when it is recognised.
    """

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._line = ""  # what of the current line was judged
        self._given = 0  # how much of it, redacted, was given
        self._word = ""

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        self._word += piece
        given = []
        while "\n" in self._word:
            line, _, self._word = self._word.partition("\n")
            given.append(self._judged(line) + "\n")
            self._line, self._given = "", 0
        end = max(self._word.rfind(" "), self._word.rfind("\t")) + 1
        given.append(self._judged(self._word[:end]))
        self._word = self._word[end:]
        return "".join(given)

    def rest(self) -> str:
        """What was still held back."""
        word, self._word = self._word, ""
        return self._judged(word)

    def _judged(self, text: str) -> str:
        self._line += text
        shown, _ = self._redact(self._line)
        new, self._given = shown[self._given :], max(len(shown), self._given)
        return new


def without_secrets(data: Mapping[str, Any], redact: Redact) -> dict[str, Any]:
    """The data with every text in it redacted, keys included."""
    text, found = redact(json.dumps(dict(data), ensure_ascii=False))
    return dict(data) if not found else dict(json.loads(text))
