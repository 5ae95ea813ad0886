"""Reads `manifest.toml`: what a tool package offers, without running any of its code.

Why: listing, reviewing and set-up must not import a client library, and a third party's package
must be describable before it is trusted.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tools.contract import Capabilities, EffectScope, Egress, Phase, ReviewShape, ToolSpec
from tools.errors import ManifestError

MANIFEST_NAME = "manifest.toml"
API_VERSION = 1

_HANDLER_CLASS = re.compile(r"^class (\w+)\((?:Tool|Sender)\):", re.MULTILINE)


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
    args: str = Field(pattern=r"^[a-z0-9_.]+:[A-Za-z0-9]+$")
    handler: str = Field(pattern=r"^[a-z0-9_.]+:[A-Za-z0-9]+$")
    capabilities: _Capabilities
    read_only: bool
    scope: EffectScope = EffectScope.WORLD
    phases: tuple[Phase, ...] = tuple(Phase)
    stageable: bool = False
    parseable: bool = False
    timeout_seconds: float = Field(default=120.0, gt=0)
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

    Raises: ManifestError naming the file and the field that is missing, unknown or wrong.
    """
    path = folder / MANIFEST_NAME
    try:
        manifest = Manifest.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise ManifestError(f"{path}: {where}: {first['msg']}") from None
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ManifestError(f"{path}: cannot be read: {error}") from error
    if not manifest.api.minimum <= API_VERSION <= manifest.api.maximum:
        raise ManifestError(f"{path}: made for tool api {manifest.api}, this is {API_VERSION}")
    return manifest


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
        timeout_seconds=tool.timeout_seconds,
        needs=tool.needs,
        review=ReviewShape(**tool.review.model_dump()),
        unnamed_writes=tool.unnamed_writes,
    )


def _check_handlers(folder: Path, package: str, specs: Sequence[ToolSpec]) -> None:
    """Compare the handlers declared with the handler classes in the package's own files."""
    written = {
        name for path in folder.glob("*.py") for name in _HANDLER_CLASS.findall(path.read_text())
    }
    declared = Counter(spec.handler.partition(":")[2] for spec in specs)
    for spec in specs:
        handler = spec.handler.partition(":")[2]
        if handler not in written:
            raise ManifestError(f"package {package}: tool {spec.name}: no handler {spec.handler}")
        if declared[handler] > 1:
            raise ManifestError(f"package {package}: handler {spec.handler} serves two tools")
    for name in sorted(written - set(declared)):
        raise ManifestError(f"package {package}: handler {name} belongs to no tool")
