"""`fs_read`: a page of a text file, with how to go on."""

import asyncio
from pathlib import Path

from tools.contract import Capabilities, Tool, ToolContext
from tools.files.args import ReadArgs
from tools.files.pages import BeyondEndError, BinaryFileError, Page, Wanted, read_page
from tools.files.place import failed, is_untrusted, narrowed_reading
from tools.result import ToolResult

MAX_PAGE_BYTES = 256 * 1024
MIN_PAGE_BYTES = 512
ROUND_THE_PAGE_BYTES = 1024  # the marker and both notices, so that a page is rarely cut again


class FsRead(Tool):
    """Reads; nothing is changed, not even the time of the last reading where that can be helped."""

    async def call(self, args: ReadArgs, ctx: ToolContext) -> ToolResult:
        """The page, external if the file may hold text that is not the owner's."""
        path = ctx.jail.resolve(args.path)
        return await asyncio.to_thread(_read, path, args, ctx)

    def capabilities_of(self, args: ReadArgs, ctx: ToolContext) -> Capabilities:
        """Untrusted input only where the file is untrusted."""
        return narrowed_reading(args.path, self.spec.capabilities, ctx)

    def truncation_hint(self, args: ReadArgs) -> str | None:
        """Fewer lines."""
        del args
        return "or read fewer lines with limit"


def _read(path: Path, args: ReadArgs, ctx: ToolContext) -> ToolResult:
    shown = ctx.jail.shown(path)
    room = min(ctx.output_budget_bytes - ROUND_THE_PAGE_BYTES, MAX_PAGE_BYTES)
    wanted = Wanted(
        line=args.offset,
        column=args.column,
        limit=args.limit,
        size_bytes=max(room, MIN_PAGE_BYTES),
        numbered=args.line_numbers,
    )
    try:
        with ctx.jail.open_read(path) as file:
            page = read_page(file, wanted)
    except OSError as error:
        return failed("read", path, error, ctx)
    except BinaryFileError:
        return ToolResult.error(f"{shown} is a binary file; it is not shown as text")
    except BeyondEndError as error:
        return ToolResult.error(f"nothing to read in {shown} from there: {error}")
    if not page.text:
        return ToolResult.ok(f"({shown} is empty)")
    return ToolResult.ok(page.text + _notice(page, args), external=is_untrusted(path, ctx))


def _notice(page: Page, args: ReadArgs) -> str:
    said = []
    whole = args.offset == 1 and args.column == 1 and page.next_line is None
    if not whole:
        total = "many" if page.lines is None else page.lines
        said.append(f"lines {args.offset} to {page.last_line} of {total} are shown")
    if page.next_line is not None:
        column = f" column={page.next_column}" if page.next_column > 1 else ""
        said.append(f"go on with offset={page.next_line}{column}")
    if page.unreadable:
        said.append(f"{page.unreadable} bytes are no UTF-8 and are shown as \ufffd")
    if not said:
        return ""
    between = "" if page.text.endswith("\n") else "\n"
    return f"{between}[{'; '.join(said)}]"
