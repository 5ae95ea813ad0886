"""The pure rules around a model: what a failure is, when to try again, what it cost."""

from datetime import UTC, datetime
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.contract import TRANSIENT, FailureClass, Usage
from bot.models.failures import Problem, classify, one_line, problem_in, read_problem
from bot.models.jsontext import decode
from bot.models.price import Price, cost_usd
from bot.models.quirks import LimitField, Quirks, lesson, usual_quirks
from bot.models.retry import Attempts, Failure, retry_after

NOW = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "body", "failure"),
    [
        (400, '{"error":{"message":"m","code":"context_length_exceeded"}}', "overflow"),
        (400, '{"object":"error","message":"maximum context length is 9 tokens"}', "overflow"),
        (500, '{"error":{"code":500,"type":"exceed_context_size_error"}}', "overflow"),
        (413, "<html>too large</html>", "overflow"),
        (200, '{"error":"The number of tokens exceeds the context length"}', "overflow"),
        (429, '{"error":{"message":"context length","code":"rate_limit_exceeded"}}', "rate-limit"),
        (429, '{"error":{"type":"insufficient_quota"}}', "billing"),
        (429, '[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]', "rate-limit"),
        (402, "", "billing"),
        (401, '{"error":{"type":"invalid_request_error","code":"invalid_api_key"}}', "auth"),
        (403, "", "auth"),
        (400, '{"error":{"code":"invalid_api_key"}}', "auth"),
        (400, "{}", "invalid"),
        (404, '{"detail":"Not Found"}', "invalid"),
        (422, '{"detail":[{"loc":["body","messages"],"msg":"Field required"}]}', "invalid"),
        (302, "", "invalid"),
        (408, "", "server"),
        (500, "not json", "server"),
        (504, "", "server"),
        (503, '{"error":{"code":503,"message":"Loading model"}}', "overloaded"),
        (529, "", "overloaded"),
        (200, '{"error":{"code":"429","message":"slow down"}}', "rate-limit"),
        (200, '{"error":{"code":502}}', "server"),
        (200, '{"object":"error","type":"invalid_request_error","message":"m"}', "invalid"),
        (200, 'error: {"code":500,"message":"the context size is full"}', "overflow"),
        (200, "something broke", "server"),
    ],
)
def test_a_failure_has_one_class(status: int, body: str, failure: str) -> None:
    assert classify(status, read_problem(body.encode())) == failure


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"error":{"message":"a\\nb\\u0007 c"}}', "a b c"),
        ('{"error":"plain"}', "plain"),
        ('{"message":"m","type":"t"}', "m"),
        ('{"detail":{"error":"x","message":"inside"}}', "inside"),
        ("<html><title>502</title>  <b>Bad</b></html>", "502 Bad"),
        ('"just text"', "just text"),
        ("[" * 100_000, "[" * 299 + "…"),
        ("", ""),
        ("null", ""),
    ],
)
def test_the_words_of_an_error_are_one_bounded_line(body: str, message: str) -> None:
    assert read_problem(body.encode()).message == message


def test_a_list_of_mistakes_does_not_repeat_what_was_sent() -> None:
    """R4: FastAPI puts the whole input into its answer."""
    body = b'{"detail":[{"loc":["body","x"],"msg":"Field required","input":"secret"}]}'
    assert read_problem(body).message == "body.x: Field required"


@given(st.binary(max_size=200))
def test_any_error_body_is_read(body: bytes) -> None:
    problem = read_problem(body)
    assert classify(500, problem) in FailureClass


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    line = one_line(text)
    assert len(line) <= 300
    assert line.isprintable()


@pytest.mark.parametrize(
    "chunk",
    [
        '{"choices":[],"error":null}',
        '{"choices":[]}',
        "{}",
        "[]",
        "3",
        '{"error":{}, "choices":[]}',
    ],
)
def test_a_chunk_with_nothing_wrong_is_no_error(chunk: str) -> None:
    problem = problem_in(decode(chunk))
    assert problem is None or problem == Problem()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "9", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Mon, 30 Nov 2026 08:01:00 GMT"}, 60.0),
        ({"retry-after": "Mon, 30 Nov 2026 07:00:00 GMT"}, 0.0),
        ({"retry-after": "Mon, 30 Nov 2026 08:01:00 -0000"}, 60.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after-ms": "x"}, None),
    ],
    ids=str,
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@given(st.sampled_from(FailureClass), st.none() | st.floats(0, 500), st.integers())
def test_tries_end_and_waits_stay_sane(failure, asked, seed: int) -> None:
    attempts = Attempts(Random(seed))
    failed = Failure(failure=failure, what="", advice="", retry_after_seconds=asked)
    waits = []
    while (wait := attempts.wait_seconds(failed)) is not None:
        waits.append(wait)
    assert len(waits) <= 4
    assert attempts.made == len(waits) + 1
    assert all((asked or 0) <= wait <= 132 for wait in waits)
    if failure not in TRANSIENT or (asked or 0) > 120:
        assert waits == []
    else:
        assert waits


def test_a_dead_reused_socket_is_replaced_at_once_only_once() -> None:
    attempts = Attempts(Random(1))
    failed = Failure(failure=FailureClass.TRANSPORT, what="", advice="", at_once=True)
    first, second = attempts.wait_seconds(failed), attempts.wait_seconds(failed)
    assert first == 0.0
    assert second is not None
    assert second > 0.2


PRICE = Price(
    input=Decimal("2"), output=Decimal("10"), cache_read=Decimal("0.2"), cache_write=Decimal("2.5")
)


@pytest.mark.parametrize(
    ("usage", "price", "cost"),
    [
        (Usage(input_tokens=1_000_000, output_tokens=100_000), PRICE, "3"),
        (Usage(input_tokens=1000, output_tokens=0, cached_tokens=900), PRICE, "0.00038"),
        (
            Usage(input_tokens=1000, output_tokens=0, cached_tokens=500, cache_write_tokens=500),
            PRICE,
            "0.00135",
        ),
        (Usage(input_tokens=10, output_tokens=0, cached_tokens=99), PRICE, "0.000002"),
        (
            Usage(input_tokens=1000, output_tokens=1, cached_tokens=900),
            Price(input=Decimal(1), output=Decimal(1)),
            "0.001001",
        ),
        (Usage(input_tokens=1, output_tokens=1), Price(input=Decimal(0), output=Decimal(0)), "0"),
        (Usage(input_tokens=1, output_tokens=1), None, None),
        (Usage(input_tokens=1), PRICE, None),
        (Usage(output_tokens=1), PRICE, None),
    ],
    ids=["plain", "cached", "written", "inconsistent", "no-cache-price", "free", "no-price",
         "no-output", "no-input"],
)  # fmt: skip
def test_a_cost_is_exact_or_unknown(usage: Usage, price: Price | None, cost: str | None) -> None:
    assert cost_usd(usage, price) == (None if cost is None else Decimal(cost))


def problem(message: str = "", code: str = "", param: str = "") -> Problem:
    return Problem(message=message, code=code, param=param)


@pytest.mark.parametrize(
    ("status", "said", "field", "value"),
    [
        (400, problem('Unknown name "stream_options": Cannot find field.'), "include_usage", False),
        (400, problem(), "include_usage", False),
        (
            400,
            problem("Unsupported parameter", "unsupported_parameter", "max_tokens"),
            "limit_field",
            LimitField.MAX_COMPLETION_TOKENS,
        ),
        (400, problem("id must be a-z, A-Z, 0-9", "3280"), "nine_character_ids", True),
        (400, problem("Unexpected role 'user' after role 'tool'"), "user_after_tool", False),
        (500, problem("Cannot pass both content and thinking"), "reasoning_beside_text", False),
    ],
)
def test_a_refusal_teaches_how_an_endpoint_differs(status, said, field, value) -> None:
    learnt = lesson(Quirks(), status, said)
    assert learnt is not None
    assert getattr(learnt, field) == value


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, problem("max_tokens is too large")),
        (400, problem("no such model")),
        (401, problem()),
        (500, problem("stream_options")),
    ],
)
def test_other_refusals_teach_nothing(status: int, said: Problem) -> None:
    assert lesson(Quirks(), status, said) is None


def test_what_is_known_of_a_host_is_used_from_the_start() -> None:
    assert usual_quirks("api.openai.com").limit_field is LimitField.MAX_COMPLETION_TOKENS
    assert usual_quirks("api.mistral.ai").nine_character_ids
    assert usual_quirks("127.0.0.1") == Quirks()
