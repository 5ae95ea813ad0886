"""The strictest reader of chat-completions requests that any real server is, in one place.

It refuses what some server is known to refuse; switches add what only a few of them do.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_TOP_LEVEL = {
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options",
    "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stop",
    "reasoning_effort", "response_format",
}  # fmt: skip
_REASONING = {"reasoning_content", "reasoning", "reasoning_details", "extra_content"}
_FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"} | _REASONING,
    "tool": {"role", "content", "tool_call_id"},
}
_SCHEMA_WORDS = {"type", "properties", "required", "items", "enum", "description", "anyOf"}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What this server is picky about beyond what all of them are."""

    key: str | None = None  # the only key it knows; None: it asks for none
    limit_field: str | None = None  # the only name it knows for the token limit
    stream_options: bool = True  # False: HTTP 400, as a gateway to Gemini
    nine_character_ids: bool = False  # Mistral 3280
    user_after_tool: bool = True  # False: Mistral 3230
    wants_reasoning_back: bool = False  # DeepSeek: tool-call turns need their reasoning_content
    content_or_reasoning: bool = False  # gpt-oss template: 500 for both on a turn with calls
    window_tokens: int | None = None  # four bytes a token


class Refusal(Exception):  # noqa: N818
    """What the server answers instead."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        type: str = "invalid_request_error",  # noqa: A002
        code: str | int | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self._facts = {"type": type, "code": code, "param": param}

    @property
    def body(self) -> dict[str, Any]:
        return {"error": {"message": self.message, **self._facts}}


def check_key(headers: Mapping[str, str], rules: Rules) -> None:
    """Raises: Refusal, which repeats the key as real servers do."""
    given = headers.get("authorization", "")
    if rules.key is not None and given != f"Bearer {rules.key}":
        raise Refusal(
            f"Incorrect API key provided: {given.removeprefix('Bearer ')}.",
            status=401,
            code="invalid_api_key",
        )


def check(body: Any, rules: Rules) -> None:
    """Nothing for a request every server takes. Raises: Refusal for the first thing wrong."""
    if not isinstance(body, dict):
        raise Refusal("the body is no object")
    for name in body:
        _demand(name in _TOP_LEVEL, f"Unknown parameter: '{name}'.", param=name)
    _demand(isinstance(body.get("model"), str), "model is missing", param="model")
    _demand(body.get("stream") is True, "this server only streams", param="stream")
    _check_options(body, rules)
    names = _check_tools(body.get("tools"))
    _check_messages(body.get("messages"), rules)
    _demand(bool(names) or "tools" not in body, "tools is an empty list", param="tools")
    size = len(json.dumps(body["messages"])) // 4
    if rules.window_tokens is not None and size > rules.window_tokens:
        raise Refusal(
            f"This model's maximum context length is {rules.window_tokens} tokens.",
            code="context_length_exceeded",
        )


def _demand(holds: bool, message: str, **facts: Any) -> None:
    if not holds:
        raise Refusal(message, **facts)


def _check_options(body: Mapping[str, Any], rules: Rules) -> None:
    if "stream_options" in body:
        _demand(rules.stream_options, 'Unknown name "stream_options": Cannot find field.', code=400)
        _demand(body["stream_options"] == {"include_usage": True}, "stream_options: unknown field")
    limits = {"max_tokens", "max_completion_tokens"} & set(body)
    _demand(len(limits) <= 1, "two token limits")
    for name in limits:
        _demand(
            rules.limit_field in (None, name),
            f"Unsupported parameter: '{name}' is not supported with this model. "
            f"Use '{rules.limit_field}' instead.",
            code="unsupported_parameter",
            param=name,
        )
        _demand(isinstance(body[name], int) and body[name] > 0, f"{name}: no positive number")


def _check_tools(tools: Any) -> set[str]:
    names: set[str] = set()
    for tool in tools or ():
        _demand(set(tool) == {"type", "function"} and tool["type"] == "function", "tools: shape")
        function = tool["function"]
        _demand(set(function) == {"name", "description", "parameters"}, "tools: function fields")
        _demand(bool(_NAME.fullmatch(function["name"])), f"tools: name {function['name']!r}")
        _demand(function["name"] not in names, f"tools: {function['name']} twice")
        _demand(bool(function["description"].strip()), "tools: no description")
        _demand(function["parameters"].get("type") == "object", "tools: parameters no object")
        _check_schema(function["parameters"])
        names.add(function["name"])
    return names


def _check_schema(schema: Any) -> None:
    _demand(isinstance(schema, dict), "schema: no object")
    for word in schema:
        _demand(word in _SCHEMA_WORDS, f'Unknown name "{word}" at tools.parameters')
    for inner in schema.get("properties", {}).values():
        _check_schema(inner)
    for inner in [schema["items"]] if "items" in schema else []:
        _check_schema(inner)
    for inner in schema.get("anyOf", []):
        _check_schema(inner)


def _check_messages(messages: Any, rules: Rules) -> None:
    _demand(isinstance(messages, list) and bool(messages), "messages: empty", param="messages")
    waiting: list[str] = []  # calls of the last assistant message without a result
    seen: set[str] = set()
    before = ""
    for place, message in enumerate(messages):
        role = message.get("role")
        _demand(role in _FIELDS, f"messages.{place}: role {role!r}")
        unknown = set(message) - _FIELDS[role]
        _demand(not unknown, f"messages.{place}: unknown field {sorted(unknown)}")
        _demand(role != "system" or place == 0, f"messages.{place}: system is not first")
        if role == "tool":
            _check_result(message, waiting, place)
        else:
            _demand(not waiting, f"messages.{place}: calls without a result: {waiting}")
            _demand(role != before, f"messages.{place}: two {role} messages in a row")
        if role == "user" and before == "tool" and not rules.user_after_tool:
            raise Refusal("Unexpected role 'user' after role 'tool'", code=3230)
        if role == "assistant":
            waiting = _check_assistant(message, rules, place)
            _demand(not seen & set(waiting), f"messages.{place}: a call id comes back")
            seen |= set(waiting)
        elif role != "tool":
            _check_content(message.get("content"), place)
        before = role
    _demand(before in ("user", "tool"), "messages: the last one is neither user nor tool")
    _demand(not waiting, f"messages: calls without a result: {waiting}")


def _check_result(message: Mapping[str, Any], waiting: list[str], place: int) -> None:
    call_id = message.get("tool_call_id")
    _demand(call_id in waiting, f"messages.{place}: result of no open call {call_id!r}")
    waiting.remove(call_id)
    content = message.get("content")
    _demand(isinstance(content, str), f"messages.{place}: a result is text")
    _demand(bool(content.strip()), f"messages.{place}: empty result")


def _check_content(content: Any, place: int) -> None:
    if isinstance(content, str):
        _demand(bool(content.strip()), f"messages.{place}: blank text")
        return
    _demand(isinstance(content, list) and bool(content), f"messages.{place}: no content")
    for part in content:
        kind = part.get("type")
        if kind == "text":
            _demand(bool(part["text"].strip()), f"messages.{place}: blank text block")
        elif kind == "image_url":
            url = part["image_url"]["url"]
            _demand(url.startswith("data:image/"), f"messages.{place}: image is no data URL")
        else:
            raise Refusal(f"messages.{place}: part of type {kind!r}")


def _check_assistant(message: Mapping[str, Any], rules: Rules, place: int) -> list[str]:
    content = message.get("content")
    _demand(isinstance(content, str), f"messages.{place}: assistant content is no text")
    calls = message.get("tool_calls")
    if calls is None:
        _demand(bool(content.strip()), f"messages.{place}: empty assistant message")
        return []
    _demand(bool(calls), f"messages.{place}: tool_calls is an empty list")
    _demand(not content or bool(content.strip()), f"messages.{place}: blank text")
    reasons = bool(message.get("reasoning_content") or message.get("reasoning"))
    if rules.content_or_reasoning and content and reasons:
        raise Refusal(
            "Cannot pass both content and thinking in an assistant message with tool calls!",
            status=500,
            type="server_error",
        )
    if rules.wants_reasoning_back:
        _demand("reasoning_content" in message, f"messages.{place}: reasoning_content is missing")
    ids = [_check_call(call, rules, place) for call in calls]
    _demand(len(set(ids)) == len(ids), f"messages.{place}: two calls share an id")
    return ids


def _check_call(call: Mapping[str, Any], rules: Rules, place: int) -> str:
    unknown = set(call) - {"id", "type", "function", "extra_content"}
    _demand(not unknown, f"messages.{place}: unknown call field {sorted(unknown)}")
    _demand(call.get("type") == "function", f"messages.{place}: call type")
    function = call["function"]
    _demand(set(function) == {"name", "arguments"}, f"messages.{place}: call function fields")
    _demand(bool(_NAME.fullmatch(function["name"])), f"messages.{place}: {function['name']!r}")
    try:
        value = json.loads(function["arguments"])
    except ValueError:
        raise Refusal(
            "Failed to parse tool call arguments as JSON", status=500, type="server_error"
        ) from None
    _demand(isinstance(value, dict), f"messages.{place}: arguments are no object")
    call_id = call["id"]
    _demand(isinstance(call_id, str) and bool(call_id), f"messages.{place}: empty call id")
    if rules.nine_character_ids and not re.fullmatch(r"[a-zA-Z0-9]{9}", call_id):
        raise Refusal(
            f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9.",
            code=3280,
        )
    return call_id
