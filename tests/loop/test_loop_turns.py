"""The loop: how turns follow each other, and what ends a run."""

import asyncio
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bot.limits import Limits, StopCause
from bot.models.contract import (
    AssistantMessage,
    FailureClass,
    Finish,
    ModelError,
    ToolMessage,
    Usage,
    UserMessage,
)
from bot.tables import EventKind
from fakes.scripted_model import Says
from makers.gate import Bench, call, make_bench, make_spec
from makers.loop import Going, going, owner_says
from tools.contract import ToolCall, ToolContext
from tools.result import ToolResult

LOOK = make_spec("look")
WRITE = make_spec("write", read_only=False)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def build(*tools: Any, **changes: Any) -> Bench:
        made.append(make_bench(tmp_path, tools or (LOOK,), **changes))
        return made[-1]

    yield build
    for bench in made:
        bench.store.close()


def shown(going: Going, turn: int) -> list[object]:
    """The messages of one request."""
    return going.model.seen[turn]


async def test_a_result_goes_back_and_the_next_text_ends_the_run(
    make: Callable[..., Bench],
) -> None:
    """L1"""
    run = going(make(), Says(calls=[call("look", "c1")]), Says(text="I looked."))
    outcome = await run.go()
    assert (outcome.stop_cause, outcome.answer) == (StopCause.ANSWERED, "I looked.")
    assert outcome.tool_calls == 1
    *_, result = shown(run, 1)
    assert isinstance(result, ToolMessage)
    assert "look did it" in result.text


async def test_an_unknown_tool_is_an_error_the_model_can_act_on(
    make: Callable[..., Bench],
) -> None:
    """L1"""
    run = going(make(), Says(calls=[call("fly", "c1")]), Says(text="I cannot fly."))
    outcome = await run.go()
    *_, result = shown(run, 1)
    assert isinstance(result, ToolMessage)
    assert result.is_error
    assert outcome.stop_cause is StopCause.ANSWERED


async def test_a_model_that_never_finishes_is_stopped_and_its_text_kept(
    make: Callable[..., Bench],
) -> None:
    """L2"""
    script = [Says(text=f"step {n}", calls=[call("look", count=n)]) for n in range(9)]
    run = going(make(), *script, limits=Limits(turns=5))
    outcome = await run.go()
    assert (outcome.stop_cause, outcome.answer) == (StopCause.TURNS, "step 4")
    assert outcome.spent.turns == 5


async def test_the_last_turn_offers_no_tools_and_runs_none(make: Callable[..., Bench]) -> None:
    """L35"""
    bench = make(WRITE)
    run = going(bench, Says(calls=[call("write", "c1")]), limits=Limits(turns=2))
    outcome = await run.go()
    assert outcome.stop_cause is StopCause.TURNS
    assert run.model.requests[1].tools == ()
    assert bench.ran == []  # no door said yes to the first, and the second was not offered
    assert not run.conversation().waiting


async def test_an_answer_on_the_forced_last_turn_still_names_the_limit(
    make: Callable[..., Bench],
) -> None:
    """L35"""
    run = going(make(), Says(calls=[call("look")]), Says(text="Enough."), limits=Limits(turns=2))
    outcome = await run.go()
    assert (outcome.stop_cause, outcome.answer) == (StopCause.TURNS, "Enough.")


@pytest.mark.parametrize(
    ("limits", "changes", "expected"),
    [
        pytest.param(Limits(turns=9, calls=2), {}, StopCause.CALLS, id="calls"),
        pytest.param(Limits(turns=9, output_tokens=8), {}, StopCause.TOKENS, id="tokens"),
        pytest.param(
            Limits(turns=9, cost_usd=Decimal("0.02")),
            {"price": Decimal("0.01")},
            StopCause.COST,
            id="cost",
        ),
        pytest.param(
            Limits(turns=9, wall_seconds=60),
            {"clock": [0.0, 1.0, 61.0]},
            StopCause.TIME,
            id="time",
        ),
    ],
)
async def test_each_limit_ends_the_run_and_is_named(
    make: Callable[..., Bench], limits: Limits, changes: dict[str, Any], expected: StopCause
) -> None:
    """L2"""
    script = [Says(text=f"step {n}", calls=[call("look", count=n)]) for n in range(9)]
    run = going(make(), *script, limits=limits, **changes)
    outcome = await run.go()
    assert outcome.stop_cause is expected
    assert outcome.answer.startswith("step")


async def test_a_turn_runs_no_more_calls_than_the_run_may_make(
    make: Callable[..., Bench],
) -> None:
    """L2"""
    bench = make()
    many = Says(calls=[call("look", f"c{n}", count=n) for n in range(8)])
    run = going(bench, many, Says(text="Enough."), limits=Limits(turns=9, calls=5))
    outcome = await run.go()
    assert outcome.stop_cause is StopCause.CALLS
    assert len(bench.ran) == 5
    results = [m.text for m in run.conversation().messages if isinstance(m, ToolMessage)]
    assert [text for text in results if "may make no more calls" in text] == results[5:]


async def test_no_secret_of_an_answer_is_kept_or_shown(make: Callable[..., Bench]) -> None:
    """R4"""
    said = Says(text="It is SECRET now.", reasoning="SECRET", calls=[call("look", text="SECRET")])
    run = going(make(), said, Says(text="Done."))
    await run.go()
    assert "SECRET" not in str([line.data for line in run.lines()])
    assert "SECRET" not in "".join(run.watcher.texts)


async def test_a_cost_nobody_knows_is_unknown_and_stops_nothing(
    make: Callable[..., Bench],
) -> None:
    limits = Limits(turns=9, cost_usd=Decimal("0.01"))
    run = going(make(), Says(text="Done."), limits=limits, price=None)
    outcome = await run.go()
    assert (outcome.stop_cause, outcome.spent.cost_usd) == (StopCause.ANSWERED, None)


async def test_an_empty_turn_is_nudged_three_times_and_then_said_plainly(
    make: Callable[..., Bench],
) -> None:
    """L12"""
    run = going(make(), Says())
    outcome = await run.go()
    assert outcome.stop_cause is StopCause.EMPTY
    assert outcome.answer == "The model gave no answer: it was asked 4 times and said nothing."
    assert len(run.model.requests) == 4
    assert run.kinds().count(EventKind.NUDGE) == 3


async def test_reasoning_alone_is_handed_back_as_such(make: Callable[..., Bench]) -> None:
    """L12"""
    run = going(make(), Says(reasoning="hmm, 42"), Says(text="42"))
    outcome = await run.go()
    *_, handed, nudge = shown(run, 1)
    assert isinstance(handed, AssistantMessage)
    assert handed.text == "(reasoning only, no answer: hmm, 42)"
    assert isinstance(nudge, UserMessage)
    assert "reasoning only" in nudge.text
    assert outcome.answer == "42"


async def test_nudges_start_anew_after_a_call(make: Callable[..., Bench]) -> None:
    """L12: at most three in a row, not three a run."""
    empty, look = Says(), Says(calls=[call("look")])
    script = [empty, empty, look, empty, empty, empty, Says(text="Here.")]
    outcome = await going(make(), *script).go()
    assert outcome.answer == "Here."


async def test_calls_without_text_are_not_an_empty_turn(make: Callable[..., Bench]) -> None:
    """L11"""
    run = going(make(), Says(calls=[call("look")]), Says(text="Seen."))
    await run.go()
    assert EventKind.NUDGE not in run.kinds()


async def test_a_cut_answer_is_truncated_and_its_calls_do_not_run(
    make: Callable[..., Bench],
) -> None:
    """L25"""
    bench = make()
    cut = Says(text="I will", calls=[call("look")], finish=Finish.TRUNCATED)
    outcome = await going(bench, cut).go()
    assert (outcome.stop_cause, outcome.answer) == (StopCause.TRUNCATED, "I will")
    assert bench.ran == []


async def test_a_stream_that_just_ends_is_truncated(make: Callable[..., Bench]) -> None:
    """L25"""
    outcome = await going(make(), Says(text="half", no_reply=True)).go()
    assert (outcome.stop_cause, outcome.answer) == (StopCause.TRUNCATED, "half")


async def test_no_empty_text_is_ever_stored_or_sent(make: Callable[..., Bench]) -> None:
    """L26"""

    async def silent(args: Any, ctx: ToolContext) -> ToolResult:
        return ToolResult.ok("")

    bench = make(LOOK, behaviours={"look": silent})
    cut = Says(finish=Finish.TRUNCATED)
    run = going(bench, Says(calls=[call("look")]), Says(), cut)
    await run.go()
    await run.go("And now?")
    for message in (each for request in run.model.seen for each in request):
        assert not isinstance(message, UserMessage | ToolMessage) or message.text.strip()
        assert not isinstance(message, AssistantMessage) or message.text or message.calls
    assert any(
        isinstance(message, ToolMessage) and message.text == "(the tool returned nothing)"
        for message in shown(run, 1)
    )


async def test_a_refusal_is_a_stop_cause_of_its_own(make: Callable[..., Bench]) -> None:
    outcome = await going(make(), Says(text="I won't.", finish=Finish.REFUSED)).go()
    assert (outcome.stop_cause, outcome.answer) == (StopCause.REFUSED, "I won't.")


async def test_a_model_that_fails_ends_the_run_with_its_reason(
    make: Callable[..., Bench],
) -> None:
    gone = ModelError(FailureClass.TRANSPORT, "the server is down", usage=Usage(input_tokens=7))
    run = going(make(), Says(text="Half an", error=gone))
    outcome = await run.go()
    assert (outcome.stop_cause, outcome.error) == (StopCause.ERROR, "the server is down")
    assert outcome.answer == "Half an"
    assert outcome.spent.input_tokens == 7


async def test_a_cancel_in_mid_stream_keeps_the_half_answer(make: Callable[..., Bench]) -> None:
    """L18"""
    run = going(make(), Says(text="It was a dark and", hangs=True))
    running = asyncio.ensure_future(run.go())
    await run.model.streaming.wait()
    running.cancel()
    outcome = await running
    assert (outcome.stop_cause, outcome.answer) == (StopCause.CANCELLED, "It was a dark and")
    assert EventKind.ASSISTANT in run.kinds()


async def test_a_run_is_flagged_only_where_its_last_call_failed(
    make: Callable[..., Bench],
) -> None:
    """L13"""

    async def fails_once(args: Any, ctx: ToolContext) -> ToolResult:
        return ToolResult.error("no such file") if args.count == 0 else ToolResult.ok("found")

    bench = make(LOOK, behaviours={"look": fails_once})
    failed, found = call("look", count=0), call("look", count=1)
    lost = await going(bench, Says(calls=[failed]), Says(text="Sorry.")).go()
    assert (lost.ended_on_failed_call, lost.tool_errors) == (True, 1)
    recovered = await going(
        bench, Says(calls=[failed]), Says(calls=[found]), Says(text="Found.")
    ).go()
    assert (recovered.ended_on_failed_call, recovered.tool_errors) == (False, 1)


async def test_a_denied_call_flags_nothing(make: Callable[..., Bench]) -> None:
    """L13, L22: nobody answered, which is counted as that and as nothing else."""
    run = going(make(WRITE), Says(calls=[call("write")]), Says(text="Nobody was there."))
    outcome = await run.go()
    assert not outcome.ended_on_failed_call
    assert outcome.tool_errors == 0
    assert outcome.refusals == {"unanswered": 1}


async def test_the_same_call_with_the_same_result_three_turns_long_stops_the_run(
    make: Callable[..., Bench],
) -> None:
    """L15"""
    run = going(make(), Says(calls=[call("look")]))
    outcome = await run.go()
    assert outcome.stop_cause is StopCause.LOOP
    assert len(run.model.requests) == 3


async def test_polling_and_duplicates_in_one_batch_are_no_loop(
    make: Callable[..., Bench],
) -> None:
    """L15"""

    async def clock(args: Any, ctx: ToolContext) -> ToolResult:
        return ToolResult.ok(f"turn {ctx.turn}")

    bench = make(LOOK, behaviours={"look": clock})
    twice = Says(calls=[call("look", "a"), call("look", "b")])
    outcome = await going(bench, twice, twice, twice, twice, Says(text="Done.")).go()
    assert outcome.answer == "Done."


async def test_a_call_id_used_before_is_made_unique(make: Callable[..., Bench]) -> None:
    """Some servers count their call ids from zero in every answer."""
    run = going(
        make(),
        Says(calls=[call("look", "call_0", count=1)]),
        Says(calls=[call("look", "call_0", count=2)]),
        Says(text="Done."),
    )
    await run.go()
    answered = [each.call_id for each in shown(run, 2) if isinstance(each, ToolMessage)]
    assert len(set(answered)) == 2


async def test_steering_follows_the_results_and_is_delivered_once(
    make: Callable[..., Bench],
) -> None:
    """L19"""
    arriving = [owner_says("Only the second floor.")]

    async def steered_meanwhile(args: Any, ctx: ToolContext) -> ToolResult:
        run.steering.extend(arriving)
        arriving.clear()
        return ToolResult.ok(f"looked {args.count}")

    bench = make(LOOK, behaviours={"look": steered_meanwhile})
    looks = [Says(calls=[call("look", count=n)]) for n in range(2)]
    run = going(bench, *looks, Says(text="ok"))
    await run.go()
    *_, result, steered = shown(run, 1)
    assert isinstance(result, ToolMessage)
    assert isinstance(steered, UserMessage)
    assert steered.text == "Only the second floor."
    said = [m.text for m in shown(run, 2) if isinstance(m, UserMessage)]
    assert said.count("Only the second floor.") == 1


async def test_steering_before_any_call_is_a_message_of_its_own(
    make: Callable[..., Bench],
) -> None:
    """L19"""
    run = going(make(), Says(text="Sure."), steering=[owner_says("In Norwegian, please.")])
    await run.go()
    texts = [m.text for m in shown(run, 0) if isinstance(m, UserMessage)]
    assert texts == ["Hello?", "In Norwegian, please."]


async def test_a_parked_question_ends_the_run_and_keeps_finished_siblings(
    make: Callable[..., Bench],
) -> None:
    """Q2"""
    ask = ToolCall(id="ask", name="ask_user", arguments='{"question": "Which floor?"}')
    run = going(make(), Says(text="Let me ask.", calls=[ask, call("look", "c2")]))
    outcome = await run.go()
    assert outcome.stop_cause is StopCause.PARKED
    assert outcome.answer == "Let me ask."
    assert len(outcome.parked) == 1
    assert [each.id for each in run.conversation().waiting] == ["ask"]
    assert run.bench.ran == ["c2"]
