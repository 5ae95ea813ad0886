"""`grep`: hands the search to a process that can be killed, and reads what it finds."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.contract import Capabilities, Tool, ToolContext
from tools.files.args import GrepArgs
from tools.files.place import any_untrusted, failed, is_untrusted, narrowed_reading
from tools.jail import printable
from tools.result import ToolResult

SEARCH_SECONDS = 20.0
LINE_BYTES = 64 * 1024  # of the worker's answers; what they hold is bounded by the worker

_WORKER = Path(__file__).with_name("search_worker.py")


class Grep(Tool):
    """Searches within a time that holds whatever the pattern is."""

    search_seconds = SEARCH_SECONDS

    async def call(self, args: GrepArgs, ctx: ToolContext) -> ToolResult:
        """The matching lines, external if one of their files may hold text of others."""
        path = ctx.jail.resolve(args.path)
        found = _Found(path=path)
        try:
            descriptor, is_file = await asyncio.to_thread(_open, path, ctx)
        except OSError as error:
            return failed("search", path, error, ctx)
        try:
            job = _job(args, ctx, descriptor, path.name if is_file else None)
            async with asyncio.timeout(self.search_seconds):
                async with aclosing(_answers(job, descriptor)) as answers:
                    async for answer in answers:
                        found.take(answer)
        except TimeoutError:
            found.late = True
        finally:
            os.close(descriptor)
        found.folder = path.parent if is_file else path
        return await asyncio.to_thread(_result, found, self.search_seconds, ctx)

    def capabilities_of(self, args: GrepArgs, ctx: ToolContext) -> Capabilities:
        """Untrusted input only where something below the path is untrusted."""
        return narrowed_reading(args.path, self.spec.capabilities, ctx)

    def truncation_hint(self, args: GrepArgs) -> str | None:
        """A narrower search."""
        del args
        return "or narrow the search with path, glob or a longer pattern"


@dataclass(slots=True, kw_only=True)
class _Found:
    """What the worker has told so far."""

    path: Path
    folder: Path = Path()
    lines: list[dict[str, Any]] = field(default_factory=list)
    current: str = ""
    wrong: str | None = None
    late: bool = False
    end: dict[str, Any] | None = None

    def take(self, answer: dict[str, Any]) -> None:
        if "line" in answer:
            self.lines.append(answer)
        elif "begins" in answer:
            self.current = answer["begins"]
        elif "wrong" in answer:
            self.wrong = answer["wrong"]
        else:
            self.end = answer


def _open(path: Path, ctx: ToolContext) -> tuple[int, bool]:
    try:
        return ctx.jail.open_folder(path), False
    except NotADirectoryError:
        with ctx.jail.open_read(path) as file:
            return os.dup(file.fileno()), True


def _job(args: GrepArgs, ctx: ToolContext, descriptor: int, file: str | None) -> bytes:
    job = args.model_dump(include={"pattern", "glob", "context", "ignore_case", "literal", "limit"})
    barred = sorted(ctx.jail.barred())
    return json.dumps({**job, "barred": barred, "descriptor": descriptor, "file": file}).encode()


async def _answers(job: bytes, descriptor: int) -> AsyncGenerator[dict[str, Any], None]:
    """What the worker says, line by line; it is dead when the iteration ends, however it ends."""
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", str(_WORKER),
        stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=LINE_BYTES,
        pass_fds=(descriptor,), env={}, cwd="/", start_new_session=True,
    )  # fmt: skip
    try:
        assert worker.stdin is not None
        assert worker.stdout is not None
        with suppress(BrokenPipeError, ConnectionResetError):
            worker.stdin.write(job)
            await worker.stdin.drain()
        worker.stdin.close()
        async for line in worker.stdout:
            yield json.loads(line)
    finally:
        await _end(worker)


async def _end(worker: Process) -> None:
    with suppress(ProcessLookupError):
        worker.kill()
    await worker.wait()


def _result(found: _Found, seconds: float, ctx: ToolContext) -> ToolResult:
    if found.wrong is not None:
        return ToolResult.error(
            f"the pattern is no regular expression: {printable(found.wrong)}; "
            "set literal to find it as plain text"
        )
    if found.end is None and not found.lines:
        return ToolResult.error(_stopped(found, seconds, ctx))
    text = "\n".join(_line(each, found.folder, ctx) for each in found.lines)
    notes = _notes(found, seconds, ctx)
    if not found.lines:
        return ToolResult.ok(f"({notes})")
    external = any_untrusted(found.folder, ctx) and any(
        is_untrusted(found.folder / path, ctx) for path in {each["path"] for each in found.lines}
    )
    return ToolResult.ok(f"{text}\n[{notes}]", external=external)


def _line(each: dict[str, Any], folder: Path, ctx: ToolContext) -> str:
    mark = ":" if each["match"] else "-"
    return f"{ctx.jail.shown(folder / each['path'])}{mark}{each['line']}{mark} {each['text']}"


def _notes(found: _Found, seconds: float, ctx: ToolContext) -> str:
    matches = sum(each["match"] for each in found.lines)
    said = [f"{matches} matching lines" if matches != 1 else "1 matching line"]
    if found.end is None:
        return f"{said[0]}; {_stopped(found, seconds, ctx)}"
    said.append(f"{found.end['files']} files searched")
    if found.end["skipped"]:
        said.append(f"{found.end['skipped']} skipped as binary, too large or unreadable")
    if found.end["full"]:
        said.append("stopped at the limit, there may be more")
    return "; ".join(said)


def _stopped(found: _Found, seconds: float, ctx: ToolContext) -> str:
    where = f" in {ctx.jail.shown(found.folder / found.current)}" if found.current else ""
    if found.late:
        return (
            f"the search was stopped after {seconds:g} seconds{where}; "
            "use a simpler pattern or search less"
        )
    return f"the search ended early{where}; use a simpler pattern or search less"
