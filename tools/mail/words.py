"""Pure. Header text: unfolding, RFC 2047 encoded words, and raw 8-bit bytes."""

import binascii
import re
from base64 import b64decode

from tools.mail.charsets import decode_text

_FOLD = re.compile(rb"\r?\n|\r")
_WORD = re.compile(r"=\?([^?\s*]{1,60})(?:\*[^?\s]*)?\?([bBqQ])\?([^?]*)\?=")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def unfold(raw: bytes) -> str:
    """One line of text; folding is removed, encoded words still stand."""
    return decode_text(_FOLD.sub(b"", raw), None).strip(" \t")


def decode_words(text: str) -> str:
    """The text with its encoded words decoded; what cannot be decoded stays as written.

    Blanks between two encoded words are no text (RFC 2047 section 6.2), and the bytes of
    neighbours in one charset are joined first, since mailers cut inside a character.
    """
    pieces: list[str] = []
    run: list[tuple[str, bytes]] = []
    end = 0
    for match in _WORD.finditer(text):
        between = text[end : match.start()]
        if between.strip() or not run:
            pieces += [_flush(run), between]
            run = []
        data = _payload(match[2], match[3])
        if data is None:
            pieces += [_flush(run), match[0]]
            run = []
        else:
            run.append((match[1].lower(), data))
        end = match.end()
    return "".join([*pieces, _flush(run), text[end:]])


def header_text(raw: bytes) -> str:
    """A header's value for people: unfolded, decoded, without control characters."""
    return one_line(decode_words(unfold(raw)))


def one_line(text: str) -> str:
    """The text with every character that could start a new line, or hide one, made a blank."""
    return _CONTROL.sub(" ", text.replace("\r\n", " ")).strip()


def _payload(encoding: str, text: str) -> bytes | None:
    if encoding in "qQ":
        spaced = text.replace("_", " ").encode("utf-8", "surrogateescape")
        return binascii.a2b_qp(spaced, header=False)
    letters = re.sub(r"[^A-Za-z0-9+/]", "", text)
    try:
        return b64decode(letters + "=" * (-len(letters) % 4))
    except (binascii.Error, ValueError):
        return None


def _flush(run: list[tuple[str, bytes]]) -> str:
    """The decoded text of neighbouring words, joined where the charset is the same."""
    texts: list[str] = []
    index = 0
    while index < len(run):
        charset = run[index][0]
        data = b""
        while index < len(run) and run[index][0] == charset:
            data += run[index][1]
            index += 1
        texts.append(decode_text(data, charset))
    return "".join(texts)
