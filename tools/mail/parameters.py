"""Pure. Content-Type and Content-Disposition: the value and its parameters, as mailers write them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from unicodedata import category
from urllib.parse import unquote_to_bytes

from tools.mail.charsets import decode_text
from tools.mail.words import decode_words, one_line, unfold

_PARAMETER = re.compile(r';\s*([^\s=;"]{1,60})\s*=\s*("(?:[^"\\]|\\.)*"?|[^;]*)', re.DOTALL)
_SECTION = re.compile(r"(.+?)(?:\*(\d{1,3}))?(\*)?")
_TYPE = re.compile(r"[\w!#$&^.+-]{1,60}/[\w!#$&^.+-]{1,80}")
MAX_VALUE = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameterised:
    """`value` lower-cased, without parameters; `parameters` decoded, by lower-cased name."""

    value: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def parse_parameterised(raw: bytes) -> Parameterised:
    """The header value taken apart; RFC 2231 continuations joined, encoded words decoded.

    Never raises; a parameter that is written twice keeps its first value.
    """
    text = unfold(raw)[:MAX_VALUE]
    value = text.partition(";")[0].strip().lower()
    sections: dict[str, list[tuple[int, bool, str]]] = {}
    for match in _PARAMETER.finditer(text):
        name, number, extended = _SECTION.fullmatch(match[1]).groups()  # type: ignore[union-attr]
        entry = (int(number or 0), bool(extended), _unquoted(match[2]))
        sections.setdefault(_key(name, number, extended), []).append(entry)
    parameters: dict[str, str] = {}
    for key in sorted(sections, key=lambda each: not each.endswith("*")):
        parameters.setdefault(key.rstrip("*"), _value(sections[key]))
    return Parameterised(value=value, parameters=parameters)


def media_type(parsed: Parameterised, default: str) -> str:
    """The media type if it is one; RFC 2045 section 5.2 says what a broken one means."""
    if _TYPE.fullmatch(parsed.value):
        return parsed.value
    return "text/plain" if parsed.value else default


def _key(name: str, number: str | None, extended: str | None) -> str:
    """RFC 2231 spellings win over a plain one of the same name, so they are kept apart."""
    return name.lower() + ("*" if number or extended else "")


def _unquoted(text: str) -> str:
    stripped = text.strip()
    if stripped.startswith('"'):
        inner = stripped[1:-1] if len(stripped) > 1 and stripped.endswith('"') else stripped[1:]
        return re.sub(r"\\(.)", r"\1", inner)
    return stripped


def _value(sections: list[tuple[int, bool, str]]) -> str:
    ordered = sorted(sections, key=lambda each: each[0])
    if not any(extended for _, extended, _ in ordered):
        first = "".join(text for _, _, text in _one_each(ordered))
        return one_line(decode_words(first))
    charset = ""
    data = b""
    for number, extended, text in _one_each(ordered):
        encoded = text
        if number == 0 and extended and text.count("'") >= 2:
            charset, _, encoded = text.split("'", 2)
        data += unquote_to_bytes(encoded) if extended else encoded.encode("utf-8", "replace")
    return one_line(decode_text(data, charset))


def _one_each(sections: list[tuple[int, bool, str]]) -> list[tuple[int, bool, str]]:
    """Each section number once; the second of a doubled parameter is ignored."""
    seen: dict[int, tuple[int, bool, str]] = {}
    for section in sections:
        seen.setdefault(section[0], section)
    return list(seen.values())


def safe_filename(name: str) -> str:
    """The last component of a file name from outside, without control, path or invisible characters.

    At most 120 characters, the extension kept; "" where nothing is left.
    """
    visible = "".join(char for char in one_line(name) if category(char) != "Cf")
    base = re.split(r"[/\\]", visible)[-1]
    cleaned = re.sub(r'[<>:"|?*\x00-\x1f\x7f]', "_", base).strip(" .")
    if len(cleaned) > 120:
        stem, dot, extension = cleaned.rpartition(".")
        short = dot and len(extension) <= 10
        cleaned = f"{stem[:100]}.{extension}" if short else cleaned[:120]
    return cleaned
