"""A real HTTP server on loopback that plays a script in the words of chat completions.

It reads requests as strictly as the pickiest server does (`fakes.openai_picky`), answers what the
script says (`fakes.openai_script`) with every fault a network or a server can have, and keeps a
journal of what it was asked. In process:

    async with FakeOpenAI([{"text": "Hello."}]) as server:
        server.base_url, server.journal

In a process of its own (`PYTHONPATH=tests`), one JSON line with port and base_url on stdout:

    python -m fakes.openai_server --script turns.json --port 0 --journal journal.jsonl
"""

import argparse
import asyncio
import json
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from fakes.http_wire import MAX_HEAD_BYTES, HttpRequest, HttpWire
from fakes.openai_picky import Refusal, Rules, check, check_key
from fakes.openai_script import Asked, Fault, Kind, Script, Scripted, ScriptError, Turn
from fakes.openai_stream import Rendered

_ANY = Rules()
_ERRORS: Mapping[Kind, tuple[int, dict[str, Any]]] = {
    Kind.RATE_LIMIT: (429, {"message": "Rate limit reached", "code": "rate_limit_exceeded"}),
    Kind.QUOTA: (
        429,
        {"message": "You exceeded your current quota", "code": "insufficient_quota"},
    ),
    Kind.UNAUTHORIZED: (401, {"message": "Incorrect API key", "code": "invalid_api_key"}),
    Kind.OVERFLOW: (
        400,
        {"message": "maximum context length is 8192 tokens", "code": "context_length_exceeded"},
    ),
    Kind.BAD_REQUEST: (400, {"message": "that is no request", "type": "invalid_request_error"}),
    Kind.SERVER_ERROR: (500, {"message": "something broke", "type": "server_error"}),
    Kind.LOADING: (503, {"message": "Loading model", "code": 503}),
    Kind.OVERLOADED: (529, {"message": "Overloaded", "type": "overloaded_error"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One request and what became of it. `status` 0: the connection was closed without a word."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    connection: int
    status: int
    problem: str = ""

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])

    def as_json(self) -> str:
        known = asdict(self)
        known["body"] = json.loads(known.pop("raw") or b"null")
        return json.dumps(known, ensure_ascii=False)


class FakeOpenAI:
    """The server. `drop_reused`: so many requests on a used connection die without an answer."""

    def __init__(
        self,
        turns: Sequence[Scripted],
        *,
        rules: Rules = _ANY,
        journal_file: Path | None = None,
        on_request: Callable[[Seen], None] | None = None,
    ) -> None:
        self.script = Script(turns)
        self.rules = rules
        self.journal: list[Seen] = []
        self.drop_reused = 0
        self.connections = 0
        self._journal_file = journal_file
        self._on_request = on_request
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self, port: int = 0) -> None:
        """Listen on loopback; port 0 picks a free one."""
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", port, limit=MAX_HEAD_BYTES
        )

    @property
    def open_connections(self) -> int:
        """How many clients have not hung up."""
        return len(self._tasks)

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def refused(self) -> list[str]:
        """What was wrong with each request that this server would not read."""
        return [seen.problem for seen in self.journal if seen.problem]

    async def stop(self) -> None:
        """Nothing of it is left when this returns."""
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def __aenter__(self) -> "FakeOpenAI":
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        wire = HttpWire(reader, writer)
        try:
            await self._connection(wire, self.connections)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client left; tests look at what it saw
        except asyncio.CancelledError:
            pass  # the server stops; asyncio's streams would log it as a bug
        finally:
            self._tasks.discard(task)
            await wire.close()

    async def _connection(self, wire: HttpWire, number: int) -> None:
        used = False
        while (request := await wire.request()) is not None:
            if used and self.drop_reused:
                self.drop_reused -= 1
                self._note(request, number, status=0)
                return
            used = True
            if not await self._answer(wire, request, number):
                return

    async def _answer(self, wire: HttpWire, request: HttpRequest, number: int) -> bool:
        """True if the connection can carry another request."""
        if (request.method, request.path) == ("GET", "/v1/models"):
            self._note(request, number, status=200)
            await wire.json(
                200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
            )
            return True
        try:
            turn, rendered = self._read(request)
        except Refusal as refusal:
            self._note(request, number, status=refusal.status, problem=refusal.message)
            await wire.json(refusal.status, refusal.body)
            return True
        fault = turn.fault
        status = 200
        if fault is not None:
            status = fault.status or _ERRORS.get(fault.kind, (200, {}))[0]
        self._note(request, number, status=status)
        if fault is not None and fault.kind in _INSTEAD:
            return await _INSTEAD[fault.kind](wire, fault, rendered)
        return await _stream(wire, rendered, fault)

    def _read(self, request: HttpRequest) -> tuple[Turn, Rendered]:
        if (request.method, request.path) != ("POST", "/v1/chat/completions"):
            raise Refusal(f"no {request.method} {request.path} here", status=404)
        check_key(request.headers, self.rules)
        if request.headers.get("content-type") != "application/json":
            raise Refusal("content-type is not application/json", status=415)
        try:
            body = json.loads(request.body)
        except ValueError as error:
            raise Refusal(f"the body is no JSON: {error}") from None
        check(body, self.rules)
        asked = Asked(body=body)
        try:
            turn = self.script.next(asked)
            return turn, Rendered(turn, asked, len(self.journal))
        except ScriptError as error:
            raise Refusal(str(error), code="script_error") from None

    def _note(
        self, request: HttpRequest, connection: int, *, status: int, problem: str = ""
    ) -> None:
        seen = Seen(
            method=request.method,
            path=request.path,
            headers=request.headers,
            raw=request.body,
            connection=connection,
            status=status,
            problem=problem,
        )
        self.journal.append(seen)
        if self._journal_file is not None:
            with self._journal_file.open("a", encoding="utf-8") as file:
                file.write(seen.as_json() + "\n")
        if self._on_request is not None:
            self._on_request(seen)


async def _error(wire: HttpWire, fault: Fault, _: Rendered) -> bool:
    status, error = _ERRORS[fault.kind]
    headers = dict(fault.headers)
    if fault.retry_after is not None:
        headers["retry-after"] = fault.retry_after
    await wire.json(
        fault.status or status, {"error": error} if fault.body is None else fault.body, headers
    )
    return True


async def _error_body(wire: HttpWire, fault: Fault, _: Rendered) -> bool:
    await wire.json(200, fault.body or {"error": "Trying to keep more tokens than the context"})
    return True


async def _silence(wire: HttpWire, _: Fault, __: Rendered) -> bool:
    await wire.gone()
    return False


async def _hang_up(_: HttpWire, __: Fault, ___: Rendered) -> bool:
    return False


async def _empty(wire: HttpWire, _: Fault, __: Rendered) -> bool:
    await wire.begin_stream()
    await wire.end_stream()
    return True


async def _whole(wire: HttpWire, _: Fault, rendered: Rendered) -> bool:
    await wire.json(200, rendered.whole())
    return True


_INSTEAD = dict.fromkeys(_ERRORS, _error) | {
    Kind.ERROR_BODY: _error_body,
    Kind.SILENCE: _silence,
    Kind.HANG_UP: _hang_up,
    Kind.EMPTY_STREAM: _empty,
    Kind.NOT_STREAMED: _whole,
}


async def _stream(wire: HttpWire, rendered: Rendered, fault: Fault | None) -> bool:
    content, ending = rendered.content(), rendered.ending()
    kind = fault.kind if fault else None
    if kind is Kind.SLOW and fault:
        await asyncio.sleep(fault.seconds)
    await wire.begin_stream()
    if fault and kind in (Kind.CUT, Kind.CUT_IN_CALL):
        whole = b"".join(content if kind is Kind.CUT_IN_CALL else content + ending)
        # a call's arguments are the last content: half of the last event lies inside them
        at = fault.at_byte if kind is Kind.CUT else len(whole) - len(content[-1]) // 2
        await wire.piece(whole[:at])
        await wire.close(fault.how)
        return False
    for data in content + ending:
        if kind is Kind.BYTE_BY_BYTE:
            for byte in data:
                await wire.piece(bytes([byte]))
        else:
            await wire.piece(data)
    if kind is Kind.STAYS_OPEN:
        await wire.gone()
        return False
    await wire.end_stream()
    return True


async def _serve(options: argparse.Namespace) -> None:
    turns = json.loads(options.script.read_text(encoding="utf-8"))
    rules = Rules(**json.loads(options.rules))
    server = FakeOpenAI(turns, rules=rules, journal_file=options.journal)
    await server.start(options.port)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    print(json.dumps({"port": server.port, "base_url": server.base_url}), flush=True)
    await stop.wait()
    await server.stop()


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser(prog="fakes.openai_server")
    parser.add_argument("--script", type=Path, required=True, help="a JSON list of turns")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--journal", type=Path, help="one JSON line for each request")
    parser.add_argument("--rules", default="{}", help="fields of Rules, as JSON")
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
