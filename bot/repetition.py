"""Pure. Notices a run that goes in circles: the same call with the same result, turn after turn."""

from collections.abc import Iterable

REPEATS_AT_MOST = 3


class RepetitionGuard:
    """Counts turns in which one call gave one result; polling with changing results starts anew."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], tuple[str, int]] = {}

    def is_circling(self, turn: Iterable[tuple[str, str, str]]) -> bool:
        """Take one turn's (tool, arguments, result); True when one stood the third time.

        The same call twice in one turn counts once.
        """
        circling = False
        for tool, arguments, result in dict.fromkeys(turn):
            before, times = self._seen.get((tool, arguments), ("", 0))
            times = times + 1 if before == result else 1
            self._seen[(tool, arguments)] = (result, times)
            circling = circling or times >= REPEATS_AT_MOST
        return circling
