"""The tools of one conversation: ordered by name, narrowed by selection, resolved by exact name."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from tools.contract import Phase, Tool, ToolSpec, load_object
from tools.errors import RegistryError


class _PlainSchema(GenerateJsonSchema):
    """Without the titles pydantic makes up from names: every model reads them in every turn."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        del schema
        return False


class Entry:
    """A registered tool: its spec now, its handler when it is first called."""

    def __init__(self, spec: ToolSpec, handler: Tool | None = None) -> None:
        self.spec = spec
        self._given = handler

    @cached_property
    def handler(self) -> Tool:
        """The handler, imported on first use. Raises: ImportError, AttributeError."""
        if self._given is not None:
            return self._given
        tool = load_object(self.spec.handler)(self.spec)
        assert isinstance(tool, Tool)
        return tool

    @cached_property
    def schema(self) -> dict[str, object]:
        """The JSON schema of the arguments, as a model is given it."""
        schema = self.spec.args_model().model_json_schema(schema_generator=_PlainSchema)
        for part in (schema, *schema.get("$defs", {}).values()):
            part.pop("title", None)
        schema.pop("description", None)  # the class's docstring; the tool has its own description
        return schema

    @cached_property
    def definition_hash(self) -> str:
        """SHA-256 over everything that decides what a draft of this tool would do."""
        spec = self.spec
        facts = [
            spec.name,
            spec.description,
            spec.source,
            spec.source_version,
            spec.capabilities.private_data,
            spec.capabilities.untrusted_input,
            spec.capabilities.egress,
            spec.capabilities.destructive,
            spec.read_only,
            spec.scope,
            spec.stageable,
            spec.needs,
            asdict(spec.review),
            self.schema,
        ]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


class Registry:
    """An ordered set of tools. What it holds is both what a model sees and what dispatch resolves."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        """Raises: RegistryError naming both sources when two tools claim one name."""
        self._entries: dict[str, Entry] = {}
        for entry in sorted(entries, key=lambda each: each.spec.name):
            other = self._entries.setdefault(entry.spec.name, entry)
            if other is not entry:
                raise RegistryError(
                    f"tool {entry.spec.name} is declared by {other.spec.source} and by "
                    f"{entry.spec.source}; rename one or leave one package out"
                )

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, in order."""
        return tuple(self._entries)

    def get(self, name: str) -> Entry | None:
        """The tool of exactly this name, if it is in this registry."""
        return self._entries.get(name)

    def select(
        self, patterns: Sequence[str], *, phase: Phase = Phase.ACT, without: Sequence[str] = ()
    ) -> "Registry":
        """The tools that match any pattern (exact or glob), no exclusion, and the phase.

        A selection of a selection can only be smaller.
        """
        return Registry(
            entry
            for entry in self
            if matches_any(entry.spec.name, patterns)
            and not matches_any(entry.spec.name, without)
            and phase in entry.spec.phases
        )


def matches_any(name: str, patterns: Sequence[str]) -> bool:
    """True if the name equals a pattern or matches it as a glob, case included."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def unmatched(patterns: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """The patterns that no name matches, in their order: each a mistyped name, perhaps."""
    known = tuple(names)
    return tuple(p for p in patterns if not any(matches_any(name, (p,)) for name in known))
