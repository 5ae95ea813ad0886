"""The strict decoder of arguments."""

import json
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from makers.tools import make_spec
from tools.arguments import MAX_BYTES, ArgumentProblem, decode_arguments


class Step(BaseModel):
    model_config = ConfigDict(extra="forbid")

    what: str
    weight: float = 1.0


class Everything(BaseModel):
    model_config = ConfigDict(extra="forbid")

    to: tuple[str, ...] = ()
    count: int = Field(default=1, ge=1, le=9)
    flag: bool = False
    mode: Literal["short", "long"] = "short"
    steps: list[Step] = []
    extra: dict[str, int] = {}
    name: str | None = None
    code: str = Field(default="ab", pattern="^[a-z]+$", max_length=4)


class Needed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    body: str


SPEC = make_spec("writer", args="test_arguments:Everything")
NEEDED = make_spec("writer", args="test_arguments:Needed")
ACCEPTED = "Accepted fields: to, count, flag, mode, steps, extra, name, code"


def refusal(raw: str, spec=SPEC) -> str:
    with pytest.raises(ArgumentProblem) as caught:
        decode_arguments(spec, raw)
    return str(caught.value)


@pytest.mark.parametrize("raw", ["", "  \n", "{}"], ids=["empty", "blank", "object"])
def test_no_text_means_no_arguments(raw):
    """L30: some models send nothing at all for a tool without required fields."""
    assert decode_arguments(SPEC, raw) == Everything()


def test_whole_arguments_arrive_as_the_tools_own_model():
    raw = '{"to": ["a", "b"], "count": 3, "steps": [{"what": "x", "weight": 2}], "mode": "long"}'
    args = decode_arguments(SPEC, raw)
    assert args == Everything(
        to=("a", "b"), count=3, steps=[Step(what="x")], mode="long"
    ).model_copy(update={"steps": [Step(what="x", weight=2.0)]})


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("null", "arguments refused: they must be one JSON object, such as {}"),
        ("[1]", "arguments refused: they must be one JSON object, such as {}"),
        ('"text"', "arguments refused: they must be one JSON object, such as {}"),
        (
            '{"count": 1} and more',
            "arguments refused: there is text after the JSON object; send one object only",
        ),
        ('{"count": 1}{}', "arguments refused: there is text after the JSON object; send one object only"),
        ('{"count": ', "arguments refused: not valid JSON at line 1, column 11; send one JSON object"),
        ('{"count": NaN}', "arguments refused: NaN and Infinity are not JSON numbers"),
        ('{"count": -Infinity}', "arguments refused: NaN and Infinity are not JSON numbers"),
        ('{"count": 1e999}', "arguments refused: a number is too large"),
        ('{"count": ' + "9" * 5000 + "}", "arguments refused: a number has too many digits"),
        ('{"count": 1, "count": 2}', "arguments refused: one object names a field twice; name each once"),
        ('{"extra": ' * 40 + "1" + "}" * 40, "arguments refused: nested more than 32 levels deep; flatten them"),
        ('{"extra": ' + "[" * 100_000, "arguments refused: nested more than 32 levels deep; flatten them"),
        ('{"name": "\\ud800"}', "arguments refused: a text holds half of a surrogate pair"),
    ],
    ids=[
        "null", "list", "string", "text-after", "object-after", "cut", "nan", "infinity", "overflow",
        "digits", "duplicate", "deep", "bottomless", "surrogate",
    ],
)  # fmt: skip
def test_what_is_no_single_json_object_is_refused(raw, said):
    """L30."""
    assert refusal(raw) == said


def test_arguments_larger_than_the_limit_are_refused_unread():
    """L30: the limit is in bytes, so that wide characters count as what they are."""
    assert "larger than" in refusal('{"name": "' + "é" * (MAX_BYTES // 2) + '"}')


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ('{"tos": []}', "unknown field tos"),
        ('{"sk-123": 1}', "unknown field"),
        ('{"steps": [{"what": "x", "wait": 1}]}', "unknown field wait in steps[0]"),
        ('{"count": "5"}', "count must be a whole number"),
        ('{"count": 5.0}', "count must be a whole number"),
        ('{"count": true}', "count must be a whole number"),
        ('{"count": null}', "count must be a whole number"),
        ('{"count": 0}', "count must be at least 1"),
        ('{"count": 10}', "count must be at most 9"),
        ('{"flag": "yes"}', "flag must be true or false"),
        ('{"flag": 1}', "flag must be true or false"),
        ('{"to": "ada"}', "to must be a list"),
        ('{"to": [1]}', "to[0] must be text"),
        ('{"mode": "medium"}', "mode must be one of 'short' or 'long'"),
        ('{"steps": [3]}', "steps[0] must be an object"),
        ('{"steps": [{}]}', "steps[0].what is missing"),
        ('{"steps": [{"what": "x", "weight": "1"}]}', "steps[0].weight must be a number"),
        ('{"extra": {"a stranger": "x"}}', "extra must be a whole number"),
        ('{"name": 3}', "name must be text"),
        ('{"code": "A"}', "code must be text that matches ^[a-z]+$"),
        ('{"code": "abcde"}', "code must be at most 4 characters long"),
        ('{"count": "5", "flag": 1}', "count must be a whole number; flag must be true or false"),
    ],
    ids=lambda value: value if value.startswith("{") else "",
)
def test_a_refusal_names_the_field_and_the_kind_it_expects(raw, said):
    """L30: an unknown field, a wrong type, a bad word."""
    assert refusal(raw) == f"arguments of writer refused: {said}. {ACCEPTED}"


def test_a_missing_field_is_named():
    """L30."""
    assert refusal("{}", NEEDED) == (
        "arguments of writer refused: body is missing. Accepted fields: body"
    )


def test_a_whole_number_may_stand_for_a_number():
    args = decode_arguments(SPEC, '{"steps": [{"what": "x", "weight": 2}]}')
    assert args.steps[0].weight == 2.0


def test_trace_context_is_accepted_and_hidden_from_the_tool():
    """L30: `_meta` is the one field beyond the tool's own."""
    assert decode_arguments(SPEC, '{"count": 2, "_meta": {"traceparent": "00-1"}}') == Everything(
        count=2
    )
    assert refusal('{"_meta": 1}') == "arguments of writer refused: _meta must be an object"


SECRET = "Zq7-secret"
TEXT = st.text('aé{}[]"\\\0 1,:\ud800', max_size=8) | st.just(SECRET)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from([*Everything.model_fields, "_meta", SECRET, "unknown"])


def refused(raw: str) -> str:
    """The refusal, empty where there is none; anything else that is raised fails the test."""
    try:
        decode_arguments(SPEC, raw)
    except ArgumentProblem as problem:
        return str(problem)
    return ""


@given(value=st.dictionaries(FIELDS, VALUES, max_size=6))
@settings(max_examples=300, deadline=None)
def test_a_refusal_never_repeats_a_value_or_an_unknown_key(value: dict[str, Any]):
    """L30: and nothing but a refusal is ever raised."""
    said = refused(json.dumps(value))
    assert SECRET not in said
    assert len(said) < 1000


@given(raw=TEXT | st.binary().map(lambda data: data.decode("latin-1")))
@settings(max_examples=300, deadline=None)
def test_no_text_makes_the_decoder_raise_anything_but_a_refusal(raw: str):
    """L30."""
    assert len(refused(raw)) < 1000
