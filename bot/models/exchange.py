"""One request to a chat-completions server and the answer it streams; one try, no second."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import httpx

from bot.models.accumulate import Assembly, Delta
from bot.models.contract import FailureClass
from bot.models.failures import Problem, problem_in, read_problem
from bot.models.jsontext import NotJson, decode
from bot.models.quirks import Quirks, lesson
from bot.models.refusals import Asked, empty_stream, refusal
from bot.models.retry import Failure, retry_after
from bot.models.sse import ServerEvent, Splitter, StreamTooLarge
from bot.models.transport import broken, timeouts
from bot.models.wire import Body

LONGEST_ANSWER_BYTES = 64 * 1024 * 1024

_AFTER_FINISH_SECONDS = 5.0  # for the usage chunk of a server that then keeps the socket open
_AFTER_DONE_SECONDS = 0.25  # for the end of the body, so that the socket can be used again
_ERROR_BODY_BYTES = 64 * 1024
_ERROR_BODY_SECONDS = 20.0
_DONE = b"[DONE]"
_BROKE_OFF = Problem(message="it ended the answer with an error")  # OpenRouter's finish reason


class Failed(Exception):  # noqa: N818 - a signal to the one who decides about another try
    """This try gave no answer. `learnt`: how the same request might be taken."""

    def __init__(self, failure: Failure, learnt: Quirks | None = None) -> None:
        super().__init__(failure.what)
        self.failure = failure
        self.learnt = learnt


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What is sent, where, and what to know about it when it is refused."""

    url: str
    headers: Mapping[str, str]
    body: Body
    quirks: Quirks
    asked: Asked
    read_seconds: float
    context_window: int | None
    now: datetime


class Exchange:
    """One try. Feeds `answer`; afterwards `cut` says how the stream broke, "" when it did not."""

    def __init__(self, client: httpx.AsyncClient, post: Post, answer: Assembly) -> None:
        self._client = client
        self._post = post
        self.answer = answer
        self.cut = ""
        self._new_socket = False
        self._received_bytes = 0
        self._done = False

    @property
    def prompt_bytes(self) -> int:
        """How much the model was given to read, without pictures."""
        return self._post.body.prompt_bytes

    async def deltas(self) -> AsyncGenerator[Delta, None]:
        """What there is to read, as it comes. Raises: Failed."""
        response = await self._send()
        try:
            if response.status_code != 200:
                raise await self._refused(response)
            async with aclosing(self._chunks(response)) as chunks:
                async for chunk in chunks:
                    for delta in self.answer.feed(chunk):
                        yield delta
                    if self.answer.finish_reason == "error":
                        raise Failed(refusal(200, _BROKE_OFF, self._post.asked))
        finally:
            await response.aclose()
        if not (self.answer.started or self.answer.finish_reason):
            raise Failed(
                empty_stream(
                    prompt_bytes=self.prompt_bytes,
                    context_window=self._post.context_window,
                )
            )

    async def _send(self) -> httpx.Response:
        try:
            request = self._client.build_request(
                "POST",
                self._post.url,
                content=self._post.body.raw,
                headers=self._post.headers,
                timeout=timeouts(read_seconds=self._post.read_seconds),
                extensions={"trace": self._trace},
            )
            return await self._client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Failed(self._broken(error, reused=not self._new_socket)) from None

    async def _trace(self, event: str, _: dict[str, Any]) -> None:
        if event == "connection.connect_tcp.started":
            self._new_socket = True

    def _broken(self, error: Exception, *, reused: bool) -> Failure:
        return broken(error, reused=reused, read_seconds=self._post.read_seconds)

    async def _refused(self, response: httpx.Response) -> Failed:
        body = bytearray()
        try:
            async with asyncio.timeout(_ERROR_BODY_SECONDS):
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > _ERROR_BODY_BYTES:
                        break
        except (httpx.HTTPError, TimeoutError):
            pass  # the status alone says enough
        problem = read_problem(bytes(body))
        failure = replace(
            refusal(response.status_code, problem, self._post.asked),
            retry_after_seconds=retry_after(response.headers, self._post.now),
        )
        if response.headers.get("x-should-retry") == "false":
            failure = replace(failure, tries=1)
        return Failed(failure, lesson(self._post.quirks, response.status_code, problem))

    async def _chunks(self, response: httpx.Response) -> AsyncGenerator[Mapping[str, Any], None]:
        """The decoded chunks of the stream, until it ends or breaks."""
        splitter = Splitter()
        raw = response.aiter_bytes()
        try:
            while piece := await self._next(raw):
                for event in splitter.feed(piece):
                    for chunk in self._decoded(event):
                        yield chunk
            for event in splitter.close():
                for chunk in self._decoded(event):
                    yield chunk
        except (httpx.HTTPError, StreamTooLarge, NotJson) as error:
            self._note_cut(error)
        for chunk in self._outside(splitter.stray):
            yield chunk

    async def _next(self, raw: AsyncIterator[bytes]) -> bytes:
        """The next bytes, b"" at the end; once the answer is complete nobody waits long for more."""
        if self._received_bytes > LONGEST_ANSWER_BYTES:
            raise StreamTooLarge
        patience = None
        if self.answer.finish_reason:
            patience = _AFTER_DONE_SECONDS if self._done else _AFTER_FINISH_SECONDS
        try:
            async with asyncio.timeout(patience):
                piece = await anext(raw, b"")
        except TimeoutError:
            return b""
        self._received_bytes += len(piece)
        return piece

    def _decoded(self, event: ServerEvent) -> Iterator[Mapping[str, Any]]:
        """The chunks of one event. Raises: NotJson, Failed."""
        if self._done or event.data.strip() == _DONE:
            self._done = True
            return
        if event.name == "error":
            raise Failed(refusal(200, read_problem(event.data), self._post.asked))
        for data in _texts(event.data):
            value = decode(data, lenient=True)
            problem = problem_in(value)
            if problem is not None:
                raise Failed(refusal(200, problem, self._post.asked))
            if isinstance(value, dict):
                yield value

    def _outside(self, stray: bytes) -> Iterator[Mapping[str, Any]]:
        """What a server that did not stream said instead: a whole answer, or an error under 200."""
        if not stray.strip() or self.answer.finish_reason:
            return
        try:
            value = decode(stray, lenient=True)
        except NotJson:
            value = None
        if isinstance(value, dict) and "choices" in value and problem_in(value) is None:
            yield value
        elif not self.answer.started or stray.lstrip().startswith(b"error:"):
            raise Failed(refusal(200, read_problem(stray), self._post.asked))

    def _note_cut(self, error: Exception) -> None:
        """Remember how the stream broke. Raises: Failed when nothing of an answer had come."""
        if self.answer.finish_reason:
            return
        match error:
            case StreamTooLarge():
                failure = _unreadable("the answer is larger than any answer")
            case NotJson():
                failure = _unreadable("the stream broke inside a chunk")
            case _:
                failure = self._broken(error, reused=False)
        if not self.answer.started:
            raise Failed(failure) from None
        self.cut = failure.what


def _unreadable(what: str) -> Failure:
    return Failure(
        failure=FailureClass.SERVER, what=what, advice="look at the server's own log", tries=2
    )


def _texts(data: bytes) -> list[bytes]:
    """The JSON texts of one event: one, or one a line where a server forgot the blank lines."""
    if b"\n" not in data:
        return [data]
    try:
        decode(data, lenient=True)
    except NotJson:
        return [line for line in data.split(b"\n") if line.strip() and line.strip() != _DONE]
    return [data]
