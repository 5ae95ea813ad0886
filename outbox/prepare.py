"""The first steps of a turn: which calls are known, what they ask for, and what is judged of them."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from pydantic import BaseModel

from outbox.interlock import CallFacts, Declared, nested_calls, prospective
from outbox.links import only_links
from outbox.turn import GateParts, Prepared
from tools.arguments import ArgumentProblem, decode_arguments
from tools.contract import Capabilities, EffectScope, ToolCall, ToolContext
from tools.errors import JailError
from tools.registry import Entry, Registry
from tools.taint import Taint

logger = logging.getLogger("steward.gate")
_WIDTH = (EffectScope.NONE, EffectScope.FILES, EffectScope.WORLD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrunnable:
    """A call that no gate need judge, and what the model is told of it."""

    index: int
    call: ToolCall
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    index: int
    call: ToolCall
    entry: Entry
    args: BaseModel
    ctx: ToolContext
    capabilities: Capabilities
    writes: tuple[Path, ...] | None
    nested: tuple[Entry, ...]

    def declared(self) -> Iterator[Declared]:
        """What this call, and each call nested in it, may bring.

        The call's own labels are those of this very call, because what narrows them (a file's
        taint in the database) is enforced; a nested call has only its tool's declaration.
        """
        yield Declared(tool=self.entry.spec.name, capabilities=self.capabilities)
        for entry in self.nested:
            yield Declared(tool=entry.spec.name, capabilities=entry.spec.capabilities)


def prepare(
    calls: Sequence[ToolCall], parts: GateParts, taint: Taint, turn: int
) -> list[Prepared | Unrunnable]:
    """Each call, judged by the conversation's taint and the declared labels of all other calls."""
    looked_up = [_look_up(index, call, parts, turn) for index, call in enumerate(calls)]
    known = [each for each in looked_up if isinstance(each, _Known)]
    return [
        each if isinstance(each, Unrunnable) else _prepared(each, known, parts, taint)
        for each in looked_up
    ]


def _look_up(index: int, call: ToolCall, parts: GateParts, turn: int) -> _Known | Unrunnable:
    entry = parts.registry.get(call.name)
    if entry is None:
        return Unrunnable(index=index, call=call, text=_unknown(call.name, parts.registry))
    ctx = parts.context(call, turn)
    try:
        args = decode_arguments(entry.spec, call.arguments)
        capabilities, writes = _of_this_call(entry, args, ctx)
    except (ArgumentProblem, JailError) as problem:
        return Unrunnable(index=index, call=call, text=str(problem))
    names = nested_calls(args.model_dump(mode="json"), parts.registry)
    nested = tuple(filter(None, map(parts.registry.get, names)))
    return _Known(
        index=index,
        call=call,
        entry=entry,
        args=args,
        ctx=ctx,
        capabilities=capabilities,
        writes=writes,
        nested=nested,
    )


def _unknown(name: str, registry: Registry) -> str:
    near = get_close_matches(name, registry.names, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"no tool of this name is offered here, so nothing was run{hint}"


def _of_this_call(
    entry: Entry, args: BaseModel, ctx: ToolContext
) -> tuple[Capabilities, tuple[Path, ...] | None]:
    """What this call can do, and which files it would write (None: it cannot say).

    A handler that cannot be loaded, or has a bug, is judged by all that its tool declares.

    Raises: JailError for a path that the call may not touch.
    """
    try:
        handler = entry.handler
        return handler.capabilities_of(args, ctx), handler.writes(args, ctx)
    except JailError:
        raise
    except Exception as bug:  # what cannot be judged narrowly is judged widely
        logger.error(
            "a tool could not say what its call would do",
            exc_info=bug,
            extra={"action": "tool_unjudged", "tool": entry.spec.name, "call": ctx.call_id},
        )
        return entry.spec.capabilities, None


def _prepared(known: _Known, turn: Sequence[_Known], parts: GateParts, taint: Taint) -> Prepared:
    others = [each for other in turn if other is not known for each in other.declared()]
    if known.nested:  # outer and inner call are each other's company, so the outer's labels count
        others.extend(known.declared())
    specs = [entry.spec for entry in (known.entry, *known.nested)]
    spec, arguments = specs[0], known.args.model_dump(mode="json")
    capabilities = known.capabilities
    for inner in known.nested:
        capabilities = capabilities.union(inner.spec.capabilities)
    return Prepared(
        index=known.index,
        call=known.call,
        entry=known.entry,
        args=known.args,
        arguments=arguments,
        ctx=known.ctx,
        facts=CallFacts(
            tool=spec.name,
            capabilities=capabilities,
            read_only=all(each.read_only for each in specs),
            scope=max((each.scope for each in specs), key=_WIDTH.index),
            phases=spec.phases.intersection(*(each.phases for each in specs)),
            routed=any(parts.settings.outbox.routes(each) for each in specs),
            stageable=spec.stageable,
            links=only_links(arguments),
        ),
        taint=prospective(taint, others, turn=known.ctx.turn),
        writes=known.writes,
    )
