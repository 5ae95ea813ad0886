"""The parts of the documents that are read off the code: commands, settings, and the map."""

import types
from collections.abc import Iterator
from typing import Any, get_args

from bot.cli.main import COMMANDS
from bot.settings_later import NOT_BUILT
from bot.settings_schema import Configuration
from bot.settings_types import Section
from makers.source_tree import ROOT, Module, modules

README = ROOT / "README.md"
MAP = ROOT / "docs" / "map.md"


def commands_block() -> str:
    """Every command with its summary."""
    rows = [f"| `steward {name}` | {summary} |" for name, (_, summary) in COMMANDS.items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def settings_block() -> str:
    """Every table of the configuration with its keys."""
    rows = [
        f"| {_place(path)} | {_keys(section)} | {_first_line(section)}{_standing(path)} |"
        for path, section in _sections(Configuration, ())
    ]
    return "\n".join(["| table | keys | what it is |", "|---|---|---|", *rows])


def packages_block() -> str:
    """Every package with the one line of its docstring."""
    rows = [
        f"| `{module.name.replace('.', '/')}/` | {module.summary} |"
        for module in modules()
        if module.path.name == "__init__.py"
    ]
    return "\n".join(["| package | what lives there |", "|---|---|", *rows])


def map_document() -> str:
    """Every module, package by package, with the first line of its docstring."""
    parts = [
        "# The map\n\nEvery module in one line, read off the docstrings by `deploy/write-docs`.",
    ]
    for package in [module for module in modules() if module.path.name == "__init__.py"]:
        rows = [f"| `{each.path.name}` | {each.summary} |" for each in _inside(package)]
        if rows:
            head = f"## {package.name.replace('.', '/')}\n\n{package.summary}\n"
            parts.append("\n".join([head, "| module | what it is |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


BLOCKS = {"commands": commands_block, "settings": settings_block, "packages": packages_block}


def with_blocks(text: str) -> str:
    """The text with the content of every marked block as the code says it now."""
    for name, block in BLOCKS.items():
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, found, rest = text.partition(start)
        assert found, f"README.md has no block {start}"
        after = rest.partition(end)[2]
        text = f"{before}{start}\n{block()}\n{end}{after}"
    return text


def _inside(package: Module) -> list[Module]:
    folder = package.path.parent
    return [
        each for each in modules() if each.path.parent == folder and each.path.name != "__init__.py"
    ]


def _sections(
    section: type[Section], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], type[Section]]]:
    if path:
        yield path, section
    for name, field in section.model_fields.items():
        below, is_named = _section_in(field.annotation)
        if below is not None:
            yield from _sections(below, (*path, name, *(["*"] if is_named else [])))


def _section_in(annotation: Any) -> tuple[type[Section] | None, bool]:
    """The section an annotation holds, and whether each one has a name of the owner's."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation, False
    origin = getattr(annotation, "__origin__", None)
    if origin is None and not isinstance(annotation, types.UnionType):
        return None, False
    for part in get_args(annotation):
        section, _ = _section_in(part)
        if section is not None:
            return section, origin is dict
    return None, False


def _place(path: tuple[str, ...]) -> str:
    if path[:1] in (("search",), ("mcp",), ("rules",), ("hooks",)) and len(path) == 1:
        return f"`[[{path[0]}]]`"
    return "`[" + ".".join("NAME" if part == "*" else part for part in path) + "]`"


def _keys(section: type[Section]) -> str:
    plain = [
        name for name, field in section.model_fields.items() if not _section_in(field.annotation)[0]
    ]
    return " ".join(f"`{name}`" for name in plain) or "(tables only)"


def _first_line(section: type[Section]) -> str:
    return (section.__doc__ or "").strip().partition("\n")[0]


def _standing(path: tuple[str, ...]) -> str:
    dotted = ".".join(path)
    whole = any(
        values is None and (dotted == key or dotted.startswith(f"{key}."))
        for key, values in NOT_BUILT.items()
    )
    parts = [
        key.removeprefix(f"{dotted}.") + (f" = {', '.join(sorted(values))}" if values else "")
        for key, values in NOT_BUILT.items()
        if key.rpartition(".")[0] == dotted and not whole
    ]
    if whole:
        return " *Not built yet.*"
    return f" *Not built yet: {'; '.join(parts)}.*" if parts else ""
