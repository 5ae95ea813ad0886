"""Manifests: those that steward ships, and what is refused in any."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from makers.tools import PROJECT, packages
from tools.contract import Capabilities, Egress, Sender, Tool, ToolSpec
from tools.errors import ManifestError
from tools.manifest import load_manifest, load_specs
from tools.registry import Entry, Registry

SPECS = [spec for folder in packages() for spec in load_specs(folder)]
every_tool = pytest.mark.parametrize("spec", SPECS, ids=[spec.name for spec in SPECS])


def test_the_tools_steward_ships_have_distinct_names_and_are_all_there():
    names = set(Registry(Entry(spec) for spec in SPECS).names)
    assert {"ask_user", "fs_edit", "fs_list", "fs_read", "fs_write", "grep", "todo"} <= names


@every_tool
def test_a_description_says_what_a_tool_is_for_and_what_it_is_not_for(spec: ToolSpec):
    """DESIGN section 4: and a tool it names exists, and is another one."""
    first, found, second = spec.description.partition("Do not use it ")
    assert found, spec.description
    assert first.strip().endswith(".")
    assert len(second) > 10
    named = re.findall(r"`([a-z][a-z0-9_]*)`", second)
    assert set(named) <= {other.name for other in SPECS} - {spec.name}
    assert ("(use" in second) == bool(named)


def fields(schema: dict[str, Any], where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{where}{name}", field
    for name, part in schema.get("$defs", {}).items():
        yield from fields(part, f"{name}.")


@every_tool
def test_every_argument_has_a_description_with_an_example(spec: ToolSpec):
    """DESIGN section 4."""
    for name, field in fields(Entry(spec).schema):
        assert re.search(r"e\.g\. |for example", field.get("description", "")), name


@every_tool
def test_every_tool_forbids_unknown_arguments_at_every_depth(spec: ToolSpec):
    """L30."""
    schema = Entry(spec).schema
    for part in (schema, *schema.get("$defs", {}).values()):
        if part.get("type") == "object":
            assert part["additionalProperties"] is False


@every_tool
def test_every_handler_loads_and_is_what_its_manifest_says(spec: ToolSpec):
    """P10."""
    handler = Entry(spec).handler
    assert isinstance(handler, Tool)
    assert isinstance(handler, Sender) is spec.stageable
    assert handler.spec is spec


@every_tool
def test_a_tool_that_sends_says_which_fields_are_recipients_and_which_is_the_text(spec: ToolSpec):
    """O11: without them no draft of it could be marked `unowned`, nor its text shown whole."""
    if spec.stageable:
        assert spec.review.recipients
        assert spec.review.body
        assert set(spec.review.recipients) <= set(spec.review.headers)


DESIGNED = {
    "fs_read": (True, Capabilities(private_data=True, untrusted_input=True)),
    "fs_list": (True, Capabilities(private_data=True, untrusted_input=True)),
    "grep": (True, Capabilities(private_data=True, untrusted_input=True)),
    "fs_write": (False, Capabilities(destructive=True)),
    "fs_edit": (False, Capabilities(untrusted_input=True, destructive=True)),
    "todo": (False, Capabilities()),
    "ask_user": (True, Capabilities()),
    "mail_search": (True, Capabilities(private_data=True, untrusted_input=True)),
    "mail_recent": (True, Capabilities(private_data=True, untrusted_input=True)),
    "mail_get_thread": (True, Capabilities(private_data=True, untrusted_input=True)),
    "mail_send": (False, Capabilities(egress=Egress.CHOSEN)),
    "mail_reply": (False, Capabilities(egress=Egress.CHOSEN)),
}


@every_tool
def test_the_capabilities_are_those_of_the_design(spec: ToolSpec):
    """L4: the labels that the interlock's table is read with."""
    assert (spec.read_only, spec.capabilities) == DESIGNED[spec.name]


def test_reading_the_manifests_runs_no_code_of_the_packages():
    """P10: neither a handler nor an argument model is imported."""
    folders = [str(folder) for folder in packages()]
    program = f"""
import sys
from pathlib import Path
from tools.manifest import load_specs
from tools.registry import Entry, Registry
before = set(sys.modules)
names = Registry(Entry(s) for f in {folders!r} for s in load_specs(Path(f))).select(["*"]).names
assert len(names) >= 7
print(sorted(set(sys.modules) - before))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"


HEAD = 'manifest = 1\nid = "acme"\nversion = "1"\n'
GOOD = (
    HEAD
    + """
[[tool]]
name = "acme_read"
description = "Reads. Do not use it to write."
args = "acme.args:Args"
handler = "acme.read:Read"
capabilities = { private_data = true }
read_only = true
"""
)
CODE = "raise SystemExit('this package must not run')\nclass Read(Tool):\n    pass\n"


def package(folder: Path, manifest: str = GOOD, **modules: str) -> Path:
    path = folder / "acme"
    path.mkdir()
    (path / "manifest.toml").write_text(manifest)
    for name, code in {"read": CODE, **modules}.items():
        (path / f"{name}.py").write_text(code)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ManifestError) as caught:
        load_specs(path)
    return str(caught.value).replace(f"{path}/", "")


def test_a_package_is_described_without_being_run(tmp_path):
    """P10."""
    (spec,) = load_specs(package(tmp_path))
    assert (spec.name, spec.source, spec.source_version) == ("acme_read", "acme", "1")
    assert "acme" not in sys.modules


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("read_only = true", "readonly = true", "manifest.toml: tool acme_read: read_only: Field required"),
        ("read_only = true", "read_only = true\nretries = 3", "manifest.toml: tool acme_read: retries: Extra inputs are not permitted"),
        ("private_data", "private", "manifest.toml: tool acme_read: capabilities.private: Extra inputs are not permitted"),
        ('name = "acme_read"', 'name = "Acme Read"', "manifest.toml: tool Acme Read: name: String should match"),
        ('name = "acme_read"', "", "manifest.toml: tool number 1: name: Field required"),
        ("manifest = 1", "manifest = 2", "manifest.toml: manifest: Input should be less than or equal to 1"),
        ('version = "1"', 'version = "1"\nautor = "x"', "manifest.toml: autor: Extra inputs are not permitted"),
        ('version = "1"', 'version = "1"\napi = { minimum = 2, maximum = 3 }', "manifest.toml: made for tool api 2 to 3, this is 1"),
        ('version = "1"', 'version = "1', "manifest.toml: cannot be read: Illegal character"),
        ("acme.read:Read", "acme.read:Write", "package acme: tool acme_read: no handler acme.read:Write"),
        ("acme.read:Read", "acme.args:Read", "package acme: tool acme_read: no handler acme.args:Read"),
        ("acme.read:Read", "other.read:Read", "package acme: tool acme_read: no handler other.read:Read"),
        ("read_only = true", "read_only = true\nstageable = true", "package acme: tool acme_read: a read-only tool is neither"),
        ("read_only = true", "read_only = false\nstageable = true", "package acme: tool acme_read: stageable = true is for a Sender"),
        ("{ private_data = true }", "{ destructive = true }", "package acme: tool acme_read: a read-only tool is neither"),
        (GOOD[len(HEAD):], "", "package acme: handler read:Read belongs to no tool"),
        (GOOD[len(HEAD):], GOOD[len(HEAD):] * 2, "package acme: tool acme_read is declared 2 times"),
        (GOOD[len(HEAD):], GOOD[len(HEAD):] + GOOD[len(HEAD):].replace("acme_read", "acme_other"), "package acme: handler acme.read:Read serves two tools"),
    ],
    ids=["missing-field", "unknown-field", "unknown-capability", "bad-name", "no-name", "version", "unknown-key",
         "api", "no-toml", "no-handler", "wrong-module", "wrong-package", "staged-read", "staged-tool",
         "destructive-read", "extra-handler", "double-tool", "double-handler"],
)  # fmt: skip
def test_a_manifest_that_does_not_fit_fails_the_start_and_is_named(tmp_path, old, new, said):
    """P10: package, tool and handler."""
    assert old in GOOD
    assert refusal(package(tmp_path, GOOD.replace(old, new))).startswith(said)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("class Extra(Tool):\n    pass\n", "package acme: handler more:Extra belongs to no tool"),
        ("class Extra(contract.Sender):\n    pass\n", "package acme: handler more:Extra belongs to no tool"),
        ("class Extra(Read):\n    pass\n", "package acme: handler more:Extra belongs to no tool"),
        ("class Extra(_Half, Other):\n    pass\nclass _Half(Tool):\n    pass\n", "package acme: handler more:Extra belongs to no tool"),
        ("class :", "package acme: more.py: cannot be read: invalid syntax"),
    ],
    ids=["direct", "qualified", "inherited", "through-a-half", "broken"],
)  # fmt: skip
def test_a_handler_that_no_manifest_names_fails_the_start(tmp_path, code, said):
    """P10: a tool nobody declared has no capabilities anybody checked."""
    assert refusal(package(tmp_path, more=code)).startswith(said)


def test_a_class_with_an_underscore_is_half_a_handler_and_needs_no_tool(tmp_path):
    assert load_specs(package(tmp_path, more="class _Half(Tool):\n    pass\n"))


def test_a_folder_without_a_manifest_is_named(tmp_path):
    with pytest.raises(ManifestError, match=r"manifest.toml: cannot be read: .*No such file"):
        load_manifest(tmp_path)


def test_a_manifest_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "manifest.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ManifestError, match="cannot be read"):
        load_manifest(tmp_path)
