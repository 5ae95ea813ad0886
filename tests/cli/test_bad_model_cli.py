"""A model server in every bad mood: a clear error or a bounded result, nothing lost, nothing sent."""

from collections.abc import Callable
from typing import Any

import pytest

from makers.world import World

Scripted = Callable[..., World]
DONE = {"text": "All the same, I am done."}
SEND = {
    "name": "mail_send",
    "arguments": {"to": ["ada@x.example"], "subject": "Lunch", "body": "Dear Ada."},
}


def fault(kind: str, **particulars: Any) -> dict[str, Any]:
    return {"kind": kind, **particulars}


@pytest.mark.parametrize(
    ("turns", "stop", "answer"),
    [
        pytest.param(
            [{"text": "Half an", "calls": [SEND], "fault": fault("cut-in-call")}],
            "truncated",
            "Half an",
            id="cut-inside-a-call",
        ),
        pytest.param(
            [{"text": "Half an", "fault": fault("no-finish")}],
            "truncated",
            "Half an",
            id="no-finish-marker",
        ),
        pytest.param(
            [{"text": "Half an", "calls": [SEND], "finish": "length"}],
            "truncated",
            "Half an",
            id="at-the-token-limit",
        ),
        pytest.param(
            [{"calls": [{"name": "mail_send", "raw": '{"to": ["ada@x.exam'}]}, DONE],
            "answered",
            DONE["text"],
            id="a-call-with-broken-json",
        ),
        pytest.param(
            [{"calls": [{"name": "teleport", "arguments": {}}]}, DONE],
            "answered",
            DONE["text"],
            id="an-unknown-tool",
        ),
        pytest.param(
            [{"text": "Again.", "calls": [{"name": "todo", "arguments": {}}], "times": "forever"}],
            "loop",
            "Again.",
            id="never-stops",
        ),
        pytest.param(
            [{"text": "Late.", "fault": fault("slow", seconds=0.3)}],
            "answered",
            "Late.",
            id="slow",
        ),
        pytest.param(
            [{"fault": fault("overloaded", retry_after="0.01")}, DONE],
            "answered",
            DONE["text"],
            id="overloaded-once",
        ),
        pytest.param([{"fault": fault("unauthorized")}], "error", "", id="wrong-key"),
        pytest.param([{"fault": fault("overflow")}], "error", "", id="too-long"),
        pytest.param([{"fault": fault("error-body")}], "error", "", id="an-error-under-200"),
    ],
)
def test_it_ends_bounded_and_sends_nothing(
    scripted: Scripted, turns: list[Any], stop: str, answer: str
) -> None:
    """L1, L2, L25"""
    world = scripted(turns)
    done = world.steward("run", "Write to ada@x.example", "--json", code=None)
    report = done.json
    assert (report["stop_cause"], report["answer"]) == (stop, answer)
    assert bool(report.get("error")) == (stop == "error")
    assert world.steward("outbox", "list", "--json").json == []
    shown = world.steward("sessions", "show", report["session"], "--json").json
    assert shown["events"][1]["kind"] == "prompt", "what was asked is kept"


def test_an_error_names_the_model_the_server_and_the_way_on(scripted: Scripted) -> None:
    world = scripted([{"fault": fault("unauthorized")}])
    refused = world.steward("run", "Hi", code=1)
    assert "model 'scripted' at http://127.0.0.1:" in refused.err
    assert refused.out == ""
