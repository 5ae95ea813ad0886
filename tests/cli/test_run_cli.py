"""`steward run`: what it prints, how it ends, and what it says when something is in the way."""

import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from makers.terminal import Terminal
from makers.world import World, model_section

Scripted = Callable[..., World]
FIELDS = {
    "answer",
    "session",
    "stop_cause",
    "turns",
    "usage",
    "cost_usd",
    "staged",
    "parked",
    "blocked_sends",
    "refusals",
    "tool_calls",
    "tool_errors",
    "taint",
}


def test_the_report_has_every_promised_field(scripted: Scripted) -> None:
    report = scripted([{"text": "Hello."}]).steward("run", "Hi", "--json").json
    assert set(report) >= FIELDS
    assert report["taint"] == {"private": False, "untrusted": False}
    assert set(report["usage"]) == {"input_tokens", "output_tokens", "cached_tokens"}


def test_the_answer_alone_goes_to_stdout(scripted: Scripted) -> None:
    done = scripted([{"text": "Hello."}]).steward("run", "Hi")
    assert done.out == "Hello.\n"
    assert "1 turn" in done.err


def test_a_report_is_printed_on_failure_too(world: World) -> None:
    world.configure(model_section("http://127.0.0.1:9/v1"))
    report = world.steward("run", "Hi", "--json", code=1).json
    assert report["stop_cause"] == "error"
    assert "connection refused" in report["error"]
    assert "127.0.0.1:9" in report["error"]


def test_a_run_that_could_not_begin_prints_a_report_too(scripted: Scripted) -> None:
    done = scripted([]).steward("run", "Hi", "--json", "--agent", "nobody", code=1)
    assert (done.json["session"], done.json["stop_cause"]) == (None, "error")
    assert "no agent 'nobody'" in done.json["error"]
    lost = scripted([]).steward("run", "Hi", "--json", "--resume", "zzz", code=1)
    assert "no session 'zzz'" in lost.json["error"]


def test_a_piece_of_an_id_that_fits_several_sessions_names_them(scripted: Scripted) -> None:
    world = scripted([{"text": "One."}, {"text": "Two."}])
    ids = sorted(world.steward("run", "Hi", "--json").json["session"] for _ in range(2))
    shared = ids[0][: next(n for n in range(17) if ids[0][n] != ids[1][n])]
    several = world.steward("sessions", "show", shared, code=1)
    assert f"'{shared}' fits several sessions: {ids[0]}, {ids[1]}; type more" in several.err


def test_piped_text_arms_both_legs_and_the_typed_words_none(scripted: Scripted) -> None:
    """L10"""
    world = scripted([{"text": "Summed up."}, {"text": "Hello."}])
    piped = world.steward("run", "Sum up", "--json", piped="A stranger's text").json
    assert piped["taint"] == {"private": True, "untrusted": True}
    shown = world.steward("sessions", "show", piped["session"], "--json").json
    (prompt,) = [e for e in shown["events"] if e["kind"] == "prompt"]
    assert prompt["spans"] == [
        {"origin": "owner", "text": "Sum up", "source": ""},
        {"origin": "third-party", "text": "A stranger's text", "source": "standard input"},
    ]
    assert "[untrusted text from standard input" in prompt["text"]


def test_a_resumed_session_keeps_its_taint_and_a_new_one_starts_clean(
    scripted: Scripted,
) -> None:
    """L7"""
    world = scripted([{"text": "One."}, {"text": "Two."}, {"text": "Three."}])
    first = world.steward("run", "Sum up", "--json", piped="foreign").json
    again = world.steward("run", "More", "--resume", first["session"][-7:], "--json").json
    assert (again["session"], again["taint"]) == (first["session"], first["taint"])
    fresh = world.steward("run", "Hello", "--json").json
    assert fresh["taint"] == {"private": False, "untrusted": False}


def test_a_line_without_a_record_is_unknown_and_unknown_is_armed(scripted: Scripted) -> None:
    """L7: whatever wrote it, nobody can say that the owner's words alone are in it."""
    world = scripted([{"text": "One."}, {"text": "Two."}])
    first = world.steward("run", "Hi", "--json").json
    assert first["taint"] == {"private": False, "untrusted": False}
    with closing(sqlite3.connect(world.home / "steward.db")) as database, database:
        changed = database.execute("UPDATE event SET taint = NULL WHERE kind = 'assistant'")
        assert changed.rowcount == 1
    shown = world.steward("sessions", "show", first["session"], "--json").json
    assert shown["taint"] == {"private": True, "untrusted": True}
    again = world.steward("run", "More", "--resume", first["session"], "--json").json
    assert again["taint"] == {"private": True, "untrusted": True}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        pytest.param(["run"], 2, 'steward run "what is new?"', id="no-prompt"),
        pytest.param(["run", "Hi", "--yess"], 2, "steward run --help", id="wrong-flag"),
        pytest.param(["run", "Hi", "--agent", "nobody"], 1, "no agent 'nobody'", id="agent"),
        pytest.param(["run", "Hi", "--model", "big"], 1, "no model 'big'", id="model"),
        pytest.param(
            ["run", "Hi", "--resume", "zzz"],
            1,
            "no session 'zzz'; 'steward sessions list'",
            id="session",
        ),
        pytest.param(["run", "Hi", "--workspace", "/nowhere"], 1, "no folder", id="workspace"),
        pytest.param(["rum"], 2, "did you mean 'run'?", id="command"),
    ],
)
def test_bad_words_get_one_line_that_says_what_now(
    scripted: Scripted, words: list[str], code: int, said: str
) -> None:
    refused = scripted([]).steward(*words, code=code)
    assert said in refused.err
    assert refused.err.count("\n") == 1
    assert refused.out == ""


def test_a_route_to_nothing_warns_at_every_start_and_stops_it_where_strict(
    scripted: Scripted,
) -> None:
    """O13"""
    routes = '[outbox]\ntools = ["mail_*", "mial_send"]\n'
    world = scripted([{"text": "Hi."}, {"text": "Hi."}], routes)
    for _ in range(2):
        assert "[outbox] names mial_send, which matches no tool" in world.steward("run", "Hi").err
    config = world.home / "config.toml"
    config.write_text(config.read_text().replace("[outbox]", "[outbox]\nstrict = true"))
    assert "strict = true; mend the name" in world.steward("run", "Hi", code=1).err
    assert len(world.steward("sessions", "list", "--json").json) == 2


@pytest.mark.parametrize("kind", ["anthropic", "openai-responses"])
def test_a_kind_of_model_that_is_not_built_gets_neither_key_nor_words(
    scripted: Scripted, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R4"""
    monkeypatch.setenv("MY_KEY", "sekret-value-123456")
    world = scripted([{"text": "Never said."}])
    config = world.home / "config.toml"
    text = config.read_text().replace('kind = "openai"', f'kind = "{kind}"')
    config.write_text(text.replace('model = "m"', 'model = "m"\napi_key = "env:MY_KEY"'))
    refused = world.steward("run", "Hi", code=1)
    assert f'kind = "{kind}", which is not built yet' in refused.err
    assert not world.asked.is_set()


@pytest.mark.parametrize(
    "guard",
    [
        pytest.param('[[rules]]\ntool = "fs_write"\ndecision = "forbid"\n', id="rules"),
        pytest.param('[[hooks]]\nevent = "pre_tool"\ncommand = "x"\n', id="hooks"),
        pytest.param('[security]\nleaks = "block"\n', id="leaks"),
    ],
)
def test_nothing_runs_while_the_owner_relies_on_a_guard_that_is_not_built(
    scripted: Scripted, guard: str
) -> None:
    world = scripted([{"text": "Never said."}], guard)
    refused = world.steward("run", "Hi", code=1)
    assert "is not built yet, and nothing runs while you rely on it" in refused.err
    assert not world.asked.is_set()
    assert world.steward("outbox", "list").out == "no draft\n"


def test_a_resumed_session_keeps_its_agent_and_its_model_is_checked_first(
    scripted: Scripted,
) -> None:
    world = scripted([{"text": "One."}])
    session = world.steward("run", "Hi", "--json").json["session"]
    other = world.steward("run", "Hi", "--resume", session, "--agent", "assistant", code=2)
    assert "a resumed session keeps its agent and workspace" in other.err
    wrong = world.steward("run", "Hi", "--resume", session, "--model", "nope", code=1)
    assert "no model 'nope'" in wrong.err
    shown = world.steward("sessions", "show", session, "--json").json
    assert len([event for event in shown["events"] if event["kind"] == "prompt"]) == 1


def test_a_file_is_read_in_pages_as_large_as_the_model_has_room(scripted: Scripted) -> None:
    read = {"calls": [{"name": "fs_read", "arguments": {"path": "long.txt"}}]}
    world = scripted([read, {"text": "Read."}])
    world.work.mkdir(parents=True, exist_ok=True)
    (world.work / "long.txt").write_text("".join(f"line {n}\n" for n in range(500)))
    report = world.steward("run", "Read it", "--json").json
    shown = world.steward("sessions", "show", report["session"], "--json").json
    (result,) = [event for event in shown["events"] if event["kind"] == "result"]
    assert "line 499" in result["text"]


def test_without_a_model_the_owner_is_told_how_to_look_round(world: World) -> None:
    refused = world.steward("run", "Hi", code=1)
    assert "steward try" in refused.err


def test_bytes_that_are_no_utf8_are_read_all_the_same(scripted: Scripted) -> None:
    """L10: a Latin-1 mail is ordinary input."""
    world = scripted([{"text": "Summed up."}])
    child = world.child("run", "Sum up", "--json", stdin=subprocess.PIPE, text=False)
    out, err = child.communicate(b"Gr\xfc\xdfe", timeout=20)
    assert child.returncode == 0, err
    assert json.loads(out)["answer"] == "Summed up."


def test_a_name_that_a_model_made_up_cannot_steer_the_terminal(scripted: Scripted) -> None:
    evil = {"calls": [{"name": "x\x1b]52;c;ZXZpbA==\x07", "arguments": {}}]}
    world = scripted([evil, {"text": "Done."}])
    with Terminal(
        "run",
        "Hi",
        environ={**os.environ, "STEWARD_HOME": str(world.home)},
        cwd=world.home.parent,
    ) as terminal:
        terminal.end()
    assert "\x1b]" not in terminal.seen
    assert "\x07" not in terminal.seen


def test_control_characters_of_a_model_never_reach_the_terminal(scripted: Scripted) -> None:
    done = scripted([{"text": "red \x1b[31malert\x07"}]).steward("run", "Hi")
    assert done.out == "red \\x1b[31malert\\x07\n"


def test_ctrl_c_stops_the_run_and_leaves_a_session_that_goes_on(
    scripted: Scripted, tmp_path: Path
) -> None:
    """R2, L18: the run in flight is marked, never lost."""
    slow = {"text": "Late.", "fault": {"kind": "slow", "seconds": 30}}
    world = scripted([slow, {"text": "Here I am."}])
    child = world.child("run", "Hi", "--json")
    _until_asked(world)
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=20)
    assert child.returncode == 130, err
    report = json.loads(out)
    assert report["stop_cause"] == "cancelled"
    again = world.steward("run", "Still there?", "--resume", report["session"], "--json").json
    assert again["answer"] == "Here I am."


def _until_asked(world: World) -> None:
    """Return once the model server was asked, which is after the run has begun."""
    assert world.asked.wait(20)


def test_two_runs_on_one_session_at_once_are_refused(scripted: Scripted) -> None:
    slow = {"text": "Late.", "fault": {"kind": "slow", "seconds": 30}}
    world = scripted([{"text": "Hello."}, slow])
    session = world.steward("run", "Hi", "--json").json["session"]
    world.asked.clear()
    child = world.child("run", "Think", "--resume", session)
    _until_asked(world)
    busy = world.steward("run", "Me too", "--resume", session, code=1)
    assert "is being run by process" in busy.err
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=20)


def test_the_environment_names_no_secret_on_the_command_line(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R4: the key reaches the server, and no page of the database, log line or report."""
    monkeypatch.setenv("MY_KEY", "sekret-value-123456")
    world = scripted([{"text": "The key is sekret-value-123456."}])
    config = (world.home / "config.toml").read_text()
    world.configure(config.replace('model = "m"', 'model = "m"\napi_key = "env:MY_KEY"', 1))
    world.steward("run", "Hi")
    for path in world.home.rglob("*"):
        if path.is_file():
            assert b"sekret-value-123456" not in path.read_bytes(), path
