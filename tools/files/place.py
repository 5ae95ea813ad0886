"""What the file tools share: whose words a file holds, and how a failure is told."""

from dataclasses import replace
from pathlib import Path

from tools.contract import Capabilities, ToolContext
from tools.errors import JailError
from tools.output import is_external_spill
from tools.result import ToolResult


def is_untrusted(path: Path, ctx: ToolContext) -> bool:
    """True if the file may hold text that is not the owner's, as the gate's records tell.

    A saved result says it by its name. A name that is no Unicode text cannot be looked up: True.
    """
    if ctx.jail.in_spill(path):
        return is_external_spill(path)
    return not _is_unicode(path) or ctx.file_taint.is_untrusted(path)


def any_untrusted(folder: Path, ctx: ToolContext) -> bool:
    """True if any file below the folder may hold text that is not the owner's."""
    if ctx.jail.in_spill(folder) or not _is_unicode(folder):
        return True
    return ctx.file_taint.any_untrusted(folder)


def narrowed_reading(path: str, declared: Capabilities, ctx: ToolContext) -> Capabilities:
    """The declared capabilities; without untrusted input where nothing at `path` is untrusted."""
    try:
        resolved = ctx.jail.resolve(path)
    except JailError:
        return declared
    judge = any_untrusted if resolved.is_dir() else is_untrusted
    untrusted = judge(resolved, ctx)
    return replace(declared, untrusted_input=declared.untrusted_input and untrusted)


def narrowed_writing(path: str, declared: Capabilities, ctx: ToolContext) -> Capabilities:
    """The declared capabilities; not destructive in the run's own scratch directory."""
    try:
        resolved = ctx.jail.resolve(path)
    except JailError:
        return declared
    return replace(
        declared,
        destructive=declared.destructive and not ctx.jail.in_scratch(resolved),
        untrusted_input=declared.untrusted_input and is_untrusted(resolved, ctx),
    )


def would_write(path: str, ctx: ToolContext) -> tuple[Path, ...]:
    """The canonical file, or nothing where the jail will refuse the call."""
    try:
        return (ctx.jail.resolve(path),)
    except JailError:
        return ()


def failed(doing: str, path: Path, error: OSError, ctx: ToolContext) -> ToolResult:
    """`cannot read notes/x.md: no such file or directory`, and nothing of the error's own path."""
    reason = (error.strerror or type(error).__name__).lower()
    return ToolResult.error(f"cannot {doing} {ctx.jail.shown(path)}: {reason}")


def _is_unicode(path: Path) -> bool:
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
