"""Identifiers that sort by time and are short enough to read aloud."""

import secrets
from collections.abc import Callable
from datetime import datetime

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base32: no i, l, o, u

NewId = Callable[[datetime], str]


def _base32(value: int, length: int) -> str:
    digits = []
    for _ in range(length):
        value, digit = divmod(value, 32)
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


def new_id(now: datetime) -> str:
    """An identifier of 17 characters: 9 of time in milliseconds, then 8 of chance (40 bits).

    Ids made later sort after earlier ones, so lists page by key; the tail is what people type.
    """
    milliseconds = int(now.timestamp() * 1000)
    return _base32(milliseconds, 9) + _base32(secrets.randbits(40), 8)
