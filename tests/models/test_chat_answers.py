"""Answers of a chat-completions server as the loop hears them, over a real socket."""

import pytest

from bot.models.contract import Finish, Usage
from fakes.openai_picky import Rules
from fakes.openai_script import CallStyle, Kind, ReasoningStyle
from makers.models import results_for, talking

READ = {"name": "read_mail", "arguments": {"id": "<1@example.org>", "note": "a\u2028b"}}
LIST = {"name": "list_mail", "arguments": {}}
TEXT = "Good morning.\u2028Two mails\u0085 wait, 日本 too."


async def test_a_text_streams_in_pieces_and_ends_with_one_reply() -> None:
    async with talking({"text": TEXT}) as talk:
        heard = await talk.hear("Hello?")
    assert heard.text == TEXT == heard.reply.message.text
    assert len(heard.pieces) > 2
    assert heard.reply.finish is Finish.DONE
    assert heard.reply.message.producer == "local"
    assert heard.reply.detail == ""


@pytest.mark.parametrize("style", list(CallStyle))
async def test_parallel_calls_arrive_whole_however_a_server_streams_them(style: CallStyle) -> None:
    """L1: each call comes once, under an id of its own, and its result is accepted."""
    turns = {"text": "Looking.", "calls": [READ, LIST], "style": style}, {"text": "Done."}
    async with talking(*turns) as talk:
        heard = await talk.hear("Read.")
        after = await talk.hear("Read.", *results_for(heard.reply))
    assert talk.server.refused == []
    first, second = heard.reply.message.calls
    assert (first.name, second.name) == ("read_mail", "list_mail")
    assert '"note"' in first.arguments
    assert "a\u2028b" in first.arguments
    assert second.arguments == "{}"
    assert first.id
    assert second.id
    assert first.id != second.id
    assert after.reply.message.text == "Done."


@pytest.mark.parametrize(
    "kind", [Kind.BYTE_BY_BYTE, Kind.NO_DONE, Kind.STAYS_OPEN, Kind.NOT_STREAMED]
)
async def test_odd_ways_of_delivering_give_the_same_answer(kind: Kind) -> None:
    turn = {"text": TEXT, "calls": [READ, LIST], "fault": kind}
    async with talking(turn) as talk:
        heard = await talk.hear()
    assert heard.text == TEXT
    assert [call.name for call in heard.reply.message.calls] == ["read_mail", "list_mail"]
    assert heard.reply.finish is Finish.DONE
    assert heard.reply.usage.input_tokens


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "tool_call", "function_call", "eos"])
async def test_calls_run_whatever_the_stop_reason_says(finish: str) -> None:
    """L11: what counts is that there are calls; without text the turn is not empty."""
    async with talking({"calls": [READ], "finish": finish}) as talk:
        heard = await talk.hear()
    assert heard.reply.finish is Finish.DONE
    assert len(heard.reply.message.calls) == 1
    assert heard.reply.message.text == ""


async def test_calls_at_the_token_limit_are_truncated_and_the_half_one_is_gone() -> None:
    """L25: at the token limit a call may be half, so none is to run."""
    calls = [READ, {"name": "read_mail", "raw": '{"id": "<2@ex'}]
    async with talking({"text": "So", "calls": calls, "finish": "length"}) as talk:
        heard = await talk.hear()
    assert heard.reply.finish is Finish.TRUNCATED
    assert [call.arguments for call in heard.reply.message.calls] == [
        '{"id": "<1@example.org>", "note": "a\u2028b"}'
    ]
    assert heard.reply.detail == "the answer reached the token limit"


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_stream_cut_inside_a_call_drops_the_half_call(how: str) -> None:
    """L25: and it is truncated, not tried again, because part of the answer had come."""
    turn = {
        "text": "Looking.",
        "calls": [LIST, READ],
        "fault": {"kind": "cut-in-call", "how": how},
    }
    async with talking(turn) as talk:
        heard = await talk.hear()
    assert heard.reply.finish is Finish.TRUNCATED
    assert [call.name for call in heard.reply.message.calls] == ["list_mail"]
    assert heard.reply.message.text == "Looking."
    assert len(talk.server.journal) == 1
    assert "broke" in heard.reply.detail


async def test_a_call_cut_before_any_text_is_truncated_too() -> None:
    """L25: nothing was shown yet, but the model had begun to act."""
    async with talking({"calls": [READ], "fault": "cut-in-call"}) as talk:
        heard = await talk.hear()
    assert heard.reply.finish is Finish.TRUNCATED
    assert heard.reply.message.calls == ()


async def test_a_stream_without_its_finish_marker_is_truncated() -> None:
    """L25: a clean end of the body proves nothing."""
    async with talking({"text": "Half an ans", "fault": "no-finish"}) as talk:
        heard = await talk.hear()
    assert heard.reply.finish is Finish.TRUNCATED
    assert heard.reply.message.text == "Half an ans"
    assert heard.reply.detail == "the stream ended without a finish reason"


@pytest.mark.parametrize("at_byte", range(0, 1800, 97))
async def test_a_cut_at_any_byte_never_counts_as_an_answer(at_byte: int) -> None:
    """L25: before any content it is tried again, after it the half is kept and called so."""
    turn = {"text": "One two three four.", "fault": {"kind": "cut", "at_byte": at_byte}}
    async with talking(turn, {"text": "Second."}) as talk:
        heard = await talk.hear()
    reply = heard.reply
    if reply.finish is Finish.TRUNCATED:
        assert "One two three four.".startswith(reply.message.text)
        assert reply.message.text
    else:
        assert reply.message.text in ("Second.", "One two three four.")
    assert heard.text == reply.message.text


async def test_an_empty_turn_is_an_answer_without_words() -> None:
    """L12: it is handed on as it is, and the loop decides to nudge."""
    async with talking({"text": " \n"}) as talk:
        heard = await talk.hear()
    assert heard.reply.message.text == ""
    assert heard.reply.message.calls == ()
    assert heard.reply.finish is Finish.DONE


@pytest.mark.parametrize("style", list(ReasoningStyle))
async def test_reasoning_is_parted_from_the_answer(style: ReasoningStyle) -> None:
    """L12: reasoning only is known as such, in every form servers give it."""
    turn = {"reasoning": "First I read.", "text": "Then I write.", "reasoning_style": style}
    async with talking(turn, {"reasoning": "Hm.", "reasoning_style": style}) as talk:
        heard = await talk.hear()
        only = await talk.hear()
    assert heard.text == heard.reply.message.text == "Then I write."
    assert heard.reasoning == heard.reply.message.reasoning == "First I read."
    assert only.reply.message.text == ""
    assert only.reply.message.reasoning == "Hm."


@pytest.mark.parametrize(
    "style", [ReasoningStyle.CONTENT, ReasoningStyle.PLAIN, ReasoningStyle.DETAILS]
)
async def test_reasoning_goes_back_to_its_producer_only(style: ReasoningStyle) -> None:
    turn = {"reasoning": "Quietly.", "text": "Aha.", "calls": [READ], "reasoning_style": style}
    async with talking(turn, {"text": "Fine."}) as talk:
        heard = await talk.hear()
        await talk.hear("Hello?", *results_for(heard.reply))
        own = talk.server.journal[-1].messages[2]
    async with talking({"text": "Fine."}, name="other") as talk:
        await talk.hear("Hello?", *results_for(heard.reply))
        foreign = talk.server.journal[-1].messages[2]
    if style is ReasoningStyle.DETAILS:
        block = {"type": "reasoning.text", "index": 0, "text": "Quietly.", "signature": "sig-1"}
        assert own["reasoning_details"] == [block]
    else:
        assert own[style] == "Quietly."
    assert set(foreign) == {"role", "content", "tool_calls"}


async def test_an_empty_reasoning_of_a_call_goes_back_empty() -> None:
    """DeepSeek refuses a tool-call turn whose reasoning_content does not return, "" included."""
    turns = {"reasoning": "", "calls": [READ]}, {"text": "Fine."}
    async with talking(*turns, rules=Rules(wants_reasoning_back=True)) as talk:
        heard = await talk.hear()
        after = await talk.hear("Hello?", *results_for(heard.reply))
    assert after.reply.message.text == "Fine."
    assert talk.server.journal[-1].messages[2]["reasoning_content"] == ""


async def test_keys_a_provider_added_to_a_call_return_to_it() -> None:
    """Gemini refuses a history whose calls lost their signature."""
    signature = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    turns = {"calls": [READ | {"extra": signature}]}, {"text": "Fine."}
    async with talking(*turns) as talk:
        heard = await talk.hear()
        await talk.hear("Hello?", *results_for(heard.reply))
        own = talk.server.journal[-1].messages[2]["tool_calls"][0]
    async with talking({"text": "Fine."}, name="other") as talk:
        await talk.hear("Hello?", *results_for(heard.reply))
        foreign = talk.server.journal[-1].messages[2]["tool_calls"][0]
    assert heard.reply.message.calls[0].extra == signature
    assert own["extra_content"] == signature["extra_content"]
    assert set(foreign) == {"id", "type", "function"}


async def test_an_id_that_comes_back_in_a_later_turn_is_replaced() -> None:
    """Some servers count calls from zero in every answer."""
    call = READ | {"id": "call_0"}
    async with talking({"calls": [call]}, {"calls": [call]}, {"text": "Fine."}) as talk:
        first = await talk.hear()
        history = ["Hello?", *results_for(first.reply)]
        second = await talk.hear(*history)
        third = await talk.hear(*history, *results_for(second.reply))
    assert first.reply.message.calls[0].id == "call_0"
    assert second.reply.message.calls[0].id != "call_0"
    assert third.reply.message.text == "Fine."


async def test_broken_arguments_reach_the_loop_and_are_replayed_as_an_empty_object() -> None:
    """L1: the model is told by the tool message; the server never reads the broken JSON again."""
    calls = [{"name": "read_mail", "raw": '{"id": '}, {"name": "read mail!", "raw": "[1]"}]
    async with talking({"calls": calls}, {"text": "Sorry."}) as talk:
        heard = await talk.hear()
        after = await talk.hear("Hello?", *results_for(heard.reply, "broken arguments"))
    assert [call.arguments for call in heard.reply.message.calls] == ['{"id": ', "[1]"]
    replayed = talk.server.journal[-1].messages[2]["tool_calls"]
    assert [call["function"]["arguments"] for call in replayed] == ["{}", "{}"]
    assert replayed[1]["function"]["name"] == "read_mail_"
    assert after.reply.message.text == "Sorry."


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        ({"finish_reason": "content_filter"}, "the server's content filter stopped the answer"),
        ({"finish_reason": "stop", "delta": {"refusal": "I will not."}}, "I will not."),
    ],
    ids=["filter", "refusal"],
)
async def test_a_refusal_is_told_apart_from_an_answer(raw: dict, detail: str) -> None:
    calls = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}]}
    chunks = [{"choices": [{"index": 0, "delta": calls}]}, {"choices": [{"index": 0, **raw}]}]
    async with talking({"raw": chunks}) as talk:
        heard = await talk.hear()
    assert heard.reply.finish is Finish.REFUSED
    assert heard.reply.detail == detail
    assert heard.reply.message.calls == ()


async def test_the_newest_usage_replaces_the_older() -> None:
    def usage(**counts: object) -> dict:
        return {"choices": [], "usage": counts}

    chunks = [
        {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": None}]},
        usage(prompt_tokens=90, completion_tokens=1, prompt_tokens_details={"cached_tokens": 64}),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": None},
        usage(prompt_tokens=100, completion_tokens=7, total_tokens=True),
    ]
    async with talking({"raw": chunks}) as talk:
        heard = await talk.hear()
    assert heard.reply.usage == Usage(input_tokens=100, output_tokens=7, cached_tokens=64)


async def test_usage_that_nobody_sent_is_unknown() -> None:
    async with talking({"text": "Hi", "fault": "no-usage"}) as talk:
        heard = await talk.hear()
    assert heard.reply.usage == Usage()


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "read_mail"}</tool_call>',
        "<function=read_mail><parameter=id>1</parameter></function>",
        'I will.\n```json\n{"name": "read_mail", "arguments": {"id": "1"}}\n```',
        '{"name": "read_mail", "parameters": {"id": "1"}}',
    ],
    ids=["tag", "function", "fence", "bare"],
)
async def test_a_call_written_as_text_is_warned_of_and_not_run(text: str) -> None:
    async with talking({"text": text}) as talk:
        heard = await talk.hear()
    assert heard.reply.message.calls == ()
    assert heard.reply.message.text == text
    assert heard.reply.detail.startswith("the answer holds a tool call as plain text")


async def test_json_that_is_no_call_is_not_warned_of() -> None:
    async with talking({"text": '```json\n{"name": "Ada", "arguments": []}\n```'}) as talk:
        heard = await talk.hear()
    assert heard.reply.detail == ""


async def test_a_prompt_that_the_server_cut_in_silence_is_noticed() -> None:
    usage = {"prompt_tokens": 2050, "completion_tokens": 5}
    async with talking({"text": "Hm.", "usage": usage}) as talk:
        heard = await talk.hear("mail " * 20_000)
    assert "probably cut it" in heard.reply.detail
