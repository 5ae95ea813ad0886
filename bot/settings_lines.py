"""Pure. On which line of a TOML text each key stands, so that an error can point at it."""

import re

Path = tuple[str | int, ...]

_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*")
_PART = re.compile(_KEY)
_STRING = re.compile(
    r'''"""(?:[^"\\]|\\.|"(?!""))*"{3,5}|\'\'\'(?:[^']|'(?!''))*'{3,5}'''
    r"""|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\#[^\n]*|[\[\]{}]|\n""",
    re.DOTALL,
)


def key_lines(text: str) -> dict[Path, int]:
    """Line numbers from 1 of every table and key of a valid TOML text.

    Keys inside an inline table have the line of the key that holds the table.
    """
    lines: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    position = 0
    while position < len(text):
        end = _statement_end(text, position)
        statement = text[position:end].lstrip()
        line = text.count("\n", 0, end - len(statement)) + 1 if statement else 0
        if statement.startswith("["):
            table = _enter(statement, counts)
            _note(lines, table, line)
        elif statement and not statement.startswith("#"):
            _note(lines, table + _dotted(statement), line)
        position = end + 1
    return lines


def line_of(lines: dict[Path, int], path: Path) -> int | None:
    """The line of the path, or of the nearest table that holds it."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def _statement_end(text: str, start: int) -> int:
    """The newline that ends the statement: not one inside a string or brackets."""
    depth = 0
    for found in _STRING.finditer(text, start):
        piece = found.group()
        if piece in "[{":
            depth += 1
        elif piece in "]}":
            depth -= 1
        elif piece == "\n" and depth <= 0:
            return found.start()
    return len(text)


def _enter(header: str, counts: dict[Path, int]) -> Path:
    repeated = header.startswith("[[")
    names = _dotted(header.lstrip("["))
    path: Path = ()
    for name in names[:-1]:
        path = _newest((*path, name), counts)
    path = (*path, names[-1])
    if not repeated:
        return path
    counts[path] = counts.get(path, -1) + 1
    return (*path, counts[path])


def _newest(path: Path, counts: dict[Path, int]) -> Path:
    """Inside an array of tables, a header speaks of the newest one."""
    return (*path, counts[path]) if path in counts else path


def _dotted(text: str) -> tuple[str, ...]:
    found = _DOTTED.match(text)
    if found is None:
        return ("",)
    return tuple(_unquote(part) for part in _PART.findall(found.group(1)))


def _unquote(part: str) -> str:
    return part[1:-1] if part[:1] in ("'", '"') else part


def _note(lines: dict[Path, int], path: Path, line: int) -> None:
    for length in range(1, len(path) + 1):
        lines.setdefault(path[:length], line)
