"""`fs_edit`: one piece of text for another.

Why external: what steward knows of a file's taint is who wrote it last. An edit from a clean
conversation must not turn a stranger's file into the owner's, so the result of editing an untrusted
file is external: the taint it brings is recorded in the one transaction that also records the file
as written, and file and conversation stay untrusted together.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from tools.contract import Capabilities, Tool, ToolContext
from tools.files.args import EditArgs
from tools.files.place import failed, is_untrusted, narrowed_writing
from tools.result import ToolResult

MAX_FILE_BYTES = 16 * 1024 * 1024
PLACES_NAMED = 10


class FsEdit(Tool):
    """Edits, at once or not at all."""

    async def call(self, args: EditArgs, ctx: ToolContext) -> ToolResult:
        """The path and line edited; an error that counts the places where there is not just one."""
        path = ctx.jail.resolve(args.path)
        return await asyncio.to_thread(_edit, path, args, ctx)

    def capabilities_of(self, args: EditArgs, ctx: ToolContext) -> Capabilities:
        """Not destructive in the run's own scratch; untrusted input where the file is untrusted."""
        return narrowed_writing(args.path, self.spec.capabilities, ctx)

    def writes(self, args: EditArgs, ctx: ToolContext) -> tuple[Path, ...]:
        """The file named."""
        return (ctx.jail.resolve(args.path),)


def _edit(path: Path, args: EditArgs, ctx: ToolContext) -> ToolResult:
    shown = ctx.jail.shown(path)
    if args.old == args.new:
        return ToolResult.error(f"nothing to do in {shown}: old and new are the same")
    external = is_untrusted(path, ctx)
    try:
        with ctx.jail.open_read(path) as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            return ToolResult.error(f"{shown} is larger than {MAX_FILE_BYTES} bytes; not edited")
        old, new = _in_its_line_ends(data, args)
        places = list(_places(data, old))
        if len(places) != 1:
            return ToolResult.error(_not_one_place(shown, data, places))
        ctx.jail.write(path, data[: places[0]] + new + data[places[0] + len(old) :])
    except OSError as error:
        return failed("edit", path, error, ctx)
    line = data.count(b"\n", 0, places[0]) + 1
    return ToolResult.ok(f"edited {shown} at line {line}", external=external, files=[path])


def _in_its_line_ends(data: bytes, args: EditArgs) -> tuple[bytes, bytes]:
    """A file of CRLF lines is edited by one who sees only LF, and keeps its line ends."""
    old, new = args.old.encode("utf-8"), args.new.encode("utf-8")
    if b"\r\n" not in data or old in data:
        return old, new
    return _with_crlf(old), _with_crlf(new)


def _with_crlf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _places(data: bytes, old: bytes) -> Iterator[int]:
    """Where `old` begins, overlapping places counted too: each is another reading of the edit."""
    start = data.find(old)
    while start >= 0:
        yield start
        start = data.find(old, start + 1)


def _not_one_place(shown: str, data: bytes, places: list[int]) -> str:
    if not places:
        return f"old does not stand in {shown}, letter for letter; read the file again"
    lines = ", ".join(str(data.count(b"\n", 0, place) + 1) for place in places[:PLACES_NAMED])
    more = ", ..." if len(places) > PLACES_NAMED else ""
    return (
        f"old stands in {shown} at {len(places)} places (lines {lines}{more}); "
        "give more of the text round the one that is meant"
    )
