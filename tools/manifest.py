"""Reads `manifest.toml`: what a tool package offers, without running any of its code.

Why: listing, reviewing and set-up must not import a client library, and a third party's package
must be describable before it is trusted.
"""

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tools.contract import Capabilities, EffectScope, Egress, Keep, Phase, ReviewShape, ToolSpec
from tools.errors import ManifestError

MANIFEST_NAME = "manifest.toml"
API_VERSION = 1

_TOOL, _SENDER = "Tool", "Sender"
_REFERENCE = r"^[a-z0-9_]+(\.[a-z0-9_]+)+:[A-Za-z][A-Za-z0-9]*$"


class Disposition(StrEnum):
    """Where a configuration field of a package may be kept and shown."""

    SECRET = "secret"  # noqa: S105 - the word of the closed set, not a password
    CONFIG = "config"
    PUBLIC = "public"


class _Border(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Capabilities(_Border):
    private_data: bool = False
    untrusted_input: bool = False
    egress: Egress = Egress.NONE
    destructive: bool = False


class _Review(_Border):
    headers: tuple[str, ...] = ()
    body: str | None = None
    recipients: tuple[str, ...] = ()
    source_id: str | None = None
    thread_id: str | None = None


class _Tool(_Border):
    name: str = Field(pattern=r"^[a-z][a-z0-9_]{1,63}$")
    description: str
    args: str = Field(pattern=_REFERENCE)
    handler: str = Field(pattern=_REFERENCE)
    capabilities: _Capabilities
    read_only: bool
    scope: EffectScope = EffectScope.WORLD
    phases: tuple[Phase, ...] = tuple(Phase)
    stageable: bool = False
    parseable: bool = False
    keep: Keep = Keep.HEAD
    timeout_seconds: float = Field(default=120.0, gt=0, le=7 * 86400.0)
    needs: tuple[str, ...] = ()
    review: _Review = _Review()
    unnamed_writes: bool = False


class _ConfigField(_Border):
    name: str
    disposition: Disposition
    description: str


class _Api(_Border):
    minimum: int = 1
    maximum: int = 1


class Manifest(_Border):
    """A package's manifest, checked."""

    manifest: int = Field(ge=1, le=1)
    id: str
    version: str
    api: _Api = _Api()
    tool: tuple[_Tool, ...] = ()
    config: tuple[_ConfigField, ...] = ()


def load_manifest(folder: Path) -> Manifest:
    """The manifest in `folder`.

    Raises: ManifestError naming the file, the tool and the field that is missing, unknown or wrong.
    """
    path = folder / MANIFEST_NAME
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ManifestError(f"{path}: cannot be read: {error}") from error
    try:
        manifest = Manifest.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ManifestError(f"{path}: {_where(document, first['loc'])}: {first['msg']}") from None
    api = manifest.api
    if not api.minimum <= API_VERSION <= api.maximum:
        raise ManifestError(
            f"{path}: made for tool api {api.minimum} to {api.maximum}, this is {API_VERSION}"
        )
    return manifest


def _where(document: Mapping[str, Any], loc: Sequence[str | int]) -> str:
    """`tool mail_send: timeout_seconds`; by its number where the tool has no name."""
    match loc:
        case ["tool", int(number), *field]:
            name = document["tool"][number].get("name") if _is_table(document, number) else None
            named = f"tool {name if isinstance(name, str) else f'number {number + 1}'}"
            return ": ".join((named, ".".join(str(step) for step in field))).rstrip(": ")
    return ".".join(str(step) for step in loc)


def _is_table(document: Mapping[str, Any], number: int) -> bool:
    return isinstance(document["tool"][number], Mapping)


def load_specs(folder: Path) -> tuple[ToolSpec, ...]:
    """The tools that the package in `folder` declares, its handlers matched one to one by name.

    Raises: ManifestError naming package, tool and handler on any mismatch.
    """
    manifest = load_manifest(folder)
    specs = tuple(_spec(manifest, tool) for tool in manifest.tool)
    _check_handlers(folder, manifest.id, specs)
    return specs


def _spec(manifest: Manifest, tool: _Tool) -> ToolSpec:
    return ToolSpec(
        name=tool.name,
        description=" ".join(tool.description.split()),
        args=tool.args,
        handler=tool.handler,
        source=manifest.id,
        source_version=manifest.version,
        capabilities=Capabilities(**tool.capabilities.model_dump()),
        read_only=tool.read_only,
        scope=tool.scope,
        phases=frozenset(tool.phases),
        stageable=tool.stageable,
        parseable=tool.parseable,
        keep=tool.keep,
        timeout_seconds=tool.timeout_seconds,
        needs=tool.needs,
        review=ReviewShape(**tool.review.model_dump()),
        unnamed_writes=tool.unnamed_writes,
    )


def _check_handlers(folder: Path, package: str, specs: Sequence[ToolSpec]) -> None:
    """Compare what the manifest declares with the handler classes in the package's own files."""
    written = _handler_classes(folder, package)
    handlers = Counter(spec.handler for spec in specs)
    names = Counter(spec.name for spec in specs)
    for spec in specs:
        where = f"package {package}: tool {spec.name}"
        if names[spec.name] > 1:
            raise ManifestError(f"{where} is declared {names[spec.name]} times")
        if handlers[spec.handler] > 1:
            raise ManifestError(f"package {package}: handler {spec.handler} serves two tools")
        kind = written.get(_in_folder(folder, spec.handler))
        if kind is None:
            raise ManifestError(f"{where}: no handler {spec.handler}")
        _check_claims(where, spec, kind)
    declared = {_in_folder(folder, spec.handler) for spec in specs}
    for name in sorted(set(written) - declared):
        raise ManifestError(f"package {package}: handler {name} belongs to no tool")


def _check_claims(where: str, spec: ToolSpec, kind: str) -> None:
    """What a manifest says in two places must agree, or a gate would believe the milder one."""
    if spec.read_only and (spec.stageable or spec.capabilities.destructive):
        raise ManifestError(f"{where}: a read-only tool is neither stageable nor destructive")
    if spec.stageable is not (kind == _SENDER):
        raise ManifestError(f"{where}: stageable = true is for a {_SENDER}, and every one has it")
    if spec.scope is EffectScope.NONE and spec.capabilities.destructive:
        raise ManifestError(f'{where}: scope "none" destroys nothing')


def _in_folder(folder: Path, handler: str) -> str:
    """`read:FsRead` for a handler in a module of the folder itself; else the whole reference."""
    module, _, name = handler.partition(":")
    package, _, stem = module.rpartition(".")
    return f"{stem}:{name}" if package.rpartition(".")[2] == folder.name else handler


def _handler_classes(folder: Path, package: str) -> dict[str, str]:
    """`module:Class` of every public class that descends from Tool or Sender, and from which.

    Read from the source, never imported. A name with an underscore in front is no handler.
    Raises: ManifestError for a file that is no Python.
    """
    classes = dict(_classes(folder, package))
    kinds: dict[str, str] = {_TOOL: _TOOL, _SENDER: _SENDER}
    for _ in classes:  # one more generation each time, until none is left
        for reference, bases in classes.items():
            kinds.update(
                (reference.partition(":")[2], kinds[base]) for base in bases if base in kinds
            )
    return {
        reference: kinds[name]
        for reference in classes
        if (name := reference.partition(":")[2]) in kinds and not name.startswith("_")
    }


def _classes(folder: Path, package: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for path in sorted(folder.glob("*.py")):
        try:
            module = ast.parse(path.read_text(encoding="utf-8"), str(path))
        except (OSError, ValueError, SyntaxError) as error:
            raise ManifestError(f"package {package}: {path}: cannot be read: {error}") from None
        for node in module.body:
            if isinstance(node, ast.ClassDef):
                yield f"{path.stem}:{node.name}", tuple(_base_names(node))


def _base_names(node: ast.ClassDef) -> Iterator[str]:
    for base in node.bases:
        if isinstance(base, ast.Name):
            yield base.id
        elif isinstance(base, ast.Attribute):
            yield base.attr
