"""The scripted server itself: what it refuses, what scripts can say, and it as a process."""

import asyncio
import json
import os
import sys
from pathlib import Path

import httpx
import pytest

from fakes.openai_picky import Refusal, Rules, check
from fakes.openai_script import Always, Asked, ScriptError, Turn, turn_of
from makers.models import results_for, talking

TESTS = Path(__file__).parents[1]
ASK = {"role": "user", "content": "Hello?"}
TOOL = {
    "type": "function",
    "function": {"name": "t", "description": "d", "parameters": {"type": "object"}},
}


def call(call_id: str = "1", arguments: str = "{}", name: str = "t") -> dict:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def calls(*made: dict, content: object = "") -> dict:
    return {"role": "assistant", "content": content, "tool_calls": list(made)}


def done(call_id: str = "1", content: object = "x") -> dict:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def body(*messages: dict, **fields: object) -> dict:
    return {"model": "m", "stream": True, "messages": list(messages or (ASK,)), **fields}


def test_a_plain_request_is_taken() -> None:
    check(body(), Rules())
    check(body(ASK, calls(call()), done(), tools=[TOOL], max_tokens=9), Rules())


@pytest.mark.parametrize(
    "broken",
    [
        body(top_k=4),
        body(stream=False),
        body(tools=[]),
        body(max_tokens=1, max_completion_tokens=1),
        body(max_tokens=0),
        body({"role": "developer", "content": "x"}),
        body(ASK, {"role": "system", "content": "x"}),
        body(ASK, ASK),
        body({"role": "user", "content": ""}),
        body({"role": "user", "content": [{"type": "text", "text": " "}]}),
        body({"role": "user", "content": [{"type": "video"}]}),
        body(ASK | {"name": "x"}),
        body(ASK, {"role": "assistant", "content": "prefill"}),
        body(ASK, {"role": "assistant", "content": ""}, ASK),
        body(ASK, calls(call(), content=None), done()),
        body(ASK, calls(), ASK),
        body(ASK, calls(call())),
        body(ASK, calls(call()), ASK),
        body(ASK, calls(call()), done(), done()),
        body(ASK, calls(call()), done("2")),
        body(ASK, calls(call(), call()), done(), done()),
        body(ASK, calls(call()), done(), calls(call()), done()),
        body(ASK, calls(call(arguments="{")), done()),
        body(ASK, calls(call(arguments="[]")), done()),
        body(ASK, calls(call(name="a b")), done()),
        body(ASK, calls(call()), done(content="")),
        body(ASK, calls(call()), done(content=[])),
        body(done()),
        body(tools=[TOOL, TOOL]),
        body(tools=[{"type": "function", "function": TOOL["function"] | {"name": "a.b"}}]),
        body(tools=[{"type": "function", "function": TOOL["function"] | {
            "parameters": {"type": "object", "additionalProperties": False}}}]),
        body(stream_options={"include_usage": False}),
        {"stream": True, "messages": [ASK]},
        body(messages=[]),
        [],
    ],
)  # fmt: skip
def test_what_some_server_refuses_is_refused(broken) -> None:
    with pytest.raises(Refusal):
        check(broken, Rules())


async def test_arguments_may_quote_what_a_tool_returned() -> None:
    reply = {
        "calls": [
            {
                "name": "mail_reply",
                "arguments": {
                    "message_id": {"$find": r"Message-ID: (<[^>]+>)", "nth": -1},
                    "subject": {"$join": ["Re: ", {"$find": r"about (\w+)", "in": "user"}]},
                    "to": [{"$find": "ada"}],
                },
            }
        ],
        "when": {"tool": "Message-ID"},
    }
    async with talking({"calls": [{"name": "read_mail"}]}, reply) as talk:
        first = await talk.hear("Mail about tea?")
        found = "From: ada\nMessage-ID: <1@x>\nMessage-ID: <2@x>"
        second = await talk.hear("Mail about tea?", *results_for(first.reply, found))
    assert json.loads(second.reply.message.calls[0].arguments) == {
        "message_id": "<2@x>", "subject": "Re: tea", "to": ["ada"],
    }  # fmt: skip
    assert talk.server.script.unplayed == []


async def test_a_turn_may_be_a_function_and_the_last_one_may_never_stop() -> None:
    def first(asked: Asked) -> Turn:
        return Turn(text=f"You said {asked.user}, I have {', '.join(asked.tools)}.")

    def ever(_: Asked) -> dict:
        return {"calls": [{"name": "read_mail"}]}

    async with talking(first, Always(ever)) as talk:
        heard = await talk.hear("hi")
        again = [await talk.hear("hi") for _ in range(3)]
    assert heard.text == "You said hi, I have read_mail."
    assert all(one.reply.message.calls for one in again)


async def test_a_script_that_lost_its_way_is_heard() -> None:
    lost = {"text": {"$find": "nothing like it"}}
    async with talking(lost) as talk:
        heard = await talk.hear()
        ended = await talk.hear()
    assert "matches nothing in tools" in str(heard.failure)
    assert "no turn left" in str(ended.failure)
    assert len(talk.server.refused) == 2


@pytest.mark.parametrize(
    "turn",
    [{"txt": "x"}, {"fault": {"kind": "cut", "byte": 3}}, {"calls": [{"name": "x", "args": {}}]}],
)
def test_a_field_that_no_script_knows_is_an_error(turn: dict) -> None:
    with pytest.raises(ScriptError):
        turn_of(turn)


async def test_another_path_is_refused() -> None:
    async with talking() as talk, httpx.AsyncClient() as client:
        models = await client.get(f"{talk.server.base_url}/models")
        other = await client.post(f"{talk.server.base_url}/responses", json={})
    assert models.json()["data"][0]["id"] == "scripted"
    assert other.status_code == 404


async def test_it_runs_as_a_process_of_its_own(tmp_path: Path) -> None:
    script, journal = tmp_path / "turns.json", tmp_path / "journal.jsonl"
    script.write_text(json.dumps([{"text": "Hello.", "times": "forever"}]))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "fakes.openai_server", "--script", script, "--journal", journal),
        *("--rules", json.dumps({"key": "k"})),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    try:
        assert process.stdout is not None
        ready = json.loads(await asyncio.wait_for(process.stdout.readline(), 20))
        async with talking(base_url=ready["base_url"], api_key="k") as talk:
            heard = await talk.hear()
        assert ready["base_url"] == f"http://127.0.0.1:{ready['port']}/v1"
        assert heard.text == "Hello."
        seen = [json.loads(line) for line in journal.read_text().splitlines()]
        assert [one["status"] for one in seen] == [200]
        assert seen[0]["body"]["messages"][1] == ASK
    finally:
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 20) == 0
