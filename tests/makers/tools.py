"""Tools, contexts and registries for tests; whatever a test does not care about is filled in."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict

from tools.contract import Capabilities, EffectScope, Tool, ToolContext, ToolSpec
from tools.jail import Jail
from tools.manifest import load_specs
from tools.registry import Entry
from tools.result import ToolResult

PROJECT = Path(__file__).parents[2]
NOW = datetime(2026, 3, 2, 8, 30, tzinfo=UTC)


class ProbeArgs(BaseModel):
    """What a probe takes."""

    model_config = ConfigDict(extra="forbid")

    text: str = ""


class Probe(Tool):
    """A tool that does what the test gives it."""

    def __init__(self, spec: ToolSpec, do: Callable[[Any, ToolContext], Awaitable[Any]]) -> None:
        super().__init__(spec)
        self._do = do

    async def call(self, args: Any, ctx: ToolContext) -> ToolResult:
        """What the test gave."""
        return await self._do(args, ctx)


@dataclass
class NotedFiles:
    """The taint of files, as the test notes it."""

    untrusted: set[Path] = field(default_factory=set)

    def is_untrusted(self, path: Path) -> bool:
        """True for a noted file."""
        return path in self.untrusted

    def any_untrusted(self, root: Path) -> bool:
        """True for a folder of a noted file."""
        return any(path.is_relative_to(root) for path in self.untrusted)


def make_spec(name: str = "probe", **given: Any) -> ToolSpec:
    """A spec of a harmless tool, but for what is given."""
    filled: dict[str, Any] = {
        "description": "Does what a test needs. Do not use it to do anything else.",
        "args": "makers.tools:ProbeArgs",
        "handler": "makers.tools:Probe",
        "source": "tests",
        "source_version": "1",
        "capabilities": Capabilities(),
        "read_only": True,
        "scope": EffectScope.NONE,
    }
    return ToolSpec(name=name, **{**filled, **given})


def make_entry(do: Callable[[Any, ToolContext], Awaitable[Any]], **given: Any) -> Entry:
    """A registered probe."""
    spec = make_spec(**given)
    return Entry(spec, Probe(spec, do))


def make_context(
    folder: Path,
    *,
    scratch: bool = False,
    files: NotedFiles | None = None,
    forbidden: Sequence[Path] = (),
    needs: Mapping[str, object] | None = None,
    budget_bytes: int = 48 * 1024,
) -> ToolContext:
    """A call's context in `folder/workspace`, with the spill directory in `folder/spill`."""
    root, spill = folder / "workspace", folder / "spill"
    for each in (root, spill):
        each.mkdir(exist_ok=True)
    jail = Jail(
        root=root,
        spill_dir=spill,
        scratch_root=root if scratch else None,
        forbidden=forbidden,
    )
    return ToolContext(
        jail=jail,
        spill_dir=spill,
        output_budget_bytes=budget_bytes,
        session_id="s1",
        producer="chat",
        agent="assistant",
        call_id="call_1",
        turn=1,
        now=lambda: NOW,
        timezone=ZoneInfo("Europe/Oslo"),
        file_taint=files or NotedFiles(),
        needs=needs or {},
    )


def packages() -> list[Path]:
    """Every folder of the tree that declares tools."""
    floors = ("tools", "outbox", "triggers", "bot")
    return sorted(
        path.parent for each in floors for path in (PROJECT / each).rglob("manifest.toml")
    )


def built_in(name: str) -> Entry:
    """The tool of this name that steward ships."""
    return next(Entry(spec) for spec in _specs() if spec.name == name)


@cache
def _specs() -> tuple[ToolSpec, ...]:
    return tuple(spec for folder in packages() for spec in load_specs(folder))
