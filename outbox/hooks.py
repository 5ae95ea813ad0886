"""The place of `[[hooks]]` in the gate: what a hook is told, and what it may answer.

Why there is no runner here: commands come with their own settings and processes. The gate only
needs that a hook before a call can deny it, and that one after it can change nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from outbox.interlock import Verdict
from tools.result import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class HookedCall:
    """A call as hooks see it, before anything of it happened. `verdict` is never `refuse`."""

    tool: str
    arguments: Mapping[str, Any]
    verdict: Verdict
    session_id: str
    agent: str


class Hook(Protocol):
    """Something of the owner's that watches calls."""

    @property
    def name(self) -> str:
        """What refusals call it."""
        ...

    async def before(self, call: HookedCall) -> str | None:
        """None lets the call go on; text denies it and says why.

        Whatever goes wrong in here must come back as a denial: a hook that cannot answer denies.
        """
        ...

    async def after(self, call: HookedCall, result: ToolResult) -> None:
        """Hear how the call ended, as the model will. Must not raise."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """Which hook said no, and its words."""

    hook: str
    text: str


async def first_denial(hooks: Sequence[Hook], call: HookedCall) -> Denial | None:
    """Ask the hooks in their order; the first denial ends it."""
    for hook in hooks:
        text = await hook.before(call)
        if text is not None:
            return Denial(hook=hook.name, text=text)
    return None
