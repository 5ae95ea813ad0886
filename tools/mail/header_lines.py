"""Pure. Writing header fields: RFC 5322 folding, RFC 2047 words, RFC 2231 file names.

The result is ASCII lines of at most 76 characters where a blank allows it, never over 998.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from tools.mail.addresses import Address

LINE_LENGTH = 76
_PLAIN_WORD = re.compile(r"[!-~]{1,60}")
_PHRASE = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,60}(?: [A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,60})*"
)
_PRINTABLE = re.compile(r"[ -~]{1,200}")
_PLAIN_FILE_NAME = re.compile(r"[A-Za-z0-9 ._+()-]{1,60}")


class HeaderError(ValueError):
    """A header value that must not be written; the text says which and why."""


def text_field(name: str, text: str) -> bytes:
    """An unstructured field. Raises: HeaderError for a line break or another control character."""
    refuse_control(name, text)
    words = text.split(" ")
    plain = "=?" not in text and all(_PLAIN_WORD.fullmatch(word) for word in words)
    if not text or plain:
        return _folded(name, words)
    return _folded(name, _encoded_words(text, LINE_LENGTH - len(name) - 2))


def address_field(name: str, addresses: Sequence[Address]) -> bytes:
    """An address list. Raises: HeaderError as `text_field`, or for a non-ASCII address."""
    pieces: list[str] = []
    for index, address in enumerate(addresses):
        refuse_control(name, address.name)
        refuse_control(name, address.address)
        if not address.address.isascii():
            raise HeaderError(f"{name}: {address.address!r} is not ASCII")
        comma = "," if index < len(addresses) - 1 else ""
        phrase = _phrase(address.name, LINE_LENGTH - len(name) - 2)
        pieces += [*phrase, f"<{address.address}>{comma}"] if phrase else [address.address + comma]
    return _folded(name, pieces)


_ID = re.compile(r"<[!-;=?-~]{1,900}>")


def is_writable_id(identifier: str) -> bool:
    """True for an identifier that may stand in a header; real mail has others, too."""
    return _ID.fullmatch(identifier) is not None


def id_field(name: str, identifiers: Iterable[str]) -> bytes:
    """A field of `<...>` identifiers, one a line where they are long. Raises: HeaderError."""
    words = list(identifiers)
    for word in words:
        if not is_writable_id(word):
            raise HeaderError(f"{name}: {word[:80]!r} is no identifier in angle brackets")
    return _folded(name, words)


def file_name_parameter(name: str) -> str:
    """`filename=...` for a Content-Disposition. Raises: HeaderError for a control character."""
    refuse_control("filename", name)
    if _PLAIN_FILE_NAME.fullmatch(name):
        return f'filename="{name}"'
    return f"filename*=utf-8''{quote(name, safe='')}"


def refuse_control(name: str, text: str) -> None:
    """Return if the value may stand in a header. Raises: HeaderError naming the field.

    A line break would start a header of somebody else's choice.
    """
    if "\r" in text or "\n" in text:
        raise HeaderError(f"{name}: a header value holds no line break")
    if any(ord(char) < 32 or 127 <= ord(char) < 160 or char in "\u2028\u2029" for char in text):
        raise HeaderError(f"{name}: a header value holds no control character")


def _phrase(name: str, room: int) -> list[str]:
    if not name:
        return []
    if _PHRASE.fullmatch(name) and "=?" not in name:
        return name.split(" ")
    if _PRINTABLE.fullmatch(name) and "=?" not in name:
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return [f'"{escaped}"']
    return _encoded_words(name, room)


def _encoded_words(text: str, first_room: int) -> list[str]:
    """Base64 words of at most 75 characters, never cut inside a character (RFC 2047 section 5)."""
    words: list[str] = []
    chunk = b""
    room = max(12, (min(first_room, LINE_LENGTH - 1) - 12) // 4 * 3)
    for char in text:
        data = char.encode("utf-8", "replace")
        if len(chunk) + len(data) > room:
            words.append(_word(chunk))
            chunk, room = b"", 45
        chunk += data
    return [*words, _word(chunk)]


def _word(chunk: bytes) -> str:
    return f"=?utf-8?B?{b64encode(chunk).decode('ascii')}?="


def _folded(name: str, words: Sequence[str]) -> bytes:
    lines: list[str] = []
    line = f"{name}:"
    for word in words:
        if len(line) + 1 + len(word) > LINE_LENGTH and line.strip() and line != f"{name}:":
            lines.append(line)
            line = ""
        line += f" {word}"
    return ("\r\n".join([*lines, line]) + "\r\n").encode("ascii")
