"""Runs one call: bounded in time, and whatever its handler does, a result comes back."""

import asyncio
import logging

from pydantic import BaseModel

from tools.contract import Tool, ToolContext, ToolSpec
from tools.errors import JailError
from tools.ids import new_id
from tools.registry import Entry
from tools.result import TextPart, ToolResult

logger = logging.getLogger("steward.tools")


async def invoke(entry: Entry, args: BaseModel, ctx: ToolContext) -> ToolResult:
    """The call's result. Expected failures, a refused path and a time-out are error results.

    What no model can route around comes back as `broken`: an error id under which the log holds
    the trace. Where the tool is not read-only, the text says that the effect is unknown.

    Raises: asyncio.CancelledError when the run is cancelled; nothing else.
    """
    try:
        handler = entry.handler
    except Exception as bug:  # noqa: BLE001 - a call always has a result
        return _broken(entry.spec, ctx, bug, effect="The call did not begin.")
    return await _bounded(handler, args, ctx)


async def _bounded(handler: Tool, args: BaseModel, ctx: ToolContext) -> ToolResult:
    spec = handler.spec
    deadline = asyncio.timeout(spec.timeout_seconds)
    try:
        async with deadline:
            result = await handler.call(args, ctx)
            if not isinstance(result, ToolResult):
                raise TypeError(f"{spec.handler} gave {type(result).__name__}, no ToolResult")
            return result
    except JailError as refusal:
        return ToolResult.error(str(refusal))
    except TimeoutError as late:
        if not deadline.expired():  # the handler's own time-out, which it should have told
            return _broken(spec, ctx, late, effect=_effect(spec))
        logger.warning("tool call timed out", extra={"action": "tool_timed_out", "tool": spec.name})
        return ToolResult.error(
            f"{spec.name} was stopped after {spec.timeout_seconds:g} seconds. {_effect(spec)}"
        )
    except Exception as bug:  # noqa: BLE001 - a call always has a result
        return _broken(spec, ctx, bug, effect=_effect(spec))


def _effect(spec: ToolSpec) -> str:
    if spec.read_only:
        return "It only reads, so nothing was changed."
    return "Whether the call took effect is unknown; it was not repeated."


def _broken(spec: ToolSpec, ctx: ToolContext, bug: Exception, *, effect: str) -> ToolResult:
    error_id = new_id(ctx.now())
    logger.error(
        "tool call broke",
        exc_info=bug,
        extra={
            "action": "tool_broke",
            "tool": spec.name,
            "error_id": error_id,
            "session": ctx.session_id,
            "call": ctx.call_id,
        },
    )
    text = f"{spec.name} failed unexpectedly (error {error_id}). {effect}"
    return ToolResult(parts=(TextPart(text=text),), is_error=True, broken=error_id)
