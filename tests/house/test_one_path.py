"""The contracts of the house: one direction, one caller of the loop, pure files that are pure."""

import ast
import subprocess
import sys
import tomllib

from makers.source_tree import ROOT, Module, modules

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = {each["name"]: each for each in PYPROJECT["tool"]["importlinter"]["contracts"]}
CLOCKS = {"now", "utcnow", "today", "time", "monotonic"}


def _module(name: str) -> Module:
    return next(module for module in modules() if module.name == name)


def test_the_loop_is_called_from_exactly_one_place() -> None:
    """The service runs it for the ticker, and the ticker runs what it was handed."""
    calls = [
        f"{module.name}:{node.lineno}"
        for module in modules()
        if (names := _names_of_the_loop(module))
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in names
    ]
    assert [call.partition(":")[0] for call in calls] == ["bot.service"]


def _names_of_the_loop(module: Module) -> set[str]:
    """Every spelling under which this module could call `bot.loop.run`."""
    names: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module == "bot":
            names |= {
                f"{each.asname or each.name}.run" for each in node.names if each.name == "loop"
            }
        if isinstance(node, ast.ImportFrom) and node.module == "bot.loop":
            names |= {each.asname or each.name for each in node.names if each.name == "run"}
        if isinstance(node, ast.Import):
            names |= {
                f"{each.asname or each.name}.run" for each in node.names if each.name == "bot.loop"
            }
    return names


def test_only_the_ticker_calls_the_run_it_was_handed() -> None:
    calls = [
        ast.unparse(node.func)
        for node in ast.walk(_module("triggers.ticker").tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("run")
    ]
    assert calls == ["self.run"]


def test_every_question_that_decides_is_asked_in_one_place() -> None:
    """`bot.cli.asking` forgets what was typed before it; the prompt of a chat keeps it."""
    reads = {
        module.name
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("input", "sys.stdin.readline", "sys.stdin.fileno")
    }
    assert reads == {"bot.cli.asking", "bot.cli.chat"}


def test_every_file_that_says_it_is_pure_is_held_to_it() -> None:
    """The list in pyproject.toml is the list of docstrings that begin with "Pure."."""
    listed = CONTRACTS["pure files know no database, network, system or clock"]["source_modules"]
    assert sorted(listed) == [module.name for module in modules() if module.is_pure]


def test_a_pure_file_reads_no_clock() -> None:
    reads = [
        f"{module.place}:{node.lineno}"
        for module in modules()
        if module.is_pure
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in CLOCKS
        and ast.unparse(node.func.value) in ("datetime", "date", "time", "datetime.datetime")
    ]
    assert reads == []


def test_every_floor_and_folder_is_free_of_cycles() -> None:
    """Each package with sub-packages stands among the ancestors whose children may not loop."""
    packages = {module.name for module in modules() if module.path.name == "__init__.py"}
    ancestors = set(CONTRACTS["siblings have no cycles"]["ancestors"])
    assert {name for name in packages if "." not in name} <= ancestors


def test_the_contracts_hold() -> None:
    """The same as `lint-imports`, so that a broken one fails the tests as well."""
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports; "
         "raise SystemExit(lint_imports(no_cache=True))"],
        cwd=ROOT, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
