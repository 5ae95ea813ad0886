"""Pure. What of an attachment can be shown to a reviewer, and what about it does not fit together.

An attachment is any object among a draft's arguments that names its bytes by `sha256`. It is shown
whole or not at all: what a program would render differently (a PDF, a drawing) is not shown, and
of a page or a document in a markup only its source is.
"""

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

TEXT_LIMIT = 64 * 1024  # bytes; more is not read by anybody before a release

Content = Callable[[str], bytes | None]  # the bytes of a sha256, None where they are not kept

_MARKUP_TYPES = frozenset({"text/html", "text/xml", "application/xhtml+xml", "application/xml"})
_MARKUP_NAMES = frozenset({".html", ".htm", ".xhtml", ".xht", ".xml", ".svg"})
_TEXT_TYPES = _MARKUP_TYPES | {"application/json", "application/octet-stream", "application/toml"}
_TEXT_CONTROLS = frozenset("\t\n\r\f")
_DOCUMENTS = (".pdf", ".txt", ".md", ".doc", ".docx", ".odt", ".xls", ".xlsx", ".ods", ".csv")
_PICTURES = (".ppt", ".pptx", ".jpg", ".jpeg", ".png", ".gif", ".eml")
_LOOKS_HARMLESS = frozenset((*_DOCUMENTS, *_PICTURES))
_WINDOWS = (".exe", ".com", ".scr", ".pif", ".bat", ".cmd", ".msi", ".vbs", ".ps1", ".lnk", ".hta")
_ELSEWHERE = (".jar", ".js", ".sh", ".app", ".desktop", ".dll", ".iso", ".img", ".apk")
_WITH_MACROS = (".docm", ".xlsm", ".pptm")
_RUNS = frozenset((*_WINDOWS, *_ELSEWHERE, *_WITH_MACROS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """One attachment. `text` is all of it, or None; `oddities` are what a reviewer must not miss."""

    path: str
    name: str
    media_type: str
    size_bytes: int
    text: str | None
    oddities: tuple[str, ...]

    @property
    def described(self) -> str:
        """`plan.pdf (application/pdf, 12 bytes)`."""
        return f"{self.name} ({self.media_type}, {self.size_bytes} bytes)"

    @property
    def is_markup(self) -> bool:
        """True where a program that opens it shows something other than this text."""
        suffix = PurePosixPath(self.name.strip()).suffix.lower()
        return _plain_type(self.media_type) in _MARKUP_TYPES or suffix in _MARKUP_NAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signature:
    starts: bytes
    what: str
    types: tuple[str, ...]  # beginnings of the media types that such bytes may have
    always: bool = False  # every file of the type begins like this


_SIGNATURES = (
    _Signature(starts=b"%PDF-", what="a PDF", types=("application/pdf",), always=True),
    _Signature(starts=b"\x89PNG\r\n", what="a PNG picture", types=("image/png",), always=True),
    _Signature(starts=b"\xff\xd8\xff", what="a JPEG picture", types=("image/jpeg",), always=True),
    _Signature(starts=b"GIF8", what="a GIF picture", types=("image/gif",), always=True),
    _Signature(
        starts=b"PK\x03\x04",
        what="a zip archive",
        types=("application/zip", "application/vnd.", "application/java", "application/epub"),
    ),
    _Signature(starts=b"MZ\x90\x00", what="a Windows program", types=("application/x-ms",)),
    _Signature(starts=b"\x7fELF", what="a Linux program", types=("application/x-",)),
    _Signature(starts=b"#!", what="a script", types=("text/x-", "application/x-")),
)


def attached(args: Mapping[str, Any], content: Content) -> tuple[Attached, ...]:
    """The attachments of a draft at these arguments, in their order."""
    return tuple(_attached(path, entry, content) for path, entry in entries(args))


def entries(value: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every object among the arguments that names bytes, with its path."""
    if isinstance(value, Mapping):
        if isinstance(value.get("sha256"), str):
            yield path, value
            return
        for key, inner in value.items():
            yield from entries(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from entries(inner, f"{path}[{number}]")


def _attached(path: str, entry: Mapping[str, Any], content: Content) -> Attached:
    name, media_type = str(entry.get("name", "")), str(entry.get("media_type", ""))
    data = content(entry["sha256"])
    size = entry.get("size_bytes")
    oddities = list(_odd_name(name))
    if data is None:
        oddities.append("its bytes are not kept here any more")
    else:
        oddities.extend(_odd_bytes(media_type, data))
    return Attached(
        path=path,
        name=name,
        media_type=media_type,
        size_bytes=size if isinstance(size, int) else 0,
        text=None if data is None else _text(media_type, data),
        oddities=tuple(oddities),
    )


def _plain_type(media_type: str) -> str:
    """The type without its parameters (`text/html; charset=utf-8`)."""
    return media_type.partition(";")[0].strip().lower()


def _text(media_type: str, data: bytes) -> str | None:
    plain = _plain_type(media_type)
    textual = plain.startswith("text/") or plain in _TEXT_TYPES
    if not textual or len(data) > TEXT_LIMIT:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if any(unicodedata.category(char) == "Cc" and char not in _TEXT_CONTROLS for char in text):
        return None
    return text


def _odd_name(name: str) -> Iterator[str]:
    suffixes = [suffix.lower() for suffix in PurePosixPath(name).suffixes]
    last = suffixes[-1].rstrip() if suffixes else ""
    if last in _RUNS:
        before = next((suffix for suffix in suffixes[:-1] if suffix in _LOOKS_HARMLESS), None)
        looks = f"looks like {before} and " if before else ""
        yield f"its name {looks}ends in {last}, which runs as a program"
    if name != name.strip() or "  " in name:
        yield "blanks in its name may hide how it ends"


def _odd_bytes(media_type: str, data: bytes) -> Iterator[str]:
    is_like = next((each for each in _SIGNATURES if data.startswith(each.starts)), None)
    if is_like is not None:
        if not media_type.startswith(is_like.types):
            yield f"it begins like {is_like.what}"
        return
    claimed = (each for each in _SIGNATURES if each.always and media_type.startswith(each.types))
    if (type_of := next(claimed, None)) is not None:
        yield f"it does not begin like {type_of.what}"
