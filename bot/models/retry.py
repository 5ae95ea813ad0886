"""Pure. Whether a failed request is worth another try, and how long to wait for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from random import Random

from bot.models.contract import TRANSIENT, FailureClass

LONGEST_RETRY_AFTER_SECONDS = 120.0

_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 8.0
_TRIES = {
    FailureClass.RATE_LIMIT: 5,
    FailureClass.OVERLOADED: 5,
    FailureClass.SERVER: 3,
    FailureClass.TRANSPORT: 3,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failed request, as it matters to the next try and to whoever reads of it."""

    failure: FailureClass
    what: str  # what happened, without the name of the model and its host
    advice: str  # what to do about it
    retry_after_seconds: float | None = None
    tries: int | None = None  # at most so many in all; None: as the class allows
    at_once: bool = False  # the socket was an old one: the server may know nothing of the request


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds the server asked to wait, by lower-case header names; None when it named none.

    `retry-after-ms`, and `retry-after` as seconds, as a fraction or as a date (RFC 9110 10.2.3).
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - now).total_seconds())


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) and value >= 0 else None


class Attempts:
    """The tries of one request; asked after each failure."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._at_once_left = 1
        self.made = 0

    def wait_seconds(self, failure: Failure) -> float | None:
        """How long to wait before the next try; None when there is to be none.

        A wait that the server asked for is kept, unless it is longer than
        LONGEST_RETRY_AFTER_SECONDS: then there is no next try.
        """
        if failure.at_once and self._at_once_left:
            self._at_once_left -= 1
            return 0.0
        self.made += 1
        if failure.failure not in TRANSIENT:
            return None
        if self.made >= (failure.tries or _TRIES[failure.failure]):
            return None
        asked = failure.retry_after_seconds
        if asked is not None and asked > LONGEST_RETRY_AFTER_SECONDS:
            return None
        backoff = min(_LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2.0 ** (self.made - 1))
        chance = self._random.random()
        return max(backoff * (0.5 + chance / 2), (asked or 0.0) * (1 + chance / 10))
