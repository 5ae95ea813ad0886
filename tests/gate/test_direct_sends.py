"""A sender taken out of the outbox: it waits for nobody, and is a draft all the same."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.tables import EventKind
from makers.gate import (
    DIRECT,
    PRIVATE,
    UNTRUSTED,
    Bench,
    PersonDoor,
    ScriptedSender,
    call,
    make_bench,
    sender,
)
from outbox.approval import NobodyDoor, YesDoor, no
from outbox.attempts import all_attempts
from outbox.policy import RefusalCause
from outbox.rules import RuleDecision
from outbox.tables import AttemptOutcome, DraftStatus
from tools.contract import DeliveryOutcome

SEND = sender("mail_send")
SENT = [(EventKind.STARTED, "mail_send"), (EventKind.RESULT, "mail_send")]


@pytest.fixture
def bench_of(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def build(**changes: Any) -> Bench:
        given = {"door": PersonDoor(), "settings": DIRECT, **changes}
        made.append(make_bench(tmp_path, [SEND], **given))
        return made[-1]

    yield build
    for bench in made:
        bench.store.close()


def ending(bench: Bench, outcome: DeliveryOutcome) -> None:
    """How deliveries of this bench end from now on."""
    entry = bench.parts.registry.get("mail_send")
    assert entry is not None
    assert isinstance(entry.handler, ScriptedSender)
    entry.handler.delivers = outcome


async def test_it_is_a_draft_with_an_attempt_that_the_owner_decided(bench_of) -> None:
    """O8: what makes a release safe holds for it too, and the model hears the truth."""
    bench = bench_of()
    outcome = await bench.one(call("mail_send", text="Tea?"), taint=PRIVATE)
    (draft,) = bench.drafts()
    assert (draft.status, draft.decided_by, draft.decided_via) == (
        DraftStatus.SENT,
        "owner",
        "terminal",
    )
    assert draft.taint == PRIVATE.as_json()
    with bench.store.read() as session:
        (attempt,) = all_attempts(session, draft.id)
    assert (attempt.outcome, attempt.delivery_key) == (AttemptOutcome.SENT, draft.delivery_key)
    assert bench.ran == ["mail_send"]
    assert outcome.result.text == f"draft {draft.id} was sent: {draft.delivery_key}"
    assert (outcome.result.is_error, outcome.draft_id, outcome.blocked_send) == (False, None, False)
    assert bench.events() == SENT


@pytest.mark.parametrize(
    ("ends", "status", "said"),
    [
        (DeliveryOutcome.FAILED, DraftStatus.PENDING, "was not sent, and waits"),
        (DeliveryOutcome.UNKNOWN, DraftStatus.UNCERTAIN, "may or may not have gone out"),
    ],
)
async def test_what_did_not_surely_go_out_is_told_and_stays_for_the_owner(
    bench_of, ends, status, said
) -> None:
    """O5, O7: and the same call again sends nothing."""
    bench = bench_of()
    ending(bench, ends)
    outcome = await bench.one(call("mail_send"))
    (draft,) = bench.drafts()
    assert (draft.status, outcome.draft_id) == (status, draft.id)
    assert said in outcome.result.text
    assert outcome.result.is_error
    ran = list(bench.ran)
    ending(bench, DeliveryOutcome.SENT)
    again = await bench.one(call("mail_send", "again"))
    assert f"the same call is draft {draft.id} already, which is {status}" in again.result.text
    assert bench.ran == ran
    assert len(bench.drafts()) == 1


@pytest.mark.parametrize(
    "door", [NobodyDoor("trigger"), YesDoor(NobodyDoor("script"))], ids=["nobody", "standing yes"]
)
async def test_where_nobody_is_present_it_is_refused_as_unanswered(bench_of, door) -> None:
    """L22: nobody said no, and nobody said yes."""
    bench = bench_of(door=door)
    outcome = await bench.one(call("mail_send"))
    assert outcome.refusal is RefusalCause.UNANSWERED
    assert (bench.ran, bench.drafts()) == ([], [])


async def test_a_standing_yes_does_not_answer_for_the_person_behind_it(bench_of) -> None:
    """L22"""
    door = PersonDoor(approval=no("not today"))
    bench = bench_of(door=YesDoor(door))
    outcome = await bench.one(call("mail_send"))
    assert outcome.refusal is RefusalCause.OWNER
    assert [request.needs_person for request in door.requests] == [True]
    assert (bench.ran, bench.drafts()) == ([], [])


class Allows:
    """A rule of the owner's that allows this very call."""

    name = "mine"

    def decide(self, tool: str, arguments: Any) -> RuleDecision | None:
        """Allow."""
        return RuleDecision.ALLOW


async def test_a_rule_of_the_owners_sends_where_nobody_is_present_but_never_past_the_interlock(
    bench_of,
) -> None:
    """L4: a rule names the very call, yet a stranger's words beside it still stage it."""
    bench = bench_of(door=NobodyDoor("trigger"), rules=(Allows(),))
    armed = await bench.one(call("mail_send", "armed", text="a"), taint=UNTRUSTED)
    assert armed.draft_id is not None
    assert bench.ran == []
    assert not (await bench.one(call("mail_send", text="b"))).result.is_error
    assert bench.ran == ["mail_send"]


async def test_what_cannot_be_completed_is_neither_a_draft_nor_sent(bench_of) -> None:
    bench = bench_of(uncompletable={"mail_send": "name a recipient"})
    outcome = await bench.one(call("mail_send"))
    assert outcome.result.text == "name a recipient; nothing was sent by this call"
    assert (bench.ran, bench.drafts()) == ([], [])


async def test_a_rehearsals_send_stays_on_the_machine(bench_of) -> None:
    bench = bench_of()
    bench.parts = replace(bench.parts, facts=replace(bench.parts.facts, loopback_only=True))
    outcome = await bench.one(call("mail_send"))
    assert "only to a server on this machine" in outcome.result.text
    assert bench.ran == []
    assert bench.drafts()[0].status is DraftStatus.PENDING
