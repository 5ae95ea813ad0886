"""The first steps of a turn: what a call is judged by where its tool cannot say, or may not."""

from dataclasses import replace
from pathlib import Path

import pytest

from makers.gate import (
    DESTRUCTIVE,
    UNTRUSTED,
    PersonDoor,
    ScriptedTool,
    ToolArgs,
    call,
    make_bench,
    make_spec,
)
from outbox.approval import no
from tools.contract import Capabilities, EffectScope, ToolContext
from tools.registry import Entry, Registry
from tools.result import ToolResult

SAVE = make_spec("save", DESTRUCTIVE, read_only=False, scope=EffectScope.FILES)


class Speechless(ScriptedTool):
    """It has a bug where it should say what a call can do."""

    def capabilities_of(self, args: ToolArgs, ctx: ToolContext) -> Capabilities:
        """A bug."""
        raise PermissionError("a folder that is closed")


class Nameless(ScriptedTool):
    """It has a bug where it should name the files a call writes, and would narrow what it can do."""

    def capabilities_of(self, args: ToolArgs, ctx: ToolContext) -> Capabilities:
        """Nothing at all."""
        return Capabilities()

    def writes(self, args: ToolArgs, ctx: ToolContext) -> tuple[Path, ...]:
        """A bug."""
        raise KeyError("path")


@pytest.mark.parametrize("handler", [Speechless, Nameless])
async def test_a_call_whose_tool_cannot_say_what_it_would_do_is_judged_by_all_it_declares(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, handler: type[ScriptedTool]
) -> None:
    """L20: the run goes on, and the log has the trace."""
    door = PersonDoor(approval=no("not now"))
    bench = make_bench(tmp_path, door=door)
    entry = Entry(SAVE, handler(SAVE, bench.ran, None))
    bench.parts = replace(bench.parts, registry=Registry([entry]))
    refused = await bench.one(call("save"))
    assert "not now" in refused.result.text
    assert [request.tool for request in door.requests] == ["save"]
    assert bench.ran == []
    (record,) = [each for each in caplog.records if each.name == "steward.gate"]
    assert (record.tool, record.exc_info is not None) == ("save", True)  # type: ignore[attr-defined]
    bench.store.close()


async def test_a_call_that_cannot_name_its_files_marks_the_whole_root(tmp_path: Path) -> None:
    """L31"""
    root = tmp_path / "own"
    root.mkdir()
    (root / "any.txt").write_text("words")
    bench = make_bench(tmp_path, door=PersonDoor(), root=root)

    async def saves(args: ToolArgs, ctx: ToolContext) -> ToolResult:
        return ToolResult.ok("saved")

    entry = Entry(SAVE, Nameless(SAVE, bench.ran, saves))
    bench.parts = replace(bench.parts, registry=Registry([entry]))
    assert not (await bench.one(call("save"), taint=UNTRUSTED)).result.is_error
    assert bench.parts.files.is_untrusted(root / "any.txt")
    bench.store.close()


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/passwd"])
async def test_nobody_is_asked_about_a_call_that_the_jail_refuses(
    tmp_path: Path, path: str
) -> None:
    """P5"""
    door = PersonDoor()
    bench = make_bench(tmp_path, door=door, root=tmp_path / "own")
    asked = await bench.one(call("fs_write", path="inside.txt", content="x"))
    assert (len(door.requests), asked.result.is_error) == (1, False)
    refused = await bench.one(call("fs_write", path=path, content="x"))
    assert refused.result.is_error
    assert "outside the workspace" in refused.result.text
    assert len(door.requests) == 1
    bench.store.close()
