"""One answer out of the chunks of a stream, in every form they were seen in."""

import json
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.accumulate import Assembly
from bot.models.contract import Finish, ReasoningDelta, Reply, TextDelta
from bot.models.think import ThinkSplitter

TEXTS = st.text(max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(TEXTS, JSON, max_size=3)
PLACES = st.lists(st.integers(min_value=0, max_value=200), max_size=5)


def close(assembly: Assembly, taken: tuple[str, ...] = (), cut: str = "") -> Reply:
    numbers = count(1)
    return assembly.close(mint=lambda: f"minted-{next(numbers)}", taken=taken, cut=cut)[1]


def assembled(*deltas: dict, finish: str | None = "stop") -> Reply:
    assembly = Assembly(producer="local")
    for delta in deltas:
        assembly.feed({"choices": [{"index": 0, "delta": delta}]})
    assembly.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return close(assembly)


def call(name: str = "", arguments: object = "", **keys: object) -> dict:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return {"function": function, **keys}


def pieces(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


def brief(reply: Reply) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in reply.message.calls]


@pytest.mark.parametrize(
    ("deltas", "calls"),
    [
        (
            [[call("a", "", index=0, id="1")], [call("", '{"x"', index=0)], [call("", ":1}", index=0)]],
            [("1", "a", '{"x":1}')],
        ),
        ([[call("a", "{}", index=0, id="1")], [call("b", "{}", index=0, id="2")]],
         [("1", "a", "{}"), ("2", "b", "{}")]),
        ([[call("a", "", index=0, id="1")], [call("b", "", index=0, id="2")]],
         [("1", "a", "{}"), ("2", "b", "{}")]),
        ([[call("a", "{}", id="1"), call("b", "{}", id="2")]], [("1", "a", "{}"), ("2", "b", "{}")]),
        ([[call("a", "{}")], [call("a", '{"x":1}')]],
         [("minted-1", "a", "{}"), ("minted-2", "a", '{"x":1}')]),
        ([[call("a")], [call("b")]], [("minted-1", "a", "{}"), ("minted-2", "b", "{}")]),
        ([[call("a", "", index=0)], [call("", "{}", index=0, id="1")]], [("1", "a", "{}")]),
        ([[call("a", "{", index=0, id="1")], [call("a", "}", index=0, id="1")]], [("1", "a", "{}")]),
        ([[call("a", "{", id="1")], [call("", "}")]], [("1", "a", "{}")]),
        ([[call("a", '{"x":1}', index=0, id="1")]] * 2, [("1", "a", '{"x":1}')]),
        ([[call("a", {"x": "é"}, index=0, id="1")]], [("1", "a", '{"x":"é"}')]),
        ([[call("a", "{}", index=0, id="1")], [call("b", "{}", index=1, id="1")]],
         [("1", "a", "{}"), ("minted-1", "b", "{}")]),
        ([[call("a", "{}", index=0, id=""), call("b", "{}", index=1, id="")]],
         [("minted-1", "a", "{}"), ("minted-2", "b", "{}")]),
        ([[call("a", "{}", index=0, id="used")]], [("minted-1", "a", "{}")]),
        ([[call("a", "null", index=0, id="1")]], [("1", "a", "null")]),
        ([None, "x", [None, 3, call("a", None, index=True, id=5)]], [("minted-1", "a", "{}")]),
    ],
    ids=[
        "usual", "index-0-new-id", "index-0-new-id-no-arguments", "no-index", "no-index-no-id",
        "no-index-no-id-no-arguments", "late-id", "name-always", "tail-without-anything",
        "said-twice", "object", "shared-id", "empty-ids", "id-of-an-earlier-turn", "no-object",
        "junk",
    ],
)  # fmt: skip
def test_calls_are_told_apart(deltas, calls) -> None:
    assembly = Assembly(producer="local")
    for entries in deltas:
        assembly.feed({"choices": [{"index": 0, "delta": {"tool_calls": entries}}]})
    assembly.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    assert brief(close(assembly, taken=("used",))) == calls


@given(st.lists(st.tuples(ARGUMENTS, PLACES), min_size=1, max_size=4), st.randoms())
def test_interleaved_pieces_of_calls_come_back_whole(plan, chance) -> None:
    """L1: whatever the order between calls, each one's own pieces are joined."""
    wanted = [json.dumps(arguments, ensure_ascii=False) for arguments, _ in plan]
    queues = []
    for index, (text, (_, places)) in enumerate(zip(wanted, plan, strict=True)):
        head = call(f"tool{index}", "", index=index, id=f"id{index}")
        queues.append([head, *(call("", piece, index=index) for piece in pieces(text, places))])
    assembly = Assembly(producer="local")
    while queues:
        queue = chance.choice(queues)
        assembly.feed({"choices": [{"delta": {"tool_calls": [queue.pop(0)]}}]})
        queues = [queue for queue in queues if queue]
    assembly.feed({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    reply = close(assembly)
    found = {call.name: (call.id, call.arguments) for call in reply.message.calls}
    assert found == {f"tool{index}": (f"id{index}", text) for index, text in enumerate(wanted)}


@given(ARGUMENTS, st.integers(min_value=0))
def test_a_call_is_kept_after_a_cut_only_if_it_is_whole(arguments: dict, place: int) -> None:
    """L25"""
    text = json.dumps(arguments)
    part = text[: place % (len(text) + 1)]
    reply = assembled({"tool_calls": [call("a", part, index=0, id="1")]}, finish=None)
    assert reply.finish is Finish.TRUNCATED
    assert [call.arguments for call in reply.message.calls] == ([text] if part == text else [])


@given(JSON | st.dictionaries(st.sampled_from(["choices", "usage", "delta"]), JSON))
def test_a_chunk_of_any_shape_is_survived(value) -> None:
    assembly = Assembly(producer="local")
    shapes = [value, {"delta": value}, {"delta": {"content": value, "tool_calls": value}}]
    shapes.append({"delta": {"reasoning_details": value, "tool_calls": [{"function": value}]}})
    for shape in shapes:
        assembly.feed({"choices": [shape], "usage": value})
        assembly.feed({"choices": shape})
    assert close(assembly).finish is Finish.TRUNCATED


@given(TEXTS, TEXTS, PLACES)
def test_a_think_block_is_parted_wherever_its_tags_are_cut(
    thought: str, answer: str, places: list[int]
) -> None:
    content = f"<think>{thought}</think>{answer}"
    splitter = ThinkSplitter()
    heard = [splitter.feed(piece) for piece in pieces(content, places)] + [splitter.close()]
    assert "".join(reasoning for _, reasoning in heard) == thought
    assert "".join(text for text, _ in heard) == answer.lstrip()


@given(TEXTS.filter(lambda text: not text.lstrip().startswith("<think>")), PLACES)
def test_text_without_a_leading_block_is_left_alone(text: str, places: list[int]) -> None:
    splitter = ThinkSplitter()
    heard = [splitter.feed(piece) for piece in pieces(text, places)] + [splitter.close()]
    assert "".join(text for text, _ in heard) == text
    assert not any(reasoning for _, reasoning in heard)


@pytest.mark.parametrize(
    ("content", "prefilled", "text", "reasoning"),
    [
        ("use <think> and </think> so", False, "use <think> and </think> so", ""),
        ("<think>never closed", False, "", "never closed"),
        ("hm</think>yes", True, "yes", "hm"),
        ("hm</think>yes", False, "hm</think>yes", ""),
        ("<thin", False, "<thin", ""),
        ("\n<think>\n</think>\n\nyes", False, "yes", "\n"),
    ],
)
def test_only_a_block_that_opens_the_answer_is_reasoning(
    content: str, prefilled: bool, text: str, reasoning: str
) -> None:
    assembly = Assembly(producer="local", think_prefilled=prefilled)
    assembly.feed({"choices": [{"delta": {"content": content}, "finish_reason": "stop"}]})
    message = close(assembly).message
    assert (message.text, message.reasoning) == (text, reasoning)
    assert message.extra == {}


def test_content_in_parts_is_read() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "yes"},
    ]
    assembly = Assembly(producer="local")
    deltas = assembly.feed({"choices": [{"delta": {"content": parts}}]})
    assert deltas == [ReasoningDelta(text="hm"), TextDelta(text="yes")]


def test_reasoning_said_in_two_fields_counts_once_and_goes_back_in_both() -> None:
    reply = assembled({"reasoning": "hm", "reasoning_content": "hm"})
    assert reply.message.reasoning == "hm"
    assert reply.message.extra == {"reasoning": "hm", "reasoning_content": "hm"}


def test_reasoning_blocks_are_joined_by_index_and_type() -> None:
    def block(**keys: object) -> dict:
        return {"reasoning_details": [keys]}

    reply = assembled(
        block(type="reasoning.summary", index=0, summary="a"),
        block(type="reasoning.summary", index=0, summary="b", id="r1"),
        block(type="reasoning.encrypted", index=1, data="x"),
        block(type="reasoning.text", text="no index"),
    )
    assert reply.message.reasoning == "abno index"
    assert reply.message.extra["reasoning_details"] == [
        {"type": "reasoning.summary", "index": 0, "summary": "ab", "id": "r1"},
        {"type": "reasoning.encrypted", "index": 1, "data": "x"},
        {"type": "reasoning.text", "text": "no index"},
    ]


def test_another_choice_is_not_mixed_in() -> None:
    assembly = Assembly(producer="local")
    chunk = {"choices": [{"index": 1, "delta": {"content": "b"}}, {"delta": {"content": "a"}}]}
    assert assembly.feed(chunk) == [TextDelta(text="a")]
