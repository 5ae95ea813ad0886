"""One call, whatever its handler does."""

import asyncio
import logging

import pytest

from makers.tools import ProbeArgs, make_context, make_entry, make_spec
from tools.errors import JailError
from tools.invoke import invoke
from tools.registry import Entry
from tools.result import ToolResult

UNKNOWN = "Whether the call took effect is unknown; it was not repeated."


async def run(tmp_path, do, **given):
    return await invoke(make_entry(do, **given), ProbeArgs(text="hello"), make_context(tmp_path))


async def test_a_result_comes_back_as_the_tool_gave_it(tmp_path):
    """L1."""

    async def echo(args, ctx):
        return ToolResult.ok(f"{args.text} from {ctx.producer}", external=True)

    assert await run(tmp_path, echo) == ToolResult.ok("hello from chat", external=True)


async def test_a_refused_path_is_an_error_result_and_not_from_outside(tmp_path):
    """L9: the refusal is steward's own word."""

    async def escape(args, ctx):
        ctx.jail.resolve("../x")

    result = await run(tmp_path, escape)
    assert result.is_error
    assert not result.external
    assert result.broken is None
    assert result.text == (
        '"../x" leads outside the workspace; give a path below it, such as notes/today.md'
    )


@pytest.mark.parametrize(
    ("read_only", "effect"),
    [(True, "It only reads, so nothing was changed."), (False, UNKNOWN)],
    ids=["reads", "writes"],
)
async def test_a_call_beyond_its_time_is_stopped_and_says_what_is_known(
    tmp_path, read_only, effect
):
    """L18."""
    stopped = []

    async def hang(args, ctx):
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(True)

    result = await run(tmp_path, hang, read_only=read_only, timeout_seconds=0.02)
    assert result == ToolResult.error(f"probe was stopped after 0.02 seconds. {effect}")
    assert stopped == [True]


@pytest.mark.parametrize(
    "bug",
    [ValueError("token=abc"), TimeoutError("its own"), PermissionError(13, "x"), KeyError("k")],
    ids=lambda bug: type(bug).__name__,
)
async def test_a_bug_becomes_a_broken_result_with_an_error_id_and_a_trace_in_the_log(
    tmp_path, bug, caplog
):
    """L1: the run ends with the id; the model and the transcript read that the effect is unknown."""

    async def break_down(args, ctx):
        raise bug

    with caplog.at_level(logging.ERROR, logger="steward.tools"):
        result = await run(tmp_path, break_down, read_only=False)
    assert result.is_error
    assert not result.external
    assert result.broken
    assert result.text == f"probe failed unexpectedly (error {result.broken}). {UNKNOWN}"
    (record,) = caplog.records
    assert (record.action, record.error_id, record.tool) == ("tool_broke", result.broken, "probe")
    assert record.exc_info[1] is bug
    assert "hello" not in record.getMessage()


async def test_a_handler_that_gives_no_result_is_broken(tmp_path):
    async def nothing(args, ctx):
        return None

    assert (await run(tmp_path, nothing)).broken


async def test_a_handler_that_cannot_be_loaded_is_broken_and_did_not_begin(tmp_path):
    entry = Entry(make_spec(handler="makers.tools:Missing", read_only=False))
    result = await invoke(entry, ProbeArgs(), make_context(tmp_path))
    assert result.broken
    assert result.text.endswith("The call did not begin.")


async def test_cancelling_the_run_cancels_the_call(tmp_path):
    """L18: cancellation passes and is never turned into a result."""
    began, ended = asyncio.Event(), asyncio.Event()

    async def hang(args, ctx):
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.create_task(run(tmp_path, hang))
    await asyncio.wait_for(began.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_a_refused_path_in_a_later_step_is_still_a_refusal(tmp_path):
    async def swapped(args, ctx):
        raise JailError("'notes' became a link while it was being opened; refused")

    assert (await run(tmp_path, swapped, read_only=False)).text.endswith("refused")
