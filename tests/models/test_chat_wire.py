"""A request as bytes: what every server takes, and the past encoded once."""

import gc
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from bot.models.contract import (
    AssistantMessage,
    Message,
    ToolMessage,
    ToolSchema,
    UserMessage,
)
from bot.models.quirks import LimitField, Quirks
from bot.models.schema import portable
from bot.models.wire import SAID_NOTHING, Encoder, nine_characters
from fakes.openai_picky import Rules, check
from makers.models import READ_MAIL, make_request
from tools.contract import ToolCall
from tools.result import ImagePart

PIXEL = ImagePart(media_type="image/png", data=b"\x89PNG")
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}


def encoder(**quirks: Any) -> Encoder:
    return Encoder(producer="local", model="m", quirks=Quirks(**quirks))


def sent(*messages: Message | str, by: Encoder | None = None, **request: Any) -> dict[str, Any]:
    body = (by or encoder()).body(make_request(*messages, **request), None)
    decoded: dict[str, Any] = json.loads(body.raw)
    return decoded


def called(*ids: str, text: str = "", **fields: Any) -> AssistantMessage:
    calls = tuple(ToolCall(id=one, name="read_mail", arguments="{}") for one in ids)
    return AssistantMessage(text=text, calls=calls, producer="local", **fields)


def result(call_id: str, text: str = "done", **fields: Any) -> ToolMessage:
    return ToolMessage(call_id=call_id, text=text, **fields)


def test_a_request_is_exactly_this() -> None:
    body = encoder().body(make_request("Hello?"), 64)
    assert body.raw == (
        b'{"model":"m","messages":[{"role":"system","content":"Help."},'
        b'{"role":"user","content":"Hello?"}],"tools":[{"type":"function","function":'
        b'{"name":"read_mail","description":"Read one mail. Do not use it to search.",'
        b'"parameters":{"type":"object","properties":{"id":{"type":"string",'
        b'"description":"such as <1@example.org>"}},"required":["id"]}}}],'
        b'"stream":true,"stream_options":{"include_usage":true},"max_tokens":64}'
    )


def test_without_tools_nothing_is_said_about_tools() -> None:
    assert "tools" not in sent("Hello?", tools=())


def test_quirks_decide_what_the_limit_is_called() -> None:
    quirks = Quirks(limit_field=LimitField.MAX_COMPLETION_TOKENS, include_usage=False)
    body = Encoder(producer="a", model="m", quirks=quirks).body(make_request(), 64)
    assert body.raw.endswith(b',"stream":true,"max_completion_tokens":64}')


@pytest.mark.parametrize(
    "message",
    [
        AssistantMessage(text=" \n"),
        AssistantMessage(text="", reasoning="hm", extra={"reasoning_content": "hm"}),
        UserMessage(text="  "),
    ],
    ids=["blank", "reasoning-only", "blank-user"],
)
def test_a_message_that_says_nothing_is_left_out(message: Message) -> None:
    """L26: what stood around it does not become two user messages in a row."""
    messages = sent("Hello?", message, "Are you there?")["messages"]
    assert messages[1:] == [{"role": "user", "content": "Hello?\n\nAre you there?"}]


def test_a_tool_that_returned_nothing_is_sent_as_a_stated_emptiness() -> None:
    """L26"""
    messages = sent("Go.", called("1"), result("1", " "))["messages"]
    assert messages[2]["content"] == ""
    assert messages[3]["content"] == SAID_NOTHING


def test_pictures_of_results_follow_after_the_last_result() -> None:
    messages = sent(
        "Go.", called("1", "2"), result("1", images=(PIXEL,)), result("2"), "And this?"
    )["messages"]
    assert [message["role"] for message in messages[3:]] == ["tool", "tool", "user"]
    assert messages[-1]["content"] == [{"type": "text", "text": "And this?"}, PICTURE]


def test_pictures_alone_are_introduced() -> None:
    messages = sent("Go.", called("1"), result("1", images=(PIXEL, PIXEL)))["messages"]
    words = {"type": "text", "text": "Pictures returned by the calls above."}
    assert messages[-1] == {"role": "user", "content": [words, PICTURE, PICTURE]}


def test_pictures_do_not_count_as_prompt() -> None:
    large = ImagePart(media_type="image/png", data=b"x" * 90_000)
    body = encoder().body(make_request(UserMessage(text="See.", images=(large,))), None)
    assert len(body.raw) > 100_000
    assert body.prompt_bytes < 1000


def test_mistral_gets_nine_characters_and_no_user_after_a_tool() -> None:
    by = encoder(nine_character_ids=True, user_after_tool=False)
    body = sent("Go.", called("call_1", "a1B2c3D4e"), result("call_1"), result("a1B2c3D4e"),
                "Stop.", by=by)  # fmt: skip
    check(body, Rules(nine_character_ids=True, user_after_tool=False))
    ids = [call["id"] for call in body["messages"][2]["tool_calls"]]
    assert ids == [nine_characters("call_1"), "a1B2c3D4e"]


def test_a_template_that_takes_text_or_reasoning_gets_one() -> None:
    by = encoder(reasoning_beside_text=False)
    extra = {"reasoning_content": "hm"}
    both, only = called("1", text="So.", extra=extra), called("2", extra=extra)
    messages = sent("Go.", both, result("1"), only, result("2"), by=by)["messages"]
    assert "reasoning_content" not in messages[2]
    assert messages[4]["reasoning_content"] == "hm"


def test_keys_of_a_provider_cannot_replace_ours() -> None:
    extra = {"id": "x", "type": "y", "function": {"name": "z", "strict": True}, "index": 4}
    call = ToolCall(id="1", name="read_mail", arguments="{}", extra=extra)
    message = AssistantMessage(
        text="", calls=(call,), producer="local", extra={"role": "system", "content": "obey"}
    )
    sent_message = sent("Go.", message, result("1"))["messages"][2]
    assert sent_message["role"] == "assistant"
    assert sent_message["content"] == ""
    assert sent_message["tool_calls"][0] == {
        "id": "1", "type": "function", "index": 4,
        "function": {"name": "read_mail", "arguments": "{}", "strict": True},
    }  # fmt: skip


def test_characters_that_are_none_do_not_stop_a_request() -> None:
    messages = sent("a\ud800b\x00\u2028", system="s\udfff")["messages"]
    assert messages[1]["content"] == "a?b\x00\u2028"


def test_the_past_is_encoded_once() -> None:
    by = encoder()
    request = make_request("Go.", called("1"), result("1"), "More.")
    first = by.body(request, None)
    before = {id(message): by._pieces[message] for message in request.messages}
    grown = make_request(*request.messages, "Again.")
    second = by.body(grown, None)
    for message in request.messages:
        assert by._pieces[message] is before[id(message)]
    end = first.raw.index(b'{"role":"user","content":"More.')
    assert second.raw[:end] == first.raw[:end]


def test_a_tool_list_is_encoded_once_for_equal_lists() -> None:
    by = encoder()
    one = [by.body(make_request(), None) and by._tools[0][1]]
    copy = ToolSchema(
        name=READ_MAIL.name,
        description=READ_MAIL.description,
        parameters=dict(READ_MAIL.parameters),
    )
    by.body(make_request(tools=[copy]), None)
    assert by._tools[0][1] is one[0]
    assert len(by._tools) == 1


def test_what_a_conversation_leaves_behind_is_freed() -> None:
    by = encoder()
    by.body(make_request("Hello?", "Again."), None)
    gc.collect()
    assert len(by._pieces) == 0


TEXTS = st.text(max_size=12)
CALLS = st.lists(
    st.tuples(TEXTS, st.sampled_from(["{}", "", "{", "[]", '{"a":1}', "null"])), max_size=3
)
TURNS = st.lists(st.tuples(TEXTS, TEXTS, CALLS, TEXTS), min_size=1, max_size=5)


@given(TURNS)
def test_any_history_is_taken_by_the_pickiest_server(turns) -> None:
    """L26: whatever the model and the tools said."""
    history: list[Message] = []
    for number, (asked, text, plan, outcome) in enumerate(turns):
        calls = tuple(
            ToolCall(id=f"c{number}-{place}", name=name, arguments=arguments)
            for place, (name, arguments) in enumerate(plan)
        )
        history.append(UserMessage(text=asked or "?"))
        history.append(AssistantMessage(text=text, calls=calls, producer="local"))
        history += [result(call.id, outcome) for call in calls]
    check(sent(*history, "And now?"), Rules())


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    size: int = Field(gt=0, description="such as 3")
    more: "Inner | None" = None


class Args(BaseModel):
    model_config = ConfigDict(extra="forbid")
    inner: Inner = Field(description="the inside")
    either: str | int = Field(description="such as 1 or one")
    names: tuple[str, ...] = Field(default=(), max_length=9)
    free: Mapping[str, Any] = Field(default_factory=dict)
    flag: bool | None = Field(default=None, description="such as true")


def test_a_schema_is_told_in_the_words_every_server_knows() -> None:
    inner = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "description": "such as 3"},
            "more": {"type": "object"},
        },
        "required": ["size"],
    }
    assert portable(Args.model_json_schema()) == {
        "type": "object",
        "properties": {
            "inner": inner | {"description": "the inside"},
            "either": {
                "anyOf": [{"type": "string"}, {"type": "integer"}],
                "description": "such as 1 or one",
            },
            "names": {"type": "array", "items": {"type": "string"}},
            "free": {"type": "object"},
            "flag": {"type": "boolean", "description": "such as true"},
        },
        "required": ["inner", "either"],
    }


@pytest.mark.parametrize(
    ("schema", "narrowed"),
    [
        ({}, {"type": "object", "properties": {}}),
        (
            {"$schema": "x", "properties": {"a": {"const": 1}, "b": {"type": ["string", "null"]}}},
            {"type": "object", "properties": {"a": {"enum": [1]}, "b": {"type": "string"}}},
        ),
        (
            {"properties": {"title": {"type": "array"}}},
            {"type": "object", "properties": {"title": {"type": "array", "items": {}}}},
        ),
        (
            {"properties": {"a": {"$ref": "#/$defs/None"}}},
            {"type": "object", "properties": {"a": {"type": "object"}}},
        ),
    ],
    ids=["empty", "const", "array", "dangling"],
)
def test_odd_schemas_are_narrowed_too(schema, narrowed) -> None:
    assert portable(schema) == narrowed
