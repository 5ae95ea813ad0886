"""Pure. Bytes of mail to text: what was declared, else UTF-8, else the likeliest single guess."""

import re

from charset_normalizer import from_bytes

_SURROGATE = re.compile("[\ud800-\udfff]")
_FEW_BYTES = 3  # too few to tell an alphabet by
_SAMPLE_BYTES = 16_384  # enough to tell alphabets apart; guessing over megabytes takes seconds

# A label's usual meaning in mail is the superset that mail programs really write
# (WHATWG Encoding Standard, section 4.2).
_SUPERSETS = {
    "iso88591": "windows-1252",
    "latin1": "windows-1252",
    "ksc56011987": "cp949",
    "euckr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shiftjis": "cp932",
    "sjis": "cp932",
    "xsjis": "cp932",
    "iso88598i": "iso-8859-8",
    "iso88598e": "iso-8859-8",
    "iso88599": "windows-1254",
    "xmaccyrillic": "mac-cyrillic",
    "utf8": "utf-8",
}

# Labels that say nothing, and Python codecs that are no charset of mail.
_REFUSED = frozenset(
    [
        "usascii",
        "ascii",
        "ansix341968",
        "unknown",
        "unknown8bit",
        "xunknown",
        "8bit",
        "7bit",
        "default",
        "binary",
        "none",
        "idna",
        "punycode",
        "undefined",
        "unicodeescape",
        "rawunicodeescape",
        "mbcs",
        "oem",
        "palmos",
    ]
)

_GUESSES = [
    "windows-1251", "koi8-r", "windows-1253", "windows-1255", "windows-1256",
    "cp932", "euc-jp", "cp949", "gb18030", "big5",
]  # fmt: skip


def decode_text(data: bytes, declared: str | None) -> str:
    """The text of the bytes; never raises, and loses nothing that some charset can read."""
    codec = _codec(declared)
    if codec is not None:
        text = _strictly(data, codec)
        if text is not None:
            return text
    text = _strictly(data, "utf-8")
    if text is not None:
        return text
    if codec is not None and _mostly_readable(data, codec):
        return data.decode(codec, "replace")
    return _guess(data)


def _codec(declared: str | None) -> str | None:
    if not declared:
        return None
    label = re.sub(r"[^a-z0-9]", "", declared.lower())
    if label in _REFUSED:
        return None
    return _SUPERSETS.get(label, declared.strip())


def _strictly(data: bytes, codec: str) -> str | None:
    try:
        # UTF-7 can smuggle in half a surrogate pair, which no file or database takes.
        return _SURROGATE.sub("\ufffd", data.decode(codec))
    except (LookupError, ValueError):  # unknown, no text encoding, a NUL in the name, bad bytes
        return None


def _mostly_readable(data: bytes, codec: str) -> bool:
    """True if the declared charset fails at a few bytes only: a cut or damaged message."""
    try:
        lost = data.decode(codec, "replace").count("�")
    except (LookupError, ValueError):
        return False
    return lost * 50 <= len(data)


def _guess(data: bytes) -> str:
    """Western text has few high bytes between its letters; other alphabets are mostly high bytes."""
    sample = data[:_SAMPLE_BYTES]
    high = sum(byte >= 0x80 for byte in sample)
    letters = sum(65 <= (byte & 0xDF) <= 90 for byte in sample if byte < 0x80)
    if high > max(letters, _FEW_BYTES):
        best = from_bytes(sample, cp_isolation=_GUESSES, threshold=0.5).best()
        if best is not None:
            return data.decode(best.encoding, "replace")
    return _strictly(data, "windows-1252") or data.decode("latin-1")
