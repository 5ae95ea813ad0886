"""`todo`: the steps of the task at hand, replaced whole, so that no step can be lost track of."""

import asyncio
import json
import os
import re
import secrets
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tools.contract import CarriedState, Tool, ToolContext
from tools.result import ToolResult

MAX_ITEMS = 100
MAX_TEXT = 500
TITLE = "The todo list"


class Status(StrEnum):
    """How far a step is."""

    OPEN = "open"
    DOING = "doing"
    DONE = "done"


_BOXES = {Status.OPEN: "[ ]", Status.DOING: "[~]", Status.DONE: "[x]"}


class TodoItem(BaseModel):
    """One step."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Annotated[
        str,
        Field(min_length=1, max_length=MAX_TEXT, description="The step, e.g. answer Ada's mail"),
    ]
    status: Annotated[Status, Field(description="How far it is, e.g. doing")] = Status.OPEN


class TodoArgs(BaseModel):
    """What `todo` takes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    items: Annotated[
        tuple[TodoItem, ...] | None,
        Field(
            max_length=MAX_ITEMS,
            description="The whole new list, every step that stays included, e.g. "
            '[{"text": "read the thread", "status": "done"}, {"text": "draft the answer"}]; '
            "left out, the list is only shown",
        ),
    ] = None


_STORED = TypeAdapter(tuple[TodoItem, ...])


class Todo(Tool):
    """Keeps one list a session, in a file of its own that is replaced at once or not at all."""

    async def call(self, args: TodoArgs, ctx: ToolContext) -> ToolResult:
        """The list as it now is."""
        path = _path(ctx)
        try:
            if args.items is not None:
                await asyncio.to_thread(_store, path, args.items)
            items = await asyncio.to_thread(_load, path)
        except OSError as error:
            return ToolResult.error(f"the todo list cannot be kept: {error.strerror}")
        return ToolResult.ok(_shown(items) or "(the todo list is empty)")

    def carried_state(self, ctx: ToolContext) -> CarriedState | None:
        """The list, while it has an item; an unreadable one is nothing to carry."""
        try:
            text = _shown(_load(_path(ctx)))
        except OSError:
            return None
        return CarriedState(title=TITLE, text=text) if text else None


def _path(ctx: ToolContext) -> Path:
    name = re.sub(r"[^A-Za-z0-9_-]", "_", ctx.session_id)
    return ctx.need("todo_dir", Path) / f"{name}.json"


def _shown(items: tuple[TodoItem, ...]) -> str:
    return "\n".join(f"{_BOXES[item.status]} {' '.join(item.text.split())}" for item in items)


def _load(path: Path) -> tuple[TodoItem, ...]:
    """The stored list. A file that is no list counts as none: the model writes it anew."""
    try:
        return _STORED.validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return ()


def _store(path: Path, items: tuple[TodoItem, ...]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.stem[:100]}-{secrets.token_hex(8)}.tmp")
    data = json.dumps([item.model_dump(mode="json") for item in items], ensure_ascii=False)
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        with suppress(OSError):
            beside.unlink()
        raise
