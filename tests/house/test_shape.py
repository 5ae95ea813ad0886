"""The shape of the code: what keeps it readable in an afternoon, checked on the tree itself."""

import ast
import re

from makers.source_tree import FLOORS, ROOT, Function, modules

LINES = 400
STATEMENTS = 40
ARGUMENTS = 6
NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}
LAZY_IMPORTS = ("bot/wiring.py", "bot/cli/", "bot/doctor", "bot/logs.py")
BROAD_EXCEPT = ("tools/invoke.py", "outbox/prepare.py", "triggers/ticker.py", "bot/cli/")


def _functions() -> list[tuple[str, Function]]:
    """Every function of every module, with the place where it stands."""
    return [
        (f"{module.place}:{each.lineno} {each.name}", each)
        for module in modules()
        for each in module.functions()
    ]


def _statements(function: Function) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(function)) - 1


def _arguments(function: Function) -> int:
    spec = function.args
    named = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    return len([each for each in named if each.arg not in ("self", "cls")])


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def test_the_tree_is_the_four_floors_and_nothing_else() -> None:
    folders = {
        path.name
        for path in ROOT.iterdir()
        if path.is_dir() and not path.name.startswith((".", "__"))
    }
    assert folders - {"build", "dist"} == {*FLOORS, "tests", "deploy", "docs"}


def test_a_module_is_one_idea_on_a_few_pages() -> None:
    lengths = {module.place: module.text.count("\n") for module in modules()}
    assert {place: lines for place, lines in lengths.items() if lines > LINES} == {}


def test_a_function_fits_on_a_page() -> None:
    assert [place for place, each in _functions() if _statements(each) > STATEMENTS] == []


def test_a_function_takes_few_arguments() -> None:
    assert [place for place, each in _functions() if _arguments(each) > ARGUMENTS] == []


def test_a_name_says_what_it_holds() -> None:
    names = {part for module in modules() for part in module.name.split(".")}
    assert names & NAMES_THAT_SAY_NOTHING == set()


def test_imports_stand_at_the_top_unless_a_command_is_being_opened() -> None:
    inside = [
        place
        for place, function in _functions()
        if not place.startswith(LAZY_IMPORTS)
        and any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(function))
    ]
    assert inside == []


def test_only_four_places_catch_everything() -> None:
    broad = [
        f"{module.place}:{node.lineno}"
        for module in modules()
        if not module.place.startswith(BROAD_EXCEPT)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler) and _catches_all(node) and not _passes_on(node)
    ]
    assert broad == []


def _catches_all(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException"))
        for kind in kinds
    )


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """Cleaning up and raising the same again swallows nothing."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_a_module_says_what_it_is_in_one_sentence() -> None:
    summaries = {module.place: module.summary for module in modules()}
    assert {place: said for place, said in summaries.items() if not _is_sentence(said)} == {}


def _is_sentence(said: str) -> bool:
    return len(said) > 10 and said.endswith((".", "?"))


def test_everything_public_says_what_becomes_true() -> None:
    silent = [
        f"{module.place}:{node.lineno} {node.name}"
        for module in modules()
        for node in _public_definitions(module.tree)
        if not ast.get_docstring(node)
    ]
    assert silent == []


def _public_definitions(tree: ast.Module) -> list[Function | ast.ClassDef]:
    found: list[Function | ast.ClassDef] = []
    for node in tree.body:
        if isinstance(node, Function) and _is_public(node.name):
            found.append(node)
        if isinstance(node, ast.ClassDef) and _is_public(node.name):
            found.append(node)
            found += [
                inner
                for inner in node.body
                if isinstance(inner, Function)
                and _is_public(inner.name)
                and not _is_overload(inner)
            ]
    return found


def _is_overload(function: Function) -> bool:
    names = [each.id for each in function.decorator_list if isinstance(each, ast.Name)]
    return "overload" in names


def test_no_file_names_a_place_of_one_machine() -> None:
    """Neither a developer's folders nor a package host: a clone works wherever it stands."""
    texts = {module.place: module.text for module in modules()}
    scripts = [path for folder in ("deploy", ".ci") for path in (ROOT / folder).iterdir()]
    texts |= {path.name: path.read_text(encoding="utf-8") for path in scripts}
    told = re.compile(r"/work/[a-z]|/root/|pypi\.org|index-url")
    assert [place for place, text in texts.items() if told.search(text)] == []
