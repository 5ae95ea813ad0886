"""Pure. Every reference to a secret that a configuration holds."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from bot.settings_types import SecretReference


def references(config: BaseModel) -> list[tuple[str, SecretReference]]:
    """Dotted keys and the references that stand there, in the order of the sections."""
    return list(_walk(config, ()))


def _walk(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, SecretReference]]:
    if isinstance(value, SecretReference):
        yield ".".join(path), value
        return
    parts: Iterator[tuple[str, Any]] = iter(())
    if isinstance(value, BaseModel):
        parts = ((name, getattr(value, name)) for name in type(value).model_fields)
    elif isinstance(value, Mapping):
        parts = ((str(name), part) for name, part in value.items())
    elif isinstance(value, tuple):
        parts = ((str(number), part) for number, part in enumerate(value))
    for name, part in parts:
        yield from _walk(part, (*path, name))
