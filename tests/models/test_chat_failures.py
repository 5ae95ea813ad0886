"""What happens when a chat-completions server does not answer, over a real socket."""

import asyncio
import socket
from datetime import UTC, datetime
from random import Random

import httpx
import pytest

from bot.models.chat_completions import ChatCompletions, ChatSettings
from bot.models.contract import FailureClass, Finish
from bot.models.transport import new_client
from fakes.openai_picky import Rules
from fakes.openai_script import Kind
from makers.models import hear, make_request, talking

KEY = "sk-proj-0123456789abcdefghij"
FINE = {"text": "Fine."}


@pytest.mark.parametrize(
    "fault",
    [
        "rate-limit",
        "server-error",
        "loading",
        "overloaded",
        "hang-up",
        "empty-stream",
        {"kind": "cut", "at_byte": 10},
        {"kind": "cut", "at_byte": 0, "how": "reset"},
        {"kind": "error-body", "body": {"error": {"message": "busy", "code": 503}}},
        {"kind": "server-error", "status": 502, "body": "<html><b>Bad Gateway</b></html>"},
    ],
    ids=str,
)
async def test_a_passing_failure_is_tried_again(fault) -> None:
    async with talking({"fault": fault}, FINE) as talk:
        heard = await talk.hear()
    assert heard.reply.message.text == "Fine."
    assert len(talk.server.journal) == 2
    assert len(talk.waits) == 1
    assert 0.25 <= talk.waits[0] <= 0.5


@pytest.mark.parametrize(
    ("fault", "failure", "tries"),
    [
        ("rate-limit", FailureClass.RATE_LIMIT, 5),
        ("overloaded", FailureClass.OVERLOADED, 5),
        ("loading", FailureClass.OVERLOADED, 5),
        ("server-error", FailureClass.SERVER, 2),
        ({"kind": "server-error", "status": 502}, FailureClass.SERVER, 3),
        ("hang-up", FailureClass.TRANSPORT, 3),
        ("empty-stream", FailureClass.SERVER, 2),
        ("quota", FailureClass.BILLING, 1),
        ("unauthorized", FailureClass.AUTH, 1),
        ("overflow", FailureClass.OVERFLOW, 1),
        ("bad-request", FailureClass.INVALID, 1),
        ("error-body", FailureClass.SERVER, 3),
        (
            {"kind": "error-body", "body": {"object": "error", "message": "context length is 9"}},
            FailureClass.OVERFLOW,
            1,
        ),
        (
            {"kind": "server-error", "body": {"error": {"type": "exceed_context_size_error"}}},
            FailureClass.OVERFLOW,
            1,
        ),
    ],
    ids=str,
)
async def test_tries_are_bounded_and_only_what_may_pass_is_repeated(fault, failure, tries) -> None:
    async with talking({"fault": fault, "times": None}) as talk:
        heard = await talk.hear()
    assert heard.failure.failure is failure
    assert len(talk.server.journal) == tries
    assert heard.pieces == []


async def test_waits_grow_and_are_spread() -> None:
    async with talking({"fault": "overloaded", "times": None}) as talk:
        await talk.hear()
    assert len(talk.waits) == 4
    for wait, longest in zip(talk.waits, (0.5, 1.0, 2.0, 4.0), strict=True):
        assert longest / 2 <= wait <= longest


@pytest.mark.parametrize(
    ("retry_after", "shortest", "longest"),
    [
        ("7", 7.0, 7.7),
        ("1.5", 1.5, 1.7),
        ("-3", 0.25, 0.5),
        ("soon", 0.25, 0.5),
        ("nan", 0.25, 0.5),
    ],
)
async def test_a_sane_retry_after_is_kept(retry_after, shortest, longest) -> None:
    fault = {"kind": "rate-limit", "retry_after": retry_after}
    async with talking({"fault": fault}, FINE) as talk:
        heard = await talk.hear()
    assert heard.reply.message.text == "Fine."
    assert shortest <= talk.waits[0] <= longest


async def test_a_retry_after_beyond_two_minutes_ends_the_tries() -> None:
    fault = {"kind": "rate-limit", "retry_after": "3600"}
    async with talking({"fault": fault}, FINE) as talk:
        heard = await talk.hear()
    assert heard.failure.failure is FailureClass.RATE_LIMIT
    assert talk.waits == []


async def test_a_server_that_says_not_to_retry_is_believed() -> None:
    fault = {"kind": "overloaded", "headers": {"x-should-retry": "false"}}
    async with talking({"fault": fault}, FINE) as talk:
        heard = await talk.hear()
    assert heard.failure.failure is FailureClass.OVERLOADED


async def test_a_reused_socket_that_died_is_replaced_at_once() -> None:
    async with talking(FINE, {"text": "Again."}, drop_reused=1) as talk:
        await talk.hear()
        heard = await talk.hear()
    assert heard.reply.message.text == "Again."
    assert talk.waits == [0.0]
    assert [seen.connection for seen in talk.server.journal] == [1, 1, 2]


async def test_a_socket_is_used_again_after_an_answer() -> None:
    async with talking(FINE, FINE, FINE) as talk:
        for _ in range(3):
            await talk.hear()
    assert talk.server.connections == 1


async def test_an_error_after_the_first_words_is_not_tried_again_and_keeps_them() -> None:
    async with talking({"text": "So far", "fault": "error-in-stream"}, FINE) as talk:
        heard = await talk.hear()
    assert heard.text == "So far"
    assert heard.failure.partial == "So far"
    assert heard.failure.failure is FailureClass.SERVER
    assert "Provider disconnected" in str(heard.failure)
    assert len(talk.server.journal) == 1


async def test_a_chunk_that_is_no_json_cuts_the_answer() -> None:
    async with talking({"text": "So far", "fault": "broken-chunk"}, FINE) as talk:
        heard = await talk.hear()
    assert heard.reply.finish is Finish.TRUNCATED
    assert heard.reply.message.text == "So far"


async def test_silence_ends_at_the_read_time_out_and_is_tried_once_more() -> None:
    silent = {"fault": "silence", "times": None}
    async with talking(silent, read_timeout_seconds=0.05) as talk:
        heard = await talk.hear()
    assert heard.failure.failure is FailureClass.TRANSPORT
    assert "silence for 0.05 s" in str(heard.failure)
    assert len(talk.server.journal) == 2


async def test_a_slow_server_is_waited_for() -> None:
    turn = {"text": "Late.", "fault": {"kind": "slow", "seconds": 0.1}}
    async with talking(turn, read_timeout_seconds=30.0) as talk:
        heard = await talk.hear()
    assert heard.reply.message.text == "Late."


async def test_a_cancelled_answer_leaves_no_connection_behind() -> None:
    """L18: cancelling in mid-stream hangs up, so that the server stops computing."""
    heard_first = asyncio.Event()
    async with talking({"text": "A long answer", "fault": "stays-open", "finish": "stop"}) as talk:

        async def listen() -> None:
            async for _ in talk.model.respond(make_request()):
                heard_first.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(listen())
        await asyncio.wait_for(heard_first.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(5):
            while talk.server.open_connections:
                await asyncio.sleep(0)


async def test_nobody_listening_says_start_the_server() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        async with talking(FINE, base_url=f"http://ada:pw@127.0.0.1:{port}/v1?k=v") as talk:
            heard = await talk.hear()
    assert heard.failure.failure is FailureClass.TRANSPORT
    assert str(heard.failure) == (
        f"model 'local' at http://127.0.0.1:{port}: connection refused (3 tries); "
        "start the server or correct base_url, then run `steward doctor`"
    )


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (
            "unauthorized",
            "the server refused the key (HTTP 401); "
            "set api_key of [models.local], then run `steward doctor`",
        ),
        (
            "quota",
            "the account has no credit left (HTTP 429): You exceeded your current quota; "
            "top up the account, or choose another model",
        ),
        (
            "overflow",
            "the conversation is longer than the model's context (HTTP 400): "
            "maximum context length is 8192 tokens; "
            "start a new conversation, or give the model a larger context",
        ),
        (
            {"kind": "bad-request", "status": 404, "body": {"error": "model 'x' not found"}},
            "the server refused the request (HTTP 404): model 'x' not found; "
            "check base_url and model (scripted) of [models.local] with `steward doctor`",
        ),
        (
            {"kind": "bad-request", "status": 301, "body": ""},
            "the server sends elsewhere (HTTP 301); "
            "check base_url and model (scripted) of [models.local] with `steward doctor`",
        ),
        (
            {
                "kind": "bad-request",
                "body": {"error": {"message": "no tools here", "param": "reasoning_effort"}},
            },
            "the server refused the request (HTTP 400): no tools here; this model takes tools "
            "only from the Responses API: choose another for [models.local]",
        ),
    ],
    ids=str,
)
async def test_an_error_says_which_model_where_what_and_what_now(fault, text) -> None:
    async with talking({"fault": fault}, api_key=KEY) as talk:
        heard = await talk.hear()
        where = talk.server.base_url.removesuffix("/v1")
    assert str(heard.failure) == f"model 'local' at {where}: {text}"


async def test_a_key_that_is_missing_is_told_apart_from_a_wrong_one() -> None:
    async with talking(rules=Rules(key=KEY)) as talk:
        heard = await talk.hear()
    assert "wants a key and none is set" in str(heard.failure)


@pytest.mark.parametrize(
    "fault",
    [
        *(kind for kind in Kind if kind not in (Kind.SILENCE, Kind.STAYS_OPEN, Kind.SLOW)),
        {"kind": "bad-request", "body": {"error": f"your key {KEY} is odd"}},
        {"kind": "bad-request", "body": {"error": "x" * (280) + KEY}},
        {"kind": "bad-request", "body": {"detail": [{"loc": ["body"], "msg": "m", "input": KEY}]}},
        {"kind": "server-error", "body": f"<p>{KEY}</p>", "status": 502},
        {"kind": "error-in-stream", "body": {"error": {"message": KEY}}},
    ],
    ids=str,
)
async def test_the_key_is_in_no_error(fault) -> None:
    """R4: also when the server repeats it, whole or where its words are cut."""
    async with talking({"text": "Hi", "fault": fault, "times": None}, api_key=KEY) as talk:
        heard = await talk.hear()
    assert talk.server.journal[0].headers["authorization"] == f"Bearer {KEY}"
    told = f"{heard.error} {heard.error!r} {heard.error and heard.error.__cause__!r}"
    assert KEY[:8] not in told
    assert KEY not in repr(talk.model._settings)


@pytest.mark.parametrize("key", ["sk-one\nsk-two", "sk-schlüssel", "sk-\x00"])
async def test_a_key_that_cannot_be_sent_is_never_shown(key: str) -> None:
    """R4: the client's own error would quote the whole header."""
    async with talking(FINE, api_key=key) as talk:
        heard = await talk.hear()
    assert heard.failure.failure is FailureClass.AUTH
    assert "sk-" not in str(heard.failure)
    assert talk.server.journal == []


async def test_a_key_with_blanks_around_it_is_trimmed() -> None:
    async with talking(FINE, rules=Rules(key=KEY), api_key=f" {KEY}\n") as talk:
        heard = await talk.hear()
    assert heard.reply.message.text == "Fine."


@pytest.mark.parametrize(
    "base_url", ["ftp://example.org", "http://[::1", "nothing", "http://a:b:c/", "http://h:99999"]
)
async def test_an_address_that_is_none_is_a_plain_failure(base_url: str) -> None:
    async with talking(FINE, base_url=base_url) as talk:
        heard = await talk.hear()
    assert heard.failure.failure is FailureClass.INVALID
    assert "correct base_url" in str(heard.failure)


async def test_an_empty_stream_for_a_prompt_beyond_the_window_is_an_overflow() -> None:
    """LM Studio answers a prompt that is too long with HTTP 200 and nothing."""
    async with talking({"fault": "empty-stream", "times": None}, context_window=4096) as talk:
        heard = await talk.hear("word " * 4096)
    assert heard.failure.failure is FailureClass.OVERFLOW
    assert len(talk.server.journal) == 1


async def test_what_a_refusal_taught_is_remembered() -> None:
    rules = Rules(stream_options=False, limit_field="max_completion_tokens")
    async with talking(FINE, {"text": "Again."}, rules=rules, max_output_tokens=99) as talk:
        first = await talk.hear()
        asked = len(talk.server.journal)
        second = await talk.hear()
    assert first.reply.message.text == "Fine."
    assert second.reply.message.text == "Again."
    assert asked == 3
    assert len(talk.server.journal) == asked + 1
    assert talk.waits == []
    last = talk.server.journal[-1].body
    assert last["max_completion_tokens"] == 99
    assert "stream_options" not in last


async def test_a_refusal_that_teaches_nothing_ends_at_once() -> None:
    body = {"error": {"message": "max_tokens is too large: 99", "param": "max_tokens"}}
    async with talking(
        {"fault": {"kind": "bad-request", "body": body}, "times": None}, max_output_tokens=99
    ) as talk:
        heard = await talk.hear()
    assert heard.failure.failure is FailureClass.INVALID
    assert len(talk.server.journal) == 1


async def test_a_server_that_refuses_everything_is_not_asked_for_ever() -> None:
    body = {"error": {"message": "unknown max_tokens, use max_completion_tokens, stream_options"}}
    async with talking(
        {"fault": {"kind": "bad-request", "body": body}, "times": None}, max_output_tokens=99
    ) as talk:
        heard = await talk.hear()
    assert heard.failure.failure is FailureClass.INVALID
    assert len(talk.server.journal) <= 4


async def test_a_date_to_retry_after_is_counted_from_now() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    fault = {"kind": "rate-limit", "retry_after": "Mon, 30 Nov 2026 08:00:30 GMT"}
    async with talking({"fault": fault}, FINE) as talk, new_client() as client:
        model = ChatCompletions(
            ChatSettings(name="local", model="scripted", base_url=talk.server.base_url),
            client,
            sleep=sleep,
            random=Random(1),
            now=lambda: datetime(2026, 11, 30, 8, 0, 10, tzinfo=UTC),
        )
        heard = await hear(model)
    assert heard.reply.message.text == "Fine."
    assert 20.0 <= waits[0] <= 22.0


async def test_loopback_never_goes_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with talking(FINE) as talk:
        heard = await talk.hear()
    assert heard.reply.message.text == "Fine."


def test_idle_sockets_are_dropped_before_servers_drop_them() -> None:
    client = new_client()
    transport = client._transport
    assert isinstance(transport, httpx.AsyncHTTPTransport)
    assert transport._pool._keepalive_expiry == 3.0
    assert client.timeout.read == 600.0
    assert client.timeout.connect == 10.0
