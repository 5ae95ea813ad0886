"""The interlock's table, cell by cell, and the settings that change it (DESIGN section 6)."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from makers.gate import (
    BLIND,
    BOTH,
    CHOSEN,
    DESTRUCTIVE,
    MAIL_READ,
    PRIVATE,
    PRIVATE_READ,
    UNTRUSTED,
    PersonDoor,
    call,
    facts,
    make_bench,
    make_spec,
)
from outbox.approval import NobodyDoor
from outbox.interlock import CallFacts, Situation, Verdict, explain, rule
from outbox.links import links_in
from outbox.policy import Mode, RefusalCause, decide
from outbox.settings import GateSettings, OutboxSettings, SecuritySettings, Trifecta, WebRule
from tools.contract import EffectScope
from tools.taint import CLEAN, Source, Taint

TAINTS = {"clean": CLEAN, "private": PRIVATE, "untrusted": UNTRUSTED, "both": BOTH}
LINK = "https://example.org/a?b=c"
COLUMNS = {
    "sender": facts(CHOSEN, read_only=False, stageable=True),
    "routed": facts(CHOSEN, read_only=False, stageable=True, routed=True),
    "sender-unstageable": facts(CHOSEN, read_only=False),
    "routed-unstageable": facts(CHOSEN, read_only=False, routed=True),
    "web": facts(CHOSEN),
    "web-owner-link": facts(CHOSEN, links=frozenset({LINK})),
    "destructive": facts(DESTRUCTIVE, read_only=False, stageable=True),
    "destructive-unstageable": facts(DESTRUCTIVE, read_only=False),
    "blind": facts(BLIND),
    "none": facts(),
}
DEFAULT = SecuritySettings()

# One line a column: clean, private, untrusted, both; each for somebody present / nobody there.
TABLE = {
    "sender": "run/run run/run stage/stage stage/stage",
    "routed": "stage/stage stage/stage stage/stage stage/stage",
    "sender-unstageable": "run/run run/run ask/refuse ask/refuse",
    "routed-unstageable": "ask/refuse ask/refuse ask/refuse ask/refuse",
    "web": "run/run run/run run/run ask/refuse",
    "web-owner-link": "run/run run/run run/run run/run",
    "destructive": "run/run run/run ask/stage ask/stage",
    "destructive-unstageable": "run/run run/run ask/refuse ask/refuse",
    "blind": "run/run run/run run/run run/run",
    "none": "run/run run/run run/run run/run",
}
STRICT_WEB = {
    **TABLE,
    "web": "run/run run/run ask/refuse ask/refuse",
}
BLOCKED_AFTER_PRIVATE = {
    **TABLE,
    "sender": "run/run refuse/refuse stage/stage refuse/refuse",
    "sender-unstageable": "run/run refuse/refuse ask/refuse refuse/refuse",
    "web": "run/run refuse/refuse run/run refuse/refuse",
    "web-owner-link": "run/run refuse/refuse run/run refuse/refuse",
    "blind": "run/run refuse/refuse run/run refuse/refuse",
}
BLOCK = {
    **TABLE,
    "sender": "run/run run/run refuse/refuse refuse/refuse",
    "sender-unstageable": "run/run run/run refuse/refuse refuse/refuse",
    "destructive": "run/run run/run ask/refuse ask/refuse",
}
ASK = {
    **TABLE,
    "sender": "run/run run/run ask/refuse ask/refuse",
    "destructive": "run/run run/run ask/refuse ask/refuse",
}
ALLOW = {
    **TABLE,
    "sender": "run/run run/run run/run run/run",
    "sender-unstageable": "run/run run/run run/run run/run",
    "web": "run/run run/run run/run run/run",
    "destructive": "run/run run/run run/run run/run",
    "destructive-unstageable": "run/run run/run run/run run/run",
}
SETTINGS = {
    "default": (DEFAULT, TABLE),
    "strict-web": (SecuritySettings(web=WebRule.STRICT), STRICT_WEB),
    "block-after-private": (
        SecuritySettings(block_sends_after_private=True),
        BLOCKED_AFTER_PRIVATE,
    ),
    "block": (SecuritySettings(trifecta=Trifecta.BLOCK), BLOCK),
    "ask": (SecuritySettings(trifecta=Trifecta.ASK), ASK),
    "allow": (SecuritySettings(trifecta=Trifecta.ALLOW), ALLOW),
}


def cells() -> list[object]:
    found = []
    for setting, (security, table) in SETTINGS.items():
        for column, line in table.items():
            for taint, cell in zip(TAINTS, line.split(), strict=True):
                for present, verdict in zip((True, False), cell.split("/"), strict=True):
                    where = "present" if present else "nobody"
                    found.append(
                        pytest.param(
                            COLUMNS[column],
                            Situation(
                                taint=TAINTS[taint],
                                present=present,
                                security=security,
                                owner_links=frozenset({LINK}),
                            ),
                            Verdict(verdict),
                            id=f"{setting}-{column}-{taint}-{where}",
                        )
                    )
    return found


@pytest.mark.parametrize(("one_call", "now", "verdict"), cells())
def test_the_table_holds_cell_by_cell(
    one_call: CallFacts, now: Situation, verdict: Verdict
) -> None:
    """L4, L8: what a clean, private, untrusted or doubly tainted conversation lets a call do."""
    assert rule(one_call, now).verdict is verdict


@pytest.mark.parametrize("security", [s for s, _ in SETTINGS.values()], ids=list(SETTINGS))
def test_a_call_in_two_columns_gets_the_strictest_verdict(security: SecuritySettings) -> None:
    """L4: refuse beats stage beats ask beats run, over every pair of columns."""
    order = [Verdict.RUN, Verdict.ASK, Verdict.STAGE, Verdict.REFUSE]
    sends, destroys = COLUMNS["sender"], COLUMNS["destructive"]
    both = replace(sends, capabilities=CHOSEN.union(DESTRUCTIVE))
    for taint, present in product(TAINTS.values(), (True, False)):
        now = Situation(taint=taint, present=present, security=security)
        single = [rule(each, now).verdict for each in (sends, destroys)]
        assert rule(both, now).verdict is max(single, key=order.index)


@pytest.mark.parametrize("taint", TAINTS.values(), ids=list(TAINTS))
@pytest.mark.parametrize("security", [s for s, _ in SETTINGS.values()], ids=list(SETTINGS))
def test_no_setting_lets_a_routed_sender_run(taint: Taint, security: SecuritySettings) -> None:
    """L21: routing holds whatever the interlock is set to."""
    for present in (True, False):
        now = Situation(taint=taint, present=present, security=security)
        assert rule(COLUMNS["routed"], now).verdict is Verdict.STAGE


@pytest.mark.parametrize(
    ("typed", "asked_for", "passes"),
    [
        pytest.param(LINK, LINK, True, id="same"),
        pytest.param("HTTPS://EXAMPLE.org:443/a?b=c", LINK, True, id="scheme-and-host-normalised"),
        pytest.param(LINK, f"{LINK}&d=secret", False, id="longer-query"),
        pytest.param(LINK, "https://example.org/A?b=c", False, id="other-path-case"),
        pytest.param(LINK, "https://example.org/", False, id="same-site-only"),
        pytest.param(LINK, "https://example.org.evil.example/a?b=c", False, id="lookalike-host"),
        pytest.param(LINK, "https://me@example.org/a?b=c", False, id="user-part"),
        pytest.param(LINK, "http://example.org/a?b=c", False, id="other-scheme"),
        pytest.param("see example.org", "https://example.org/", False, id="no-link-typed"),
    ],
)
async def test_only_the_whole_link_the_owner_typed_passes(
    tmp_path: Path, typed: str, asked_for: str, passes: bool
) -> None:
    """L4: the owner's own links pass, and nothing that merely resembles one."""
    bench = make_bench(tmp_path, [make_spec("fetch", CHOSEN)])
    owner_links = replace(bench.parts.facts, owner_links=lambda: links_in(typed))
    bench.parts = replace(bench.parts, facts=owner_links)
    outcome = await bench.one(call("fetch", url=asked_for), taint=BOTH)
    assert (outcome.refusal is None) is passes
    assert bench.ran == (["fetch"] if passes else [])
    bench.store.close()


async def test_an_owners_link_carries_no_free_text_along(tmp_path: Path) -> None:
    """L4: a link the owner typed does not excuse what stands beside it."""
    bench = make_bench(tmp_path, [make_spec("fetch", CHOSEN)])
    owner_links = replace(bench.parts.facts, owner_links=lambda: links_in(LINK))
    bench.parts = replace(bench.parts, facts=owner_links)
    outcome = await bench.one(call("fetch", url=LINK, text="my bank code is 1234"), taint=BOTH)
    assert outcome.refusal is RefusalCause.POLICY
    assert bench.ran == []
    bench.store.close()


def test_one_link_of_the_owners_excuses_no_other_beside_it() -> None:
    """L4: every link of the call must be the owner's."""
    mixed = facts(CHOSEN, links=frozenset({LINK, "https://evil.example/?d=secret"}))
    now = Situation(taint=BOTH, present=False, security=DEFAULT, owner_links=frozenset({LINK}))
    assert rule(mixed, now).verdict is Verdict.REFUSE


THROUGH_THE_GATE = [
    (setting, column, taint, present)
    for setting in ("default", "block-after-private")
    for column in ("sender", "web", "destructive", "blind")
    for taint in TAINTS
    for present in (True, False)
]


@pytest.mark.parametrize(("setting", "column", "taint", "present"), THROUGH_THE_GATE)
async def test_the_gate_does_what_the_table_says(
    tmp_path: Path, setting: str, column: str, taint: str, present: bool
) -> None:
    """L4, L8: with real tools of those labels: run runs, stage leaves a draft, refuse does neither."""
    security, table = SETTINGS[setting]
    cell = table[column].split()[list(TAINTS).index(taint)].split("/")[0 if present else 1]
    wanted = COLUMNS[column]
    spec = make_spec(
        "tool", wanted.capabilities, read_only=wanted.read_only, stageable=wanted.stageable
    )
    bench = make_bench(
        tmp_path,
        [spec],
        door=PersonDoor() if present else NobodyDoor("nobody"),
        settings=GateSettings(security=security),
    )
    outcome = await bench.one(call("tool"), taint=TAINTS[taint])
    due = bool(
        decide(
            wanted, Mode.NORMAL, Situation(taint=CLEAN, present=True, security=security)
        ).approval
    )
    match Verdict(cell):
        case Verdict.RUN | Verdict.ASK:
            asked = due or cell == "ask"
            assert bench.ran == (["tool"] if present or not asked else [])
            assert outcome.refusal is (RefusalCause.UNANSWERED if asked and not present else None)
            at_once = ["sent"] if spec.stageable and bench.ran else []
            assert [draft.status for draft in bench.drafts()] == at_once
        case Verdict.STAGE:
            assert bench.ran == []
            assert [draft.id for draft in bench.drafts()] == [outcome.draft_id]
        case Verdict.REFUSE:
            assert bench.ran == []
            assert bench.drafts() == []
            assert outcome.refusal is RefusalCause.POLICY
    leaves = column != "destructive"
    assert outcome.blocked_send is (leaves and cell in ("stage", "refuse"))
    bench.store.close()


@pytest.mark.parametrize("column", ["web", "sender-unstageable", "destructive-unstageable"])
def test_a_refusal_names_the_calls_that_set_each_leg_and_a_way_on(column: str) -> None:
    """L6: and the way on never names a tool, so no private read is ever suggested."""
    now = Situation(taint=BOTH, present=False, security=DEFAULT)
    text = explain(COLUMNS[column], now)
    assert "fs_read in turn 1 (path=diary.md)" in text
    assert "http_fetch in turn 2 (url=x.example)" in text
    way_on = text.rpartition("So tool could")[2]
    for name in ("mail_", "fs_", "grep", "recall", "search", "read", "shell"):
        assert name not in way_on
    assert "answer" in way_on or "typed" in way_on


def test_a_refusal_of_many_sources_stays_short() -> None:
    """L6: three sources are named, the rest is counted."""
    sources = tuple(Source(tool=f"tool{n}", turn=n, what="x") for n in range(9))
    now = Situation(taint=Taint(untrusted=sources), present=False, security=DEFAULT)
    text = explain(COLUMNS["sender"], now)
    assert "tool2 in turn 2 (x) and 6 more" in text
    assert "tool3" not in text


@pytest.mark.parametrize(
    ("capabilities", "read_only", "scope", "due"),
    [
        (MAIL_READ, True, EffectScope.NONE, False),
        (CHOSEN, True, EffectScope.WORLD, False),
        (PRIVATE_READ, False, EffectScope.NONE, False),
        (PRIVATE_READ, False, EffectScope.FILES, False),
        (DESTRUCTIVE, False, EffectScope.FILES, True),
        (CHOSEN, False, EffectScope.NONE, True),
        (PRIVATE_READ, False, EffectScope.WORLD, True),
    ],
)
def test_an_approval_is_due_where_something_may_change(
    capabilities, read_only: bool, scope: EffectScope, due: bool
) -> None:
    """The other gates: destructive outside scratch, sent without a draft, or out in the world."""
    one = facts(capabilities, read_only=read_only, scope=scope)
    now = Situation(taint=CLEAN, present=True, security=DEFAULT)
    assert bool(decide(one, Mode.NORMAL, now).approval) is due


def test_built_in_senders_leave_the_outbox_only_by_their_whole_name() -> None:
    """O13: `[outbox] tools` adds to the built-in senders, `direct` takes one out."""
    settings = OutboxSettings(tools=("server__*",), direct=("mail_send",))
    routed = {
        name: settings.routes(make_spec(name, CHOSEN, read_only=False))
        for name in ("mail_send", "mail_reply", "server__post", "other")
    }
    assert routed == {"mail_send": False, "mail_reply": True, "server__post": True, "other": False}
    assert not settings.routes(make_spec("server__read", CHOSEN))
