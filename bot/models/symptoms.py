"""Pure. Signs in an answer that a server is set up wrongly; they are told, and change nothing."""

import re
from collections.abc import Collection
from typing import Any

from bot.models.contract import Reply
from bot.models.jsontext import NotJson, decode

_MARKUP = re.compile(r"<tool_call>|<function=|\[TOOL_CALLS\]|<\|tool_call")
_FENCE = re.compile(r"```(?:json)?\s*(\{.*?\})\s*```", re.DOTALL)
_BYTES_PER_TOKEN_AT_MOST = 8
_SMALLEST_PROMPT_BYTES = 8_000
_SMALL_DEFAULT_WINDOW = 4096


def calls_as_text(text: str, tools: Collection[str]) -> bool:
    """True if the answer looks like a tool call that the server left unread."""
    if not tools:
        return False
    if _MARKUP.search(text):
        return True
    candidates = [text.strip(), *_FENCE.findall(text)]
    return any(_is_call(candidate, tools) for candidate in candidates)


def _is_call(text: str, tools: Collection[str]) -> bool:
    if not text.startswith("{"):
        return False
    try:
        value: Any = decode(text)
    except NotJson:
        return False
    if not isinstance(value, dict) or value.get("name") not in tools:
        return False
    return "arguments" in value or "parameters" in value


def prompt_was_cut(reply: Reply, prompt_bytes: int) -> bool:
    """True if the server counted far fewer tokens than the prompt can have had."""
    counted = reply.usage.input_tokens
    if not counted or prompt_bytes < _SMALLEST_PROMPT_BYTES:
        return False
    total = counted + (reply.usage.output_tokens or 0)
    return total == _SMALL_DEFAULT_WINDOW or counted < prompt_bytes // _BYTES_PER_TOKEN_AT_MOST


def warning(reply: Reply, *, prompt_bytes: int, tools: Collection[str]) -> str:
    """One sentence about what is probably wrong at the server, "" when nothing is."""
    if not reply.message.calls and calls_as_text(reply.message.text, tools):
        return (
            "the answer holds a tool call as plain text: the server was started without its "
            "tool-call parser, or the model has none"
        )
    if prompt_was_cut(reply, prompt_bytes):
        return (
            f"the server counted {reply.usage.input_tokens} tokens for {prompt_bytes} bytes of "
            "prompt, so it probably cut it: give the model a larger context "
            "(OLLAMA_CONTEXT_LENGTH, -c)"
        )
    return ""
