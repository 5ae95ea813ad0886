"""The todo tool."""

import json
from typing import Any

import pytest

from makers.tools import built_in, make_context
from tools.arguments import ArgumentProblem, decode_arguments
from tools.contract import ToolContext
from tools.invoke import invoke
from tools.result import ToolResult

STEPS = [
    {"text": "read the thread", "status": "done"},
    {"text": "draft\nthe answer", "status": "doing"},
    {"text": "ask about Friday"},
]
SHOWN = "[x] read the thread\n[~] draft the answer\n[ ] ask about Friday"


@pytest.fixture
def ctx(tmp_path) -> ToolContext:
    return make_context(tmp_path, needs={"todo_dir": tmp_path / "todo"})


async def run(ctx: ToolContext, **args: Any) -> ToolResult:
    entry = built_in("todo")
    return await invoke(entry, decode_arguments(entry.spec, json.dumps(args)), ctx)


async def test_the_list_is_replaced_whole_and_shown(ctx, tmp_path):
    assert await run(ctx, items=STEPS) == ToolResult.ok(SHOWN)
    assert await run(ctx) == ToolResult.ok(SHOWN)
    assert (await run(ctx, items=STEPS[:1])).text == "[x] read the thread"
    assert (await run(ctx, items=[])).text == "(the todo list is empty)"
    assert [path.name for path in (tmp_path / "todo").iterdir()] == ["s1.json"]
    assert oct((tmp_path / "todo" / "s1.json").stat().st_mode & 0o777) == "0o600"


async def test_a_compaction_carries_the_list_word_for_word_and_an_empty_one_not_at_all(ctx):
    """Its own state, for whoever shortens a conversation."""
    handler = built_in("todo").handler
    assert handler.carried_state(ctx) is None
    await run(ctx, items=STEPS)
    state = handler.carried_state(ctx)
    assert state is not None
    assert (state.title, state.text) == ("The todo list", SHOWN)


async def test_a_damaged_list_is_an_empty_one_and_can_be_written_anew(ctx, tmp_path):
    """R3: a broken record does not stop the rest."""
    (tmp_path / "todo").mkdir()
    (tmp_path / "todo" / "s1.json").write_text("{broken")
    assert (await run(ctx)).text == "(the todo list is empty)"
    assert (await run(ctx, items=STEPS)).text == SHOWN


async def test_a_list_that_cannot_be_kept_is_said(ctx, tmp_path):
    """R3."""
    (tmp_path / "todo").write_text("a file where the folder should be")
    result = await run(ctx, items=STEPS)
    assert result == ToolResult.error("the todo list cannot be kept: File exists")
    assert (await run(ctx)).is_error


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([{"text": "x"}] * 101, "items must be at most 100 entries long"),
        ([{"text": ""}], "items[0].text must be at least 1 characters long"),
        ([{"text": "x" * 501}], "items[0].text must be at most 500 characters long"),
        (
            [{"text": "x", "status": "maybe"}],
            "items[0].status must be one of 'open', 'doing' or 'done'",
        ),
    ],
    ids=["many", "empty", "long", "status"],
)
def test_the_list_is_bounded(items, said):
    """L30."""
    with pytest.raises(ArgumentProblem) as caught:
        decode_arguments(built_in("todo").spec, json.dumps({"items": items}))
    assert str(caught.value) == f"arguments of todo refused: {said}. Accepted fields: items"
