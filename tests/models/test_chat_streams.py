"""Streams that are not quite what they should be, over a real socket."""

import json

import pytest

from bot.models.contract import FailureClass, Finish
from makers.models import talking

FINE = {"text": "Fine."}


def data(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode()


def said(text: str, finish: str | None = None) -> dict:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}


@pytest.mark.parametrize(
    "stream",
    [
        data(said("Hi")) + b"\n" + data(said("!", "stop")) + b"\ndata: [DONE]\n\n",
        data(said("Hi")) + b"\r\r" + data(said("!", "stop")) + b"\r\r",
        b"\xef\xbb\xbf" + data(said("Hi")) + b"\n\n\n\n" + data(said("!", "stop")),
        data(said("Hi!", "stop")) + b"\n\ndata: [DONE]\n\ndata: not read any more\n\n",
        b'data: {"choices":[{"delta":{"content":"Hi!"},"logprobs":NaN,"finish_reason":"stop"}]}\n\n',
        b"data: 3\n\ndata: []\n\ndata: {}\n\n" + data(said("Hi!", "stop")) + b"\n\n",
        b"ping\n\n" + data(said("Hi!", "stop")) + b"\n\n",
        json.dumps(
            {"choices": [{"message": {"content": "Hi!"}, "finish_reason": "stop"}]}, indent=1
        ).encode(),
    ],
    ids=[
        "no-blank-lines", "cr", "bom-no-end", "after-done", "nan", "other-values", "stray-line",
        "pretty-json",
    ],
)  # fmt: skip
async def test_an_answer_is_understood_all_the_same(stream: bytes) -> None:
    async with talking({"raw": [stream]}) as talk:
        heard = await talk.hear()
    assert heard.text == heard.reply.message.text == "Hi!"
    assert heard.reply.finish is Finish.DONE
    assert heard.reply.detail == ""


@pytest.mark.parametrize(
    ("stream", "failure"),
    [
        (b'error: {"code":500,"message":"the context size is full"}\n\n', FailureClass.OVERFLOW),
        (b"event: error\ndata: out of memory\n\n", FailureClass.SERVER),
        (b'{\n "error": {\n  "message": "no",\n  "code": 401\n }\n}', FailureClass.AUTH),
        (b"The model crashed.", FailureClass.SERVER),
        (b"data: {broken\n\n", FailureClass.SERVER),
        (b"data: \xff\xfe\n\n", FailureClass.SERVER),
        (b"data: [DONE]\n\n", FailureClass.SERVER),
        (b'data: {"choices": []}\n\n', FailureClass.SERVER),
        (data({"error": {"code": 429}}) + b"\n\n", FailureClass.RATE_LIMIT),
        (
            data({"object": "error", "type": "invalid_request_error", "message": "no"}) + b"\n\n",
            FailureClass.INVALID,
        ),
        (data({"choices": [{"finish_reason": "error"}]}) + b"\n\n", FailureClass.SERVER),
    ],
    ids=[
        "error-line", "error-event", "pretty-json", "prose", "broken", "no-utf-8", "only-done",
        "no-choices", "error-chunk", "vllm-error", "finish-error",
    ],
)  # fmt: skip
async def test_an_error_under_http_200_is_the_failure_it_would_be(stream, failure) -> None:
    async with talking({"raw": [stream], "times": None}) as talk:
        heard = await talk.hear()
    assert heard.failure.failure is failure
    assert heard.failure.partial == ""
    async with talking({"raw": [stream]}, FINE) as talk:
        again = await talk.hear()
    passing = failure in (FailureClass.SERVER, FailureClass.RATE_LIMIT)
    assert (again.last is not None) == passing


@pytest.mark.parametrize(
    "tail",
    [
        b'error: {"code":500,"message":"slot lost"}\n\n',
        b"event: error\ndata: out of memory\n\n",
        data({"choices": [{"finish_reason": "error"}]}) + b"\n\n",
    ],
    ids=["error-line", "error-event", "finish-error"],
)
async def test_an_error_after_words_keeps_them_as_partial(tail: bytes) -> None:
    async with talking({"raw": [data(said("So far")) + b"\n\n" + tail]}, FINE) as talk:
        heard = await talk.hear()
    assert heard.failure.partial == "So far"
    assert len(talk.server.journal) == 1


async def test_an_answer_without_end_is_cut_at_a_bound() -> None:
    chunk = data(said("x" * 1_000_000)) + b"\n\n"
    async with talking({"raw": [chunk] * 80}) as talk:
        heard = await talk.hear()
    assert heard.reply.finish is Finish.TRUNCATED
    assert heard.reply.detail == "the answer is larger than any answer"
    assert len(heard.text) < 70_000_000
