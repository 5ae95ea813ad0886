"""One turn at the gate: what runs, what is staged, what is refused, and what is written when."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.tables import EventKind
from makers.gate import (
    BOTH,
    CHOSEN,
    DESTRUCTIVE,
    FOREIGN_READ,
    MAIL_READ,
    PRIVATE,
    PRIVATE_READ,
    UNTRUSTED,
    Bench,
    PersonDoor,
    ToolArgs,
    call,
    make_bench,
    make_spec,
    sender,
)
from outbox.approval import UNANSWERED, NobodyDoor, YesDoor, no
from outbox.errors import LeaseLost
from outbox.hooks import HookedCall
from outbox.interlock import Verdict
from outbox.policy import Mode, RefusalCause, offered
from outbox.rules import RuleDecision
from outbox.settings import GateSettings, OutboxSettings
from tools.contract import EffectScope, Phase, ToolCall, ToolContext
from tools.crashpoint import install_hook
from tools.result import ImagePart, Item, TextPart, ToolResult
from tools.taint import CLEAN, taint_from_json

DIRECT = GateSettings(outbox=OutboxSettings())
ROUTED = GateSettings(outbox=OutboxSettings(tools=("send",)))
NOTE = make_spec("note", read_only=False, scope=EffectScope.NONE)
ALERT = make_spec("alert", read_only=False, scope=EffectScope.WORLD)
MAIL = make_spec("mail", MAIL_READ)
WEB = make_spec("fetch", CHOSEN.union(FOREIGN_READ))


@pytest.fixture
def benches() -> Iterator[list[Bench]]:
    made: list[Bench] = []
    yield made
    for bench in made:
        bench.store.close()


@pytest.fixture
def bench_of(tmp_path: Path, benches: list[Bench]):
    def make(*specs, **options: Any) -> Bench:
        folder = tmp_path / f"bench{len(benches)}"
        folder.mkdir()
        benches.append(make_bench(folder, specs, **options))
        return benches[-1]

    return make


@pytest.fixture
def points() -> Iterator[list[str]]:
    reached: list[str] = []
    install_hook(reached.append)
    yield reached
    install_hook(lambda name: None)


# What the model hears


async def test_a_result_goes_back_as_the_tool_gave_it(bench_of) -> None:
    """L1: and stands in the transcript word for word."""
    bench = bench_of(NOTE)
    outcome = await bench.one(call("note"))
    assert outcome.result.text == "note did it"
    assert bench.event("note").data["text"] == "note did it"


async def test_an_unknown_tool_is_an_error_result_and_its_siblings_run(bench_of) -> None:
    """L1, P9: what is not in the narrowed registry does not exist, and nothing is aborted."""
    bench = bench_of(NOTE)
    turn = await bench.turn(call("nota", "a"), call("note", "b"))
    first, second = turn.outcomes
    assert first.result.is_error
    assert first.result.text.endswith("did you mean note?")
    assert (second.result.is_error, bench.ran) == (False, ["b"])


async def test_a_tool_outside_the_selection_cannot_be_dispatched(bench_of) -> None:
    """P9: a narrowed registry is what dispatch resolves against."""
    bench = bench_of(NOTE, ALERT, door=PersonDoor())
    bench.parts = replace(bench.parts, registry=bench.parts.registry.select(["note"]))
    outcome = await bench.one(call("alert"))
    assert outcome.result.is_error
    assert bench.ran == []


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ('{"secret_field_value": 1}', "unknown field"),
        ('{"count": "hunter2"}', "count"),
        ('{"count": null}', "count"),
        ('{"count": 1} hunter2', "after the JSON object"),
        ("[1]", "object"),
        ('{"count": 1', "not valid JSON"),
    ],
)
async def test_bad_arguments_name_fields_and_never_values(
    bench_of, arguments: str, field: str
) -> None:
    """L30: and the tool does not run."""
    bench = bench_of(NOTE)
    outcome = await bench.one(ToolCall(id="x", name="note", arguments=arguments))
    assert outcome.result.is_error
    assert field in outcome.result.text
    assert "hunter2" not in outcome.result.text
    assert bench.ran == []


async def test_foreign_text_stands_between_markers_and_secrets_are_taken_out(bench_of) -> None:
    """R4: also from what a reviewer is shown later."""

    async def leak(args: ToolArgs, ctx: ToolContext) -> ToolResult:
        item = Item(provider_id="m1", title="key", text="it is sk-12345678")
        return ToolResult.ok("the key is sk-12345678", external=True, items=[item])

    bench = bench_of(
        MAIL,
        behaviours={"mail": leak},
        redact=lambda text: (text.replace("sk-12345678", "***"), text.count("sk-12345678")),
    )
    outcome = await bench.one(call("mail"))
    lines = outcome.result.text.splitlines()
    assert lines[1] == "the key is ***"
    assert "boundary0" in lines[0]
    assert "boundary0" in lines[2]
    assert outcome.result.redactions == 2
    assert "sk-12345678" not in str(bench.event("mail").data)


async def test_the_results_of_one_turn_share_a_budget(bench_of) -> None:
    """L16: what exceeds it is whole in the spill, and the marker says where."""

    async def much(args: ToolArgs, ctx: ToolContext) -> ToolResult:
        return ToolResult.ok("a line of text\n" * 1000)

    bench = bench_of(MAIL, behaviours={"mail": much}, output_budget_bytes=4096)
    turn = await bench.turn(call("mail", "a"), call("mail", "b"), call("mail", "c"))
    shown = [outcome.result.text for outcome in turn.outcomes]
    assert sum(map(len, shown)) <= 4096 + 1024
    assert all("fs_read path=" in text for text in shown)
    assert sorted(path.name for path in (bench.folder / "spill").iterdir()) == [
        "a.txt",
        "b.txt",
        "c.txt",
    ]


# Taint


@pytest.mark.parametrize(
    ("spec", "result", "private", "untrusted"),
    [
        pytest.param(MAIL, ToolResult.ok("x", external=True), True, True, id="foreign-mail"),
        pytest.param(MAIL, ToolResult.ok("nothing found"), True, False, id="nothing-foreign"),
        pytest.param(MAIL, ToolResult.error("server down"), True, False, id="a-failed-read"),
        pytest.param(WEB, ToolResult.error("404", external=True), False, True, id="error-page"),
        pytest.param(NOTE, ToolResult.ok("done"), False, False, id="no-labels"),
        pytest.param(
            NOTE,
            ToolResult(parts=(ImagePart(media_type="image/png", data=b"x"),)),
            True,
            True,
            id="a-picture",
        ),
    ],
)
async def test_what_a_call_brings(bench_of, spec, result, private: bool, untrusted: bool) -> None:
    """L10: private by having run, untrusted by what came back; a picture arms both legs."""

    async def give(args: ToolArgs, ctx: ToolContext) -> ToolResult:
        return result

    bench = bench_of(spec, behaviours={spec.name: give})
    turn = await bench.turn(call(spec.name, text="hello"))
    assert turn.taint.flags() == {"private": private, "untrusted": untrusted}
    assert taint_from_json(bench.event(spec.name).taint) == turn.taint
    sources = {str(source) for source in (*turn.taint.private, *turn.taint.untrusted)}
    assert sources <= {f"{spec.name} in turn 3 (text=hello)"}


async def test_taint_only_grows_and_refusals_bring_none(bench_of) -> None:
    """L9: a refusal is steward's own word, never external."""
    bench = bench_of(sender(stageable=False))
    turn = await bench.turn(call("send"), taint=UNTRUSTED)
    (outcome,) = turn.outcomes
    assert outcome.refusal is RefusalCause.POLICY
    assert outcome.result.external is False
    assert turn.taint == UNTRUSTED
    assert taint_from_json(bench.event("send").taint) == CLEAN


@pytest.mark.parametrize("order", [("mail", "send"), ("send", "mail")])
@pytest.mark.parametrize("stageable", [True, False])
async def test_a_send_beside_the_read_that_arms_it_is_judged_as_armed(
    bench_of, order: tuple[str, str], stageable: bool
) -> None:
    """L5: in either order; the read runs, the send does not."""
    bench = bench_of(MAIL, sender(stageable=stageable), door=YesDoor(NobodyDoor("script")))
    turn = await bench.turn(*map(call, order))
    by_name = {outcome.call.name: outcome for outcome in turn.outcomes}
    assert [outcome.call.name for outcome in turn.outcomes] == list(order)
    assert bench.ran == ["mail"]
    send = by_name["send"]
    assert send.blocked_send
    assert (send.draft_id is not None) is stageable
    assert (send.refusal is RefusalCause.POLICY) is not stageable


async def test_the_drafts_taint_names_the_sibling_that_armed_it(bench_of) -> None:
    """L5: the reviewer is shown the prospective taint."""
    bench = bench_of(MAIL, sender())
    await bench.turn(call("send"), call("mail"), taint=PRIVATE)
    (draft,) = bench.drafts()
    assert draft.taint is not None
    assert draft.taint["untrusted"] == [
        {"tool": "mail", "turn": 3, "what": "called in this same turn"}
    ]


async def test_a_calls_own_labels_do_not_count_against_itself(bench_of) -> None:
    """L5: the first call of an open-world tool runs, a second one beside it does not."""
    shell = make_spec(
        "shell", MAIL_READ.union(CHOSEN).union(DESTRUCTIVE), read_only=False, stageable=False
    )
    allowed = OneRule("shell", RuleDecision.ALLOW)
    bench = bench_of(shell, door=NobodyDoor("script"), rules=(allowed,))
    turn = await bench.turn(call("shell"))
    assert bench.ran == ["shell"]
    refused = await bench.turn(call("shell", "a"), call("shell", "b"))
    assert bench.ran == ["shell"]
    assert [outcome.refusal for outcome in refused.outcomes] == [RefusalCause.POLICY] * 2
    assert turn.taint.is_private


async def test_a_call_refused_for_its_siblings_alone_is_told_to_come_back_alone(bench_of) -> None:
    """L6: the way on fits the reason."""
    bench = bench_of(MAIL, sender(stageable=False))
    turn = await bench.turn(call("mail"), call("send"))
    assert "Call it alone, in a later turn" in turn.outcomes[1].result.text


NESTED = [
    pytest.param({"name": "send", "arguments": {}}, id="name-arguments"),
    pytest.param({"function": "send", "args": {}}, id="function-args"),
    pytest.param(
        {"type": "function", "function": {"name": "send", "arguments": "{}"}}, id="openai"
    ),
    pytest.param({"deep": [{"er": {"name": "send", "arguments": {}}}]}, id="deep"),
    pytest.param({"text": '[{"name": "send", "arguments": {}}]'}, id="as-json-text"),
]


@pytest.mark.parametrize("inner", NESTED)
async def test_a_send_nested_in_a_reads_arguments_counts(bench_of, inner: dict[str, Any]) -> None:
    """L5: whatever carries it is judged as a sender."""
    bench = bench_of(MAIL, sender(), door=YesDoor(NobodyDoor("script")))
    outcome = await bench.one(call("mail", calls=[inner]), taint=UNTRUSTED)
    assert outcome.refusal is RefusalCause.POLICY
    assert bench.ran == []


async def test_a_read_nested_in_a_sends_arguments_arms_it(bench_of) -> None:
    """L5: the nested read is another call of the turn."""
    bench = bench_of(MAIL, sender(), door=PersonDoor())
    clean = await bench.one(call("send", "clean", calls=[{"name": "nobody", "arguments": {}}]))
    assert (clean.draft_id, bench.ran) == (None, ["clean"])
    outcome = await bench.one(call("send", calls=[{"name": "mail", "arguments": {}}]))
    assert outcome.draft_id is not None
    assert bench.ran == ["clean"]


# Routing and modes


@pytest.mark.parametrize("taint", [CLEAN, BOTH], ids=["clean", "armed"])
async def test_a_routed_call_is_staged_and_not_executed(bench_of, taint) -> None:
    """L21: draft and result are one transaction, and the interlock does not count it."""
    bench = bench_of(sender(), settings=ROUTED, door=YesDoor(PersonDoor()))
    outcome = await bench.one(call("send"), taint=taint)
    assert bench.ran == []
    (draft,) = bench.drafts()
    assert outcome.draft_id == draft.id
    assert outcome.blocked_send is False
    assert bench.event("send").data["text"] == outcome.result.text


async def test_a_failed_staging_executes_nothing(bench_of) -> None:
    """L21: and an unrouted send beside it still meets the interlock."""
    bench = bench_of(
        sender(),
        sender("other", stageable=False),
        settings=ROUTED,
        uncompletable={"send": "nobody to send it to"},
        door=YesDoor(NobodyDoor("script")),
    )
    turn = await bench.turn(call("send"), call("other"), taint=UNTRUSTED)
    failed, blocked = turn.outcomes
    assert failed.result.is_error
    assert failed.result.text == "nobody to send it to; nothing was sent"
    assert (failed.draft_id, failed.refusal) == (None, None)
    assert blocked.refusal is RefusalCause.POLICY
    assert (bench.ran, bench.drafts()) == ([], [])


@pytest.mark.parametrize(
    ("spec", "runs"),
    [
        pytest.param(MAIL, True, id="reads"),
        pytest.param(NOTE, True, id="own-notes"),
        pytest.param(ALERT, False, id="world"),
        pytest.param(sender("other"), False, id="unrouted-sender"),
        pytest.param(
            make_spec("files", DESTRUCTIVE, read_only=False, scope=EffectScope.FILES),
            False,
            id="files-outside-scratch",
        ),
        pytest.param(
            make_spec("files", read_only=False, scope=EffectScope.FILES),
            True,
            id="files-inside-scratch",
        ),
    ],
)
async def test_read_only_mode_denies_writers_and_still_answers(bench_of, spec, runs: bool) -> None:
    """L20: except in scratch, steward's own notes and reads; a standing yes changes nothing."""
    bench = bench_of(spec, mode=Mode.READ_ONLY, door=YesDoor(PersonDoor()))
    outcome = await bench.one(call(spec.name))
    assert (bench.ran != []) is runs
    assert outcome.refusal is (None if runs else RefusalCause.POLICY)


async def test_read_only_mode_lets_nobody_say_yes_to_what_cannot_be_staged(bench_of) -> None:
    """L20: a routed call that makes no draft would run at once."""
    door = PersonDoor()
    bench = bench_of(sender(stageable=False), mode=Mode.READ_ONLY, settings=ROUTED, door=door)
    outcome = await bench.one(call("send"))
    assert (outcome.refusal, door.requests) == (RefusalCause.POLICY, [])


async def test_read_only_mode_still_stages_a_routed_call(bench_of) -> None:
    """L20: a draft changes nothing."""
    bench = bench_of(sender(), mode=Mode.READ_ONLY, settings=ROUTED)
    outcome = await bench.one(call("send"))
    assert outcome.draft_id is not None
    assert bench.ran == []


async def test_planning_offers_no_writing_tool_and_refuses_one_from_memory(bench_of) -> None:
    """L17: not even a note, and no routed sender."""
    acting = make_spec("acting", phases=frozenset({Phase.ACT}))
    bench = bench_of(MAIL, NOTE, sender(), acting, mode=Mode.PLANNING, settings=ROUTED)
    plan = offered(bench.parts.registry, Mode.PLANNING, ROUTED.outbox)
    assert plan.names == ("ask_user", "fs_list", "fs_read", "grep", "mail")
    turn = await bench.turn(call("note"), call("send"), call("acting"), call("mail"))
    refusals = [outcome.refusal for outcome in turn.outcomes]
    assert refusals == [RefusalCause.POLICY] * 3 + [None]
    assert (bench.ran, bench.drafts()) == (["mail"], [])


def test_read_only_mode_offers_what_some_call_of_could_run(bench_of) -> None:
    """A tool that the mode always forbids is absent, not merely refused."""
    bench = bench_of(MAIL, NOTE, ALERT, sender(), sender("other"))
    names = offered(bench.parts.registry, Mode.READ_ONLY, ROUTED.outbox).names
    assert {"mail", "note", "send", "fs_write"} <= set(names)
    assert not {"alert", "other"} & set(names)


# Hooks, rules and people


class DenyingHook:
    """A hook that denies some tools and hears how the others ended."""

    name = "no-force"

    def __init__(self, *denied: str) -> None:
        self.denied = denied
        self.before_calls: list[HookedCall] = []
        self.heard: list[tuple[str, str]] = []

    async def before(self, one: HookedCall) -> str | None:
        self.before_calls.append(one)
        return "not on a Friday" if one.tool in self.denied else None

    async def after(self, one: HookedCall, result: ToolResult) -> None:
        self.heard.append((one.tool, result.text))


class OneRule:
    """A rule that says one thing of one tool."""

    name = "rule-7"

    def __init__(self, tool: str, decision: RuleDecision) -> None:
        self._tool = tool
        self._decision = decision

    def decide(self, tool: str, arguments) -> RuleDecision | None:
        return self._decision if tool == self._tool else None


async def test_a_hook_denies_before_a_person_is_asked(bench_of) -> None:
    """L3: and the model can go on; the sibling runs and the hook hears of it."""
    door, hook = PersonDoor(), DenyingHook("alert")
    bench = bench_of(ALERT, NOTE, door=door, hooks=(hook,))
    turn = await bench.turn(call("alert"), call("note"))
    denied, fine = turn.outcomes
    assert denied.refusal is RefusalCause.HOOK
    assert "no-force: not on a Friday" in denied.result.text
    assert door.requests == []
    assert (fine.refusal, bench.ran) == (None, ["note"])
    assert hook.heard == [("note", "note did it")]


async def test_a_hook_also_denies_what_would_be_staged(bench_of) -> None:
    """L3: it is told so, and no draft appears."""
    hook = DenyingHook("send")
    bench = bench_of(sender(), settings=ROUTED, hooks=(hook,))
    outcome = await bench.one(call("send"))
    assert hook.before_calls[0].verdict is Verdict.STAGE
    assert (outcome.refusal, bench.drafts()) == (RefusalCause.HOOK, [])


async def test_hooks_are_not_asked_about_what_policy_refused(bench_of) -> None:
    """DESIGN section 7: the interlock stands before hooks and people."""
    hook = DenyingHook()
    bench = bench_of(sender(stageable=False), hooks=(hook,))
    await bench.one(call("send"), taint=UNTRUSTED)
    assert hook.before_calls == []


@pytest.mark.parametrize(
    ("decision", "door", "cause"),
    [
        (RuleDecision.FORBID, YesDoor(PersonDoor()), RefusalCause.RULE),
        (RuleDecision.PROMPT, YesDoor(NobodyDoor("script")), RefusalCause.RULE),
        (RuleDecision.PROMPT, YesDoor(PersonDoor()), None),
        (RuleDecision.PROMPT, PersonDoor(approval=no()), RefusalCause.OWNER),
        (RuleDecision.ALLOW, PersonDoor(approval=no()), None),
        (RuleDecision.ALLOW, NobodyDoor("nobody"), None),
    ],
)
async def test_a_rule_forbids_prompts_or_allows(bench_of, decision, door, cause) -> None:
    """DESIGN section 7: prompt needs a person, also under a standing yes."""
    bench = bench_of(ALERT, door=door, rules=(OneRule("alert", decision),))
    outcome = await bench.one(call("alert"))
    assert outcome.refusal is cause
    assert bench.ran == ([] if cause else ["alert"])


async def test_a_rule_forbids_also_what_would_be_staged(bench_of) -> None:
    """DESIGN section 7: forbid beats staging."""
    rule = OneRule("send", RuleDecision.FORBID)
    bench = bench_of(sender(), settings=ROUTED, rules=(rule,))
    outcome = await bench.one(call("send"))
    assert (outcome.refusal, bench.drafts()) == (RefusalCause.RULE, [])


async def test_a_rule_that_allows_does_not_answer_the_interlocks_question(bench_of) -> None:
    """DESIGN section 7: only a person does."""
    rule = OneRule("fetch", RuleDecision.ALLOW)
    door = PersonDoor(approval=no("not that page"))
    bench = bench_of(WEB, door=door, rules=(rule,))
    outcome = await bench.one(call("fetch"), taint=BOTH)
    assert outcome.refusal is RefusalCause.OWNER
    assert [request.needs_person for request in door.requests] == [True]


async def test_forbid_beats_prompt_beats_allow(bench_of) -> None:
    """DESIGN section 7: in whatever order the rules stand."""
    rules = [OneRule("alert", decision) for decision in RuleDecision]
    for several in (rules, rules[::-1]):
        bench = bench_of(ALERT, door=YesDoor(PersonDoor()), rules=several)
        assert (await bench.one(call("alert"))).refusal is RefusalCause.RULE


async def test_the_whole_call_is_shown_before_a_yes(bench_of) -> None:
    """L29: every argument whole, with why it is asked about."""
    door = PersonDoor()
    bench = bench_of(ALERT, door=door)
    await bench.one(call("alert", text="x" * 5000, count=3), taint=PRIVATE)
    (request,) = door.requests
    assert request.arguments == {"text": "x" * 5000, "count": 3, "url": "", "calls": []}
    assert request.shown == (("text", "x" * 5000), ("url", ""), ("count", "3"), ("calls", "[]"))
    assert request.reasons == ("it acts outside the workspace",)
    assert request.taint == PRIVATE
    assert bench.ran == ["alert"]


async def test_the_five_causes_of_refusal_are_told_apart(bench_of) -> None:
    """L22: nobody answering is never "the owner said no"."""
    texts: dict[RefusalCause, str] = {}
    settings: list[dict[str, Any]] = [
        {"mode": Mode.READ_ONLY},
        {"hooks": (DenyingHook("alert"),)},
        {"rules": (OneRule("alert", RuleDecision.FORBID),)},
        {"door": PersonDoor(approval=no("too late in the day"))},
        {"door": PersonDoor(approval=UNANSWERED)},
    ]
    for each in settings:
        outcome = await bench_of(ALERT, **each).one(call("alert"))
        assert outcome.refusal is not None
        texts[outcome.refusal] = outcome.result.text
    assert set(texts) == set(RefusalCause)
    assert len({text[:20] for text in texts.values()}) == 5
    assert texts[RefusalCause.OWNER] == (
        "the owner said no, alert was not run: too late in the day"
    )
    assert "not a no of the owner" in texts[RefusalCause.UNANSWERED]
    assert not any("owner said no" in texts[cause] for cause in set(texts) - {RefusalCause.OWNER})


async def test_where_nobody_stands_an_approval_is_unanswered(bench_of) -> None:
    """L22: at once, and not by the owner."""
    outcome = await bench_of(ALERT).one(call("alert"))
    assert outcome.refusal is RefusalCause.UNANSWERED


async def test_a_standing_yes_answers_other_gates_but_not_the_interlock(bench_of) -> None:
    """`--yes` is no person: with nobody behind it the interlock's question is a refusal."""
    bench = bench_of(ALERT, WEB, door=YesDoor(NobodyDoor("script")))
    assert (await bench.one(call("alert"))).refusal is None
    assert (await bench.one(call("fetch"), taint=BOTH)).refusal is RefusalCause.POLICY
    behind = PersonDoor()
    bench = bench_of(WEB, door=YesDoor(behind))
    assert (await bench.one(call("fetch"), taint=BOTH)).refusal is None
    assert len(behind.requests) == 1


# Order, write-ahead and the lease


async def test_reads_run_together_and_writers_in_the_models_order(bench_of) -> None:
    """Neighbouring reads need each other to finish here; a writer waits for the reads before it."""
    gate = asyncio.Barrier(2)
    order: list[str] = []

    async def meet(args: ToolArgs, ctx: ToolContext) -> ToolResult:
        async with asyncio.timeout(5):
            await gate.wait()
        order.append(ctx.call_id)
        return ToolResult.ok("met")

    async def write(args: ToolArgs, ctx: ToolContext) -> ToolResult:
        order.append(ctx.call_id)
        return ToolResult.ok("written")

    bench = bench_of(MAIL, NOTE, behaviours={"mail": meet, "note": write})
    turn = await bench.turn(
        call("mail", "r1"),
        call("mail", "r2"),
        call("note", "w1"),
        call("note", "w2"),
        call("mail", "r3"),
        call("mail", "r4"),
    )
    assert (set(order[:2]), order[2:4], set(order[4:])) == (
        {"r1", "r2"},
        ["w1", "w2"],
        {"r3", "r4"},
    )
    ids = [outcome.call.id for outcome in turn.outcomes]
    assert ids == ["r1", "r2", "w1", "w2", "r3", "r4"]


async def test_a_writers_start_is_on_disk_before_it_runs(bench_of, points: list[str]) -> None:
    """L23: its result is there when the next one starts; a read has no start."""
    seen: list[list[tuple[EventKind, str]]] = []

    async def look(args: ToolArgs, ctx: ToolContext) -> ToolResult:
        seen.append(bench.events())
        return ToolResult.ok("looked")

    bench = bench_of(MAIL, NOTE, behaviours={"note": look})
    await bench.turn(call("note", "a"), call("mail", "b"), call("note", "c"))
    a_started, a_finished = (EventKind.STARTED, "a"), (EventKind.RESULT, "a")
    assert seen == [
        [a_started],
        [a_started, a_finished, (EventKind.RESULT, "b"), (EventKind.STARTED, "c")],
    ]
    writer = ["gate.started", "gate.executed", "gate.finished"]
    assert points == [*writer, "gate.finished", *writer]


async def test_a_killed_call_leaves_its_start_and_no_result(bench_of) -> None:
    """L18, L23: what a cancel leaves is exactly what a dead process leaves."""
    running = asyncio.Event()

    async def hang(args: ToolArgs, ctx: ToolContext) -> ToolResult:
        running.set()
        await asyncio.Event().wait()
        raise AssertionError

    bench = bench_of(NOTE, MAIL, behaviours={"note": hang})
    task = asyncio.create_task(bench.turn(call("mail", "a"), call("note", "b"), call("mail", "c")))
    await asyncio.wait_for(running.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bench.events() == [(EventKind.RESULT, "a"), (EventKind.STARTED, "b")]
    assert bench.ran == ["a", "b"]


async def test_a_cancel_reaches_every_read_and_a_waiting_approver(bench_of) -> None:
    """L18: nothing is left running."""
    stopped: list[str] = []
    begun = asyncio.Event()

    async def hang(args: ToolArgs, ctx: ToolContext) -> ToolResult:
        if ctx.call_id == "b":
            begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(ctx.call_id)
        raise AssertionError

    bench = bench_of(MAIL, behaviours={"mail": hang})
    task = asyncio.create_task(bench.turn(call("mail", "a"), call("mail", "b")))
    await asyncio.wait_for(begun.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(stopped) == ["a", "b"]

    class Waiting(PersonDoor):
        async def approve(self, request):
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

    begun.clear()
    bench = bench_of(ALERT, door=Waiting())
    task = asyncio.create_task(bench.turn(call("alert", "c")))
    await asyncio.wait_for(begun.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bench.ran == []


async def test_a_call_that_breaks_ends_the_turn_and_later_calls_never_run(bench_of) -> None:
    """Its effect is unknown; what did not run is said to have had none."""

    async def explode(args: ToolArgs, ctx: ToolContext) -> ToolResult:
        raise RuntimeError("a bug")

    bench = bench_of(NOTE, MAIL, behaviours={"note": explode})
    turn = await bench.turn(call("mail", "a"), call("note", "b"), call("mail", "c"))
    first, broken, never = turn.outcomes
    assert first.result.is_error is False
    assert turn.broken == broken.result.broken
    assert "unknown" in broken.result.text
    assert "nothing came of this one" in never.result.text
    assert bench.ran == ["a", "b"]


async def test_a_holder_whose_lease_was_taken_writes_stages_and_runs_nothing_more(
    bench_of,
) -> None:
    """L34: whatever kind of call comes first."""
    for one in (call("note"), call("send"), call("mail"), call("unknown"), call("alert")):
        bench = bench_of(NOTE, MAIL, ALERT, sender(), settings=ROUTED, door=YesDoor(PersonDoor()))
        bench.lose_lease()
        before = bench.events()
        with pytest.raises(LeaseLost):
            await bench.turn(one, call("note", "later"))
        assert (bench.events(), bench.drafts()) == (before, [])
        assert not {"note", "later", "alert", "send"} & set(bench.ran)


async def test_a_lease_lost_in_mid_call_leaves_the_result_unwritten(bench_of) -> None:
    """L34: the next holder finds a start without a result, and later calls never begin."""

    async def sleep_through(args: ToolArgs, ctx: ToolContext) -> ToolResult:
        bench.lose_lease()
        return ToolResult.ok("done, too late")

    bench = bench_of(NOTE, behaviours={"note": sleep_through})
    with pytest.raises(LeaseLost):
        await bench.turn(call("note", "a"), call("note", "b"))
    assert bench.events() == [(EventKind.STARTED, "a")]
    assert bench.ran == ["a"]


async def test_a_lease_lost_in_one_read_stops_its_siblings(bench_of) -> None:
    """L34: reads that run beside it are cancelled, not left behind."""
    stopped = asyncio.Event()

    async def read(args: ToolArgs, ctx: ToolContext) -> ToolResult:
        if ctx.call_id == "a":
            bench.lose_lease()
            return ToolResult.ok("late")
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    bench = bench_of(MAIL, behaviours={"mail": read})
    with pytest.raises(LeaseLost):
        await bench.turn(call("mail", "a"), call("mail", "b"))
    assert stopped.is_set()
    assert bench.events() == []


async def test_an_empty_turn_and_an_empty_result_are_no_trouble(bench_of) -> None:
    """L26: nothing said is stated."""

    async def silent(args: ToolArgs, ctx: ToolContext) -> ToolResult:
        return ToolResult(parts=(TextPart(text=""),))

    bench = bench_of(NOTE, behaviours={"note": silent})
    assert (await bench.turn()).outcomes == ()
    assert (await bench.one(call("note"))).result.text == "(the tool returned nothing)"


async def test_a_private_read_alone_blocks_nothing(bench_of) -> None:
    """L4: private without foreign text leaves senders to the other gates."""
    bench = bench_of(make_spec("diary", PRIVATE_READ), sender(), door=PersonDoor())
    turn = await bench.turn(call("diary"), call("send"))
    assert [outcome.refusal for outcome in turn.outcomes] == [None, None]
    assert bench.ran == ["diary", "send"]
