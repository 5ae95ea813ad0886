"""The error tree of the tools floor, grouped by who must act.

ToolsError
├── ManifestError    whoever wrote the package: the start fails, naming package and tool
├── RegistryError    the owner: two sources claim one name, or a selection names nothing
└── JailError        the model: the path is refused; becomes a tool result, never a crash
"""


class ToolsError(Exception):
    """Anything this floor refuses; its text says what, which, and what now."""


class ManifestError(ToolsError):
    """A manifest and its handlers do not match, or a manifest has a field nobody knows."""


class RegistryError(ToolsError):
    """Two sources claim one tool name, or a selection names a tool that does not exist."""


class JailError(ToolsError):
    """A path leads outside the workspace, or into a place no tool may touch."""
