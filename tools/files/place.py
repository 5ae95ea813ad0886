"""What the file tools share: whose words a file holds, and how a failure is told."""

from dataclasses import replace
from pathlib import Path
from stat import S_ISDIR

from tools.contract import Capabilities, ToolContext
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
    """The declared capabilities; without untrusted input where nothing at `path` is untrusted.

    Raises: JailError.
    """
    untrusted = _holds_untrusted(ctx.jail.resolve(path), ctx)
    return replace(declared, untrusted_input=declared.untrusted_input and untrusted)


def _holds_untrusted(path: Path, ctx: ToolContext) -> bool:
    try:
        is_folder = S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        is_folder = False
    except OSError:  # what cannot be looked at may hold anything
        return True
    return any_untrusted(path, ctx) if is_folder else is_untrusted(path, ctx)


def narrowed_writing(path: str, declared: Capabilities, ctx: ToolContext) -> Capabilities:
    """The declared capabilities; not destructive in the run's own scratch directory.

    Raises: JailError.
    """
    resolved = ctx.jail.resolve(path)
    return replace(
        declared,
        destructive=declared.destructive and not ctx.jail.in_scratch(resolved),
        untrusted_input=declared.untrusted_input and is_untrusted(resolved, ctx),
    )


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
