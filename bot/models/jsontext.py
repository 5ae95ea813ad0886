"""Pure. JSON as it is met on a model's wire: written compactly, read without ever trusting it."""

import json
from typing import Any


class NotJson(ValueError):  # noqa: N818 - read as a sentence where it is caught
    """The text is no JSON by RFC 8259: broken, half, too deep, or with NaN in it."""


def _no_constant(name: str) -> Any:
    raise NotJson(name)


def _none(_: str) -> Any:
    return None


def decode(raw: str | bytes, *, lenient: bool = False) -> Any:
    """The value of one JSON text; bytes that are no UTF-8 are replaced, not refused.

    `lenient`: NaN and Infinity, which some servers write for a number, are None.

    Raises: NotJson.
    """
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    try:
        return json.loads(text, parse_constant=_none if lenient else _no_constant)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None


def is_object(text: str) -> bool:
    """True if the text is one whole JSON object and nothing else."""
    stripped = text.strip()
    if not (stripped.startswith("{") and stripped.endswith("}")):
        return False
    try:
        return isinstance(decode(stripped), dict)
    except NotJson:
        return False


def encode_text(value: Any) -> str:
    """One compact line of JSON. Raises: ValueError for NaN and what is no JSON value."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encode(value: Any) -> bytes:
    """The same in UTF-8. A lone surrogate, which is no character, becomes a question mark."""
    return encode_text(value).encode("utf-8", "replace")
