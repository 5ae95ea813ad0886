"""`fs_list`: names, kinds and sizes in a folder."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from tools.contract import Capabilities, FileKind, Listed, Tool, ToolContext
from tools.errors import JailError
from tools.files.args import ListArgs
from tools.files.place import any_untrusted, failed, is_untrusted, narrowed_reading
from tools.result import ToolResult

MAX_SHOWN = 1000
MAX_NAMES = 10_000  # of one folder; more are counted as "more"


class FsList(Tool):
    """Lists; links are named and not followed."""

    async def call(self, args: ListArgs, ctx: ToolContext) -> ToolResult:
        """The listing, external if a name in it was given to a file that is not the owner's."""
        path = ctx.jail.resolve(args.path)
        return await asyncio.to_thread(_list, path, args.depth, ctx)

    def capabilities_of(self, args: ListArgs, ctx: ToolContext) -> Capabilities:
        """Untrusted input only where the folder holds something untrusted."""
        return narrowed_reading(args.path, self.spec.capabilities, ctx)

    def truncation_hint(self, args: ListArgs) -> str | None:
        """A folder below, or less deep."""
        del args
        return "or list a folder below, or with a smaller depth"


@dataclass(slots=True, kw_only=True)
class _Listing:
    lines: list[str] = field(default_factory=list)
    shown: list[tuple[Path, FileKind]] = field(default_factory=list)
    more: bool = False


def _list(folder: Path, depth: int, ctx: ToolContext) -> ToolResult:
    listing = _Listing()
    try:
        _add(listing, folder, depth, ctx)
    except OSError as error:
        return failed("list", folder, error, ctx)
    if not listing.lines:
        return ToolResult.ok(f"({ctx.jail.shown(folder)} is an empty folder)")
    if listing.more:
        listing.lines.append(f"[{len(listing.shown)} names are shown; there are more]")
    return ToolResult.ok("\n".join(listing.lines), external=_is_external(listing, folder, ctx))


def _add(listing: _Listing, folder: Path, depth: int, ctx: ToolContext) -> None:
    names = ctx.jail.list_folder(folder, limit=MAX_NAMES)
    listing.more = listing.more or len(names) >= MAX_NAMES
    for each in names:
        if len(listing.shown) >= MAX_SHOWN:
            listing.more = True
            return
        path = folder / each.name
        listing.shown.append((path, each.kind))
        listing.lines.append(_line(path, each, ctx))
        if each.kind is FileKind.FOLDER and depth > 1:
            _add_below(listing, path, depth - 1, ctx)


def _add_below(listing: _Listing, folder: Path, depth: int, ctx: ToolContext) -> None:
    try:
        _add(listing, folder, depth, ctx)
    except (OSError, JailError) as error:  # one closed folder does not hide the others
        reason = error.strerror if isinstance(error, OSError) else "refused"
        listing.lines.append(f"{ctx.jail.shown(folder)}/  (cannot be listed: {reason})")


def _line(path: Path, each: Listed, ctx: ToolContext) -> str:
    shown = ctx.jail.shown(path)
    match each.kind:
        case FileKind.FILE:
            return f"{shown}  {each.size_bytes} bytes"
        case FileKind.FOLDER:
            return f"{shown}/"
        case FileKind.LINK:
            return f"{shown}  (a link)"
        case FileKind.OTHER:
            return f"{shown}  (no regular file)"


def _is_external(listing: _Listing, folder: Path, ctx: ToolContext) -> bool:
    """A folder counts by what is in it: its name came with the first file put there."""
    if not any_untrusted(folder, ctx):
        return False
    return any(
        any_untrusted(path, ctx) if kind is FileKind.FOLDER else is_untrusted(path, ctx)
        for path, kind in listing.shown
    )
