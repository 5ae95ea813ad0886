"""The tool packages that come with steward: every folder of the four floors with a manifest."""

from pathlib import Path

from tools.contract import ToolSpec
from tools.manifest import MANIFEST_NAME, load_specs

_FLOORS = ("tools", "outbox", "triggers", "bot")


def built_in_specs() -> list[ToolSpec]:
    """Every tool that a package of the four floors declares. Raises: ManifestError."""
    top = Path(__file__).parents[1]
    manifests = (path for floor in _FLOORS for path in sorted((top / floor).rglob(MANIFEST_NAME)))
    return [spec for path in manifests for spec in load_specs(path.parent)]
