"""Pure. What is wrong with a configuration, each with its line, and the nearest key to a wrong one."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import UnionType
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from bot.settings_lines import Path, line_of

_EXPECTED = {
    "string_type": "must be text in quotes",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list, in [ ]",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "missing": "is missing",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that keeps a configuration from being used. `key` is dotted; a list counts from 0."""

    key: str
    text: str
    line: int | None = None

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line is not None else ""
        return f"{place}{self.key} {self.text}" if self.key else f"{place}{self.text}"


def dotted(path: Path) -> str:
    """The path as the owner would say it; a name that is no bare key stands in quotes."""
    return ".".join(
        part if isinstance(part, str) and re.fullmatch(r"[A-Za-z0-9_-]+", part) else repr(part)
        for part in path
    )


def problem_at(path: Path, text: str, lines: Mapping[Path, int]) -> Problem:
    """A problem of the value at this path."""
    return Problem(key=dotted(path), text=text, line=line_of(dict(lines), path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Explainer:
    """Says in the owner's words what pydantic refused; values are never repeated."""

    root: type[BaseModel]
    document: Mapping[str, Any]
    lines: Mapping[Path, int]

    def problems(self, errors: Iterable[ErrorDetails]) -> list[Problem]:
        """One problem a key, however many types its value was tried as."""
        found = [self._explain(error) for error in errors]
        return list({problem.key: problem for problem in reversed(found)}.values())

    def _explain(self, error: ErrorDetails) -> Problem:
        kind = error["type"]
        path = tuple(error["loc"])
        if kind not in ("extra_forbidden", "missing"):
            path = _within(self.document, path)
        if kind == "extra_forbidden":
            return problem_at(path, self._unknown(path), self.lines)
        return problem_at(path, _text(error), self.lines)

    def _unknown(self, path: Path) -> str:
        """The key that was meant; of a table the whole name, because that is what its header says."""
        section = _section_at(self.root, path[:-1])
        known = list(section.model_fields) if section is not None else []
        near = get_close_matches(str(path[-1]), known, n=1)
        if near:
            is_table = isinstance(_value_at(self.document, path), Mapping)
            meant = dotted((*path[:-1], near[0])) if is_table else near[0]
            return f"is not a known key; did you mean '{meant}'?"
        return f"is not a known key{'; known here: ' + ', '.join(known) if known else ''}"


def _within(document: Any, path: Path) -> Path:
    """The part of the path that the document has; pydantic appends names of types it tried."""
    for depth, step in enumerate(path):
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return path[:depth]
    return path


def _value_at(document: Any, path: Path) -> Any:
    """The value at this path of the document, None where there is none."""
    for step in path:
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return None
    return document


def _text(error: ErrorDetails) -> str:
    kind = error["type"]
    if kind == "enum":
        text = f"must be one of {error['ctx']['expected']}"
    elif kind == "value_error":
        text = str(error["ctx"]["error"])
    else:
        text = _EXPECTED.get(kind) or _lower_first(error["msg"])
    return text


def _lower_first(message: str) -> str:
    return message.replace("Input should", "must", 1)


def _section_at(root: type[BaseModel], path: Path) -> type[BaseModel] | None:
    """The section that a path leads to, through tables by name and lists by number."""
    section: type[BaseModel] | None = root
    for step in path:
        if section is None:
            return None
        field = section.model_fields.get(str(step))
        if field is not None:
            section = _section_in(field.annotation)
    return section


def _section_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if isinstance(annotation, UnionType) or get_args(annotation):
        found = (_section_in(part) for part in get_args(annotation))
        return next((section for section in found if section is not None), None)
    return None
