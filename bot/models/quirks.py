"""Pure. How chat-completions servers differ, and what a refusal teaches about one of them."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from bot.models.failures import Problem


class LimitField(StrEnum):
    """What an endpoint calls the most tokens an answer may have."""

    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quirks:
    """What one endpoint wants. Hashable, so that a lesson is never taken twice."""

    limit_field: LimitField = LimitField.MAX_TOKENS
    include_usage: bool = True  # it knows stream_options
    nine_character_ids: bool = False  # Mistral: call ids are exactly nine of a-z, A-Z, 0-9
    user_after_tool: bool = True  # Mistral wants an assistant message in between
    reasoning_beside_text: bool = True  # gpt-oss templates take one or the other with calls
    think_prefilled: bool = False  # the template opens <think>, the answer only closes it


_UNKNOWN_FIELD = re.compile(
    r"unsupported|not supported|unrecogni[sz]ed|unknown|unexpected|extra|not permitted|"
    r"use '?max",
    re.IGNORECASE,
)
_NINE = re.compile(r"length of 9|a-z, A-Z, 0-9", re.IGNORECASE)
_USER_AFTER_TOOL = re.compile(r"unexpected role 'user' after role 'tool'", re.IGNORECASE)
_BOTH = re.compile(r"both content and thinking", re.IGNORECASE)


def usual_quirks(host: str) -> Quirks:
    """What is known of an endpoint before it was ever asked, by its host name."""
    if host == "api.openai.com":
        return Quirks(limit_field=LimitField.MAX_COMPLETION_TOKENS)
    if host.endswith(".mistral.ai"):
        return Quirks(nine_character_ids=True, user_after_tool=False)
    return Quirks()


def lesson(quirks: Quirks, status: int, problem: Problem) -> Quirks | None:
    """The quirks to try the same request with, or None when the refusal teaches nothing."""
    if status not in (400, 422, 500):
        return None
    learnt = quirks
    words = f"{problem.param} {problem.message}"
    if _BOTH.search(words):
        learnt = replace(quirks, reasoning_beside_text=False)
    elif status == 500:
        return None
    elif problem.code == "3280" or _NINE.search(words):
        learnt = replace(quirks, nine_character_ids=True)
    elif problem.code == "3230" or _USER_AFTER_TOOL.search(words):
        learnt = replace(quirks, user_after_tool=False)
    elif "stream_options" in words or "include_usage" in words or not problem.message:
        learnt = replace(quirks, include_usage=False)
    elif _misnamed_limit(quirks, problem, words):
        learnt = replace(quirks, limit_field=_other(quirks.limit_field))
    return learnt if learnt != quirks else None


def _misnamed_limit(quirks: Quirks, problem: Problem, words: str) -> bool:
    named = re.search(rf"\b{quirks.limit_field}\b", words)
    unknown = problem.code == "unsupported_parameter" or _UNKNOWN_FIELD.search(words)
    return bool(named and unknown)


def _other(limit_field: LimitField) -> LimitField:
    if limit_field is LimitField.MAX_TOKENS:
        return LimitField.MAX_COMPLETION_TOKENS
    return LimitField.MAX_TOKENS
