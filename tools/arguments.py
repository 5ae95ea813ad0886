"""Decodes the arguments of every tool call, strictly; a refusal names fields and never a value.

Why: what a model wrote may repeat a stranger's text or a secret. A refusal is steward's own word,
so nothing of the arguments may stand in it: neither in the transcript nor in a log.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from tools.contract import ToolSpec

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 32
PROBLEMS_NAMED = 6
META = "_meta"

_KINDS = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "decimal": "a decimal number",
    "finite_number": "a finite number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "frozen_set": "a list",
    "dict": "an object",
    "mapping": "an object",
    "model": "an object",
    "dataclass": "an object",
    "none_required": "null",
    "datetime": "a date and time such as 2026-03-01T09:00:00+01:00",
    "date": "a date such as 2026-03-01",
    "time": "a time such as 09:00",
    "timezone": "a date and time with its offset, such as 2026-03-01T09:00:00+01:00",
    "url": "a URL such as https://example.org/",
}

# What pydantic reports with a limit from the schema; only the named limit is ever shown.
_LIMITS = {
    "literal_error": "one of {expected}",
    "enum": "one of {expected}",
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "multiple_of": "a multiple of {multiple_of}",
    "string_too_short": "at least {min_length} characters long",
    "string_too_long": "at most {max_length} characters long",
    "too_short": "at least {min_length} entries long",
    "too_long": "at most {max_length} entries long",
    "string_pattern_mismatch": "text that matches {pattern}",
}

_PLAIN_NAME = re.compile(r"[A-Za-z_]{1,32}")  # no digits: neither a token nor an address fits


class ArgumentProblem(Exception):  # noqa: N818 - the word of the seam; a refusal, not a fault
    """The arguments are refused; the text tells the model which fields to change, and how."""


def decode_arguments(spec: ToolSpec, raw: str) -> BaseModel:
    """The arguments as the tool's own model; no text at all means no arguments.

    Types are strict ("5" is not 5; a whole number may stand for a number). `_meta` (trace context)
    is accepted and dropped.

    Raises: ArgumentProblem, and nothing else whatever the text is.
    """
    value = _one_object(raw)
    if not isinstance(value.pop(META, {}), dict):
        raise ArgumentProblem(f"arguments of {spec.name} refused: {META} must be an object")
    model = spec.args_model()
    try:
        return model.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        raise ArgumentProblem(_advice(spec.name, model, errors)) from None


def _one_object(raw: str) -> dict[str, Any]:
    if len(raw) > MAX_BYTES or len(raw.encode("utf-8", "replace")) > MAX_BYTES:
        raise ArgumentProblem(
            f"arguments refused: larger than {MAX_BYTES} bytes; send less at once"
        )
    if not raw.strip():
        return {}
    try:
        value = json.loads(
            raw,
            object_pairs_hook=_without_duplicates,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise ArgumentProblem(
                "arguments refused: there is text after the JSON object; send one object only"
            ) from None
        raise ArgumentProblem(
            f"arguments refused: not valid JSON at line {error.lineno}, column {error.colno}; "
            "send one JSON object"
        ) from None
    except RecursionError:
        raise ArgumentProblem(_too_deep()) from None
    except ValueError:  # a number of more digits than Python converts
        raise ArgumentProblem("arguments refused: a number has too many digits") from None
    if not isinstance(value, dict):
        raise ArgumentProblem("arguments refused: they must be one JSON object, such as {}")
    _check_inside(value)
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ArgumentProblem("arguments refused: one object names a field twice; name each once")
    return value


def _no_constant(_: str) -> float:
    raise ArgumentProblem("arguments refused: NaN and Infinity are not JSON numbers")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ArgumentProblem("arguments refused: a number is too large")
    return number


def _too_deep() -> str:
    return f"arguments refused: nested more than {MAX_DEPTH} levels deep; flatten them"


def _check_inside(value: object) -> None:
    """Refuse nesting beyond the limit and strings that are not Unicode text (lone surrogates)."""
    waiting: list[tuple[object, int]] = [(value, 1)]
    while waiting:
        each, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise ArgumentProblem(_too_deep())
        if isinstance(each, dict):
            waiting.extend((part, depth + 1) for pair in each.items() for part in pair)
        elif isinstance(each, list):
            waiting.extend((part, depth + 1) for part in each)
        elif isinstance(each, str) and not _is_unicode(each):
            raise ArgumentProblem("arguments refused: a text holds half of a surrogate pair")


def _is_unicode(text: str) -> bool:
    return text.isascii() or text.encode("utf-8", "replace").decode("utf-8") == text


def _advice(tool: str, model: type[BaseModel], errors: Sequence[Mapping[str, Any]]) -> str:
    names = field_names(model)
    wanted: dict[str, list[str]] = {}
    for error in errors:
        where, what = _problem(error, names)
        told = wanted.setdefault(where, [])
        if what not in told:
            told.append(what)
    lines = [f"{where} {' or '.join(what)}".strip() for where, what in wanted.items()]
    more = len(lines) - PROBLEMS_NAMED
    if more > 0:
        lines = [*lines[:PROBLEMS_NAMED], f"and {more} more"]
    accepted = ", ".join(_properties(model)) or "none"
    return f"arguments of {tool} refused: {'; '.join(lines)}. Accepted fields: {accepted}"


def _problem(error: Mapping[str, Any], names: frozenset[str]) -> tuple[str, str]:
    kind, loc = str(error["type"]), tuple(error["loc"])
    if kind == "extra_forbidden":
        parent = _where(loc[:-1], names)
        inside = f" in {parent}" if parent else ""
        named = str(loc[-1])
        shown = f" {named}" if _PLAIN_NAME.fullmatch(named) else ""
        return f"unknown field{shown}{inside}", ""
    where = _where(loc, names) or "the arguments"
    if kind == "missing":
        return where, "is missing"
    return where, f"must be {_expected(kind, error.get('ctx', {}))}"


def _expected(kind: str, context: Mapping[str, Any]) -> str:
    if kind in _LIMITS:
        return _LIMITS[kind].format_map(context)
    for known in (kind, kind.rsplit("_", 1)[0], kind.split("_", 1)[0]):
        if known in _KINDS:
            return _KINDS[known]
    return "as its description says"


def _where(loc: Sequence[str | int], names: frozenset[str]) -> str:
    """`items[2].text`: steps the schema declares; keys the model made up are left out."""
    text = ""
    for step in loc:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step in names:
            text += f".{step}" if text else step
    return text


@cache
def field_names(model: type[BaseModel]) -> frozenset[str]:
    """Every field name the model's schema declares, at any depth."""
    return frozenset(_declared(model.model_json_schema()))


@cache
def _properties(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(model.model_json_schema().get("properties", {}))


def _declared(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict):
            yield from properties
        for part in schema.values():
            yield from _declared(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _declared(part)
