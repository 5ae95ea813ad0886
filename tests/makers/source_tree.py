"""The four packages as text and syntax trees, for tests about the code itself."""

import ast
import importlib.util
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLOORS = ("tools", "outbox", "triggers", "bot")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One Python file of a floor."""

    path: Path

    @property
    def name(self) -> str:
        """Its dotted name; a package is named without `__init__`."""
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def place(self) -> str:
        """Its path from the top of the checkout."""
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def text(self) -> str:
        """The source."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (ast.get_docstring(self.tree) or "").partition("\n")[0]

    @property
    def is_pure(self) -> bool:
        """True where the docstring promises no database, network, operating system or clock."""
        return self.summary.startswith("Pure.")

    def functions(self) -> list[Function]:
        """Every function in it, nested ones and methods included."""
        return [node for node in ast.walk(self.tree) if isinstance(node, Function)]


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the four floors, by name."""
    paths = (path for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))
    return tuple(sorted((Module(path) for path in paths), key=lambda module: module.name))


def importable() -> list[str]:
    """Every module that may be imported: all but Alembic's own scripts, which it runs itself."""
    names = [module.name for module in modules()]
    kept = [name for name in names if not name.startswith("bot.migrations.versions.")]
    assert all(importlib.util.find_spec(name.partition(".")[0]) for name in kept)
    return [name for name in kept if name != "bot.migrations.env"]
