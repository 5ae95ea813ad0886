"""`fs_write`: a file's whole content."""

import asyncio
from pathlib import Path

from tools.contract import Capabilities, Tool, ToolContext
from tools.files.args import WriteArgs
from tools.files.place import failed, narrowed_writing
from tools.result import ToolResult


class FsWrite(Tool):
    """Writes, at once or not at all."""

    async def call(self, args: WriteArgs, ctx: ToolContext) -> ToolResult:
        """The path and size written."""
        path = ctx.jail.resolve(args.path)
        return await asyncio.to_thread(_write, path, args.content, ctx)

    def capabilities_of(self, args: WriteArgs, ctx: ToolContext) -> Capabilities:
        """Not destructive in the run's own scratch directory."""
        return narrowed_writing(args.path, self.spec.capabilities, ctx)

    def writes(self, args: WriteArgs, ctx: ToolContext) -> tuple[Path, ...]:
        """The file named."""
        return (ctx.jail.resolve(args.path),)


def _write(path: Path, content: str, ctx: ToolContext) -> ToolResult:
    data = content.encode("utf-8")
    try:
        new = ctx.jail.write(path, data)
    except OSError as error:
        return failed("write", path, error, ctx)
    verb = "created" if new else "replaced"
    return ToolResult.ok(f"{verb} {ctx.jail.shown(path)} ({len(data)} bytes)", files=[path])
