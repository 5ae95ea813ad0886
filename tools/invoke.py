"""Runs what a tool does: bounded in time, and whatever its handler does, a result comes back."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from tools.contract import (
    CalledOff,
    Delivery,
    DeliveryOutcome,
    GoAhead,
    Sender,
    Tool,
    ToolContext,
    ToolSpec,
    Verification,
)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Consignment:
    """What was completed and is to be delivered, or was: its arguments, its key and its context."""

    completed: Mapping[str, Any]
    delivery_key: str
    ctx: ToolContext


async def deliver_bounded(
    sender: Sender, what: Consignment, go_ahead: GoAhead, *, seconds: float
) -> Delivery:
    """How the delivery ended. UNKNOWN where it was too slow, or broke: the detail has an error id.

    Why unknown also where it broke early: code with a bug in it is not believed about how far it
    got. Raises: asyncio.CancelledError; nothing else.
    """
    name = sender.spec.name
    try:
        async with asyncio.timeout(seconds):
            return await sender.deliver(what.completed, what.delivery_key, what.ctx, go_ahead)
    except CalledOff as off:
        return Delivery(outcome=DeliveryOutcome.FAILED, detail=f"{off}; nothing was sent")
    except Exception as bug:  # noqa: BLE001 - a delivery always has an outcome
        error_id = _logged(sender.spec, what.ctx, bug, action="delivery_broke")
        detail = f"{name} failed unexpectedly (error {error_id}; the log has the trace)"
        return Delivery(outcome=DeliveryOutcome.UNKNOWN, detail=detail)


async def verify_bounded(sender: Sender, what: Consignment, *, seconds: float) -> Verification:
    """What the destination says; UNKNOWN where it was too slow, or asking broke, which is logged.

    Raises: asyncio.CancelledError; nothing else.
    """
    try:
        async with asyncio.timeout(seconds):
            return await sender.verify(what.completed, what.delivery_key, what.ctx)
    except Exception as bug:  # noqa: BLE001 - what cannot be asked is unknown
        _logged(sender.spec, what.ctx, bug, action="verification_broke")
        return Verification.UNKNOWN


def _effect(spec: ToolSpec) -> str:
    if spec.read_only:
        return "It only reads, so nothing was changed."
    return "Whether the call took effect is unknown; it was not repeated."


def _broken(spec: ToolSpec, ctx: ToolContext, bug: Exception, *, effect: str) -> ToolResult:
    error_id = _logged(spec, ctx, bug, action="tool_broke")
    text = f"{spec.name} failed unexpectedly (error {error_id}). {effect}"
    return ToolResult(parts=(TextPart(text=text),), is_error=True, broken=error_id)


def _logged(spec: ToolSpec, ctx: ToolContext, bug: Exception, *, action: str) -> str:
    """The error id under which the log holds the trace."""
    error_id = new_id(ctx.now())
    logger.error(
        "a tool broke",
        exc_info=bug,
        extra={
            "action": action,
            "tool": spec.name,
            "error_id": error_id,
            "session": ctx.session_id,
            "call": ctx.call_id,
        },
    )
    return error_id
