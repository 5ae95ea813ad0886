"""Pure. What a server's refusal means, whichever of the many forms it was written in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.models.contract import FailureClass
from bot.models.jsontext import NotJson, decode

MAX_WORDS = 300

_OVERFLOW = re.compile(
    r"maximum context|context (?:length|size|window)|prompt is too long|input is too long|"
    r"too many (?:input )?tokens|reduce the length of",
    re.IGNORECASE,
)
_OVERFLOW_STATUSES = frozenset({200, 400, 413, 422, 500})
_BY_CODE = {
    "context_length_exceeded": FailureClass.OVERFLOW,
    "exceed_context_size_error": FailureClass.OVERFLOW,
    "insufficient_quota": FailureClass.BILLING,
    "billing_hard_limit_reached": FailureClass.BILLING,
    "billing_not_active": FailureClass.BILLING,
    "billing_error": FailureClass.BILLING,
    "insufficient_balance": FailureClass.BILLING,
    "invalid_api_key": FailureClass.AUTH,
    "authentication_error": FailureClass.AUTH,
    "permission_error": FailureClass.AUTH,
    "rate_limit_exceeded": FailureClass.RATE_LIMIT,
    "rate_limit_error": FailureClass.RATE_LIMIT,
    "overloaded_error": FailureClass.OVERLOADED,
    "overloaded": FailureClass.OVERLOADED,
    "unavailable": FailureClass.OVERLOADED,
    "service_unavailable": FailureClass.OVERLOADED,
    "server_error": FailureClass.SERVER,
    "internal_server_error": FailureClass.SERVER,
}
_BY_TYPE_UNDER_200 = {
    "invalid_request_error": FailureClass.INVALID,
    "not_found_error": FailureClass.INVALID,
    "model_not_found": FailureClass.INVALID,
}
_BY_STATUS = {
    401: FailureClass.AUTH,
    402: FailureClass.BILLING,
    403: FailureClass.AUTH,
    408: FailureClass.SERVER,
    409: FailureClass.SERVER,
    413: FailureClass.OVERFLOW,
    425: FailureClass.SERVER,
    429: FailureClass.RATE_LIMIT,
    503: FailureClass.OVERLOADED,
    529: FailureClass.OVERLOADED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What an error body said, as far as it said anything. Third-party text: quote it, trust it not."""

    message: str = ""
    type: str = ""
    code: str = ""
    param: str = ""


def one_line(text: str, limit: int = MAX_WORDS) -> str:
    """The text on one line without control characters, at most `limit` characters."""
    printable = "".join(char if char.isprintable() else " " for char in text[: limit * 4])
    line = " ".join(printable.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _word(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return one_line(str(value), 80)


def _validation(details: list[Any]) -> str:
    """FastAPI's list of mistakes without `input`, which repeats what was sent."""
    lines = []
    for detail in details[:5]:
        if isinstance(detail, dict):
            place = detail.get("loc")
            where = ".".join(map(str, place)) if isinstance(place, list) else ""
            lines.append(f"{where}: {_word(detail.get('msg'))}".strip(": "))
    return "; ".join(lines)


def _from_mapping(error: Mapping[str, Any]) -> Problem:
    message = error.get("message")
    if message is None:
        message = error.get("detail")
    if isinstance(message, list):
        message = _validation(message)
    elif isinstance(message, dict):
        return _from_mapping(message)
    return Problem(
        message=one_line(message) if isinstance(message, str) else "",
        type=_word(error.get("type")) or _word(error.get("status")),
        code=_word(error.get("code")),
        param=_word(error.get("param")),
    )


def problem_in(value: Any) -> Problem | None:
    """The error that a decoded chunk or body is, or None when it is none."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None
    error = value.get("error")
    if isinstance(error, dict):
        return _from_mapping(error)
    if isinstance(error, str) and error:
        return Problem(message=one_line(error))
    if value.get("object") == "error" or ("choices" not in value and "detail" in value):
        return _from_mapping(value)
    return None


def read_problem(body: bytes) -> Problem:
    """What an error body says: JSON of any known form, else its first words without markup."""
    text = body.decode("utf-8", "replace").strip().removeprefix("error:").strip()
    try:
        value = decode(text)
    except NotJson:
        return Problem(message=one_line(re.sub(r"<[^>]*>", " ", text)))
    found = problem_in(value)
    if found is None and isinstance(value, dict):
        found = _from_mapping(value)
    return found or Problem(message=one_line(value) if isinstance(value, str) else "")


def status_in(problem: Problem, status: int) -> int:
    """The HTTP status that counts: an error told under 200 may carry the real one as its code."""
    if status == 200 and re.fullmatch(r"[45]\d\d", problem.code):
        return int(problem.code)
    return status


def classify(status: int, problem: Problem) -> FailureClass:
    """The class of a refusal by status, type and code; words decide only about overflow."""
    status = status_in(problem, status)
    for word in (problem.code.lower(), problem.type.lower()):
        if word in _BY_CODE:
            return _BY_CODE[word]
    if status in _OVERFLOW_STATUSES and _OVERFLOW.search(problem.message):
        return FailureClass.OVERFLOW
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status == 200:
        return _BY_TYPE_UNDER_200.get(problem.type.lower(), FailureClass.SERVER)
    return FailureClass.SERVER if status >= 500 else FailureClass.INVALID
