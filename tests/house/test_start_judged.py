"""`config check` says what a start would say: whatever it lets through, a run does not refuse."""

import io
import json
import sys
from pathlib import Path

import pytest

from bot.cli.main import main
from makers.house import furnish
from makers.settings import write_config

MODEL = '[models.local]\nkind = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n'
OTHER = MODEL.replace("local", "other")
MAILDIR = '[mail.accounts.home]\nkind = "maildir"\naddress = "ada@example.org"\npath = "{}"\n'

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def nothing_piped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run reads what is piped into it: nothing."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())


REFUSED = [
    pytest.param(
        MODEL + '[outbox]\nstrict = true\ntools = ["mial_send"]\n',
        "line 7: outbox.tools names mial_send, which matches no tool, and strict = true; "
        "mend the name, or leave it out",
        id="strict",
    ),
    pytest.param(
        MODEL + '[[rules]]\ntool = "fs_write"\ndecision = "forbid"\n',
        "line 5: rules is not built yet, and nothing runs while you rely on it; take it out to go "
        "on without",
        id="rules",
    ),
    pytest.param(
        MODEL + '[[hooks]]\nevent = "pre_tool"\ncommand = "x"\n',
        "line 5: hooks is not built yet, and nothing runs while you rely on it; take it out to go "
        "on without",
        id="hooks",
    ),
    pytest.param(
        MODEL + '[security]\nleaks = "block"\n',
        "line 6: security.leaks = block is not built yet, and nothing runs while you rely on it; "
        "take it out to go on without",
        id="leaks",
    ),
    pytest.param(
        MODEL + '[tools]\ndisabled = ["fs_write", "mail_snd"]\n',
        "line 6: tools.disabled names mail_snd, which matches no tool, so nothing is kept away by "
        "it; mend the name, or leave it out",
        id="disabled",
    ),
    pytest.param(
        MODEL + '[agents.assistant]\ntools = ["mial_*", "todos"]\n',
        "line 6: agents.assistant.tools matches no tool at all (mial_*, todos); mend the names, or "
        "write [] for an agent without tools",
        id="agent-without-any",
    ),
    pytest.param(
        '[models.big]\nkind = "anthropic"\nmodel = "m"\n',
        'line 1: models.big has kind = "anthropic", which is not built yet; use a server that '
        'speaks chat completions (kind = "openai")',
        id="model-kind",
    ),
]


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_a_check_and_a_run_refuse_the_same_in_the_same_words(
    own_world: Path, capsys: Capture, text: str, said: str
) -> None:
    """R5."""
    config = write_config(own_world / "steward", text).config
    assert main(["config", "check"]) == 1
    assert capsys.readouterr().out == f"{config}: {said}\n"
    assert main(["run", "Hi"]) == 1
    assert f"steward run: {config}: {said}" in capsys.readouterr().err
    assert main(["config", "check", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is False
    assert len(report["problems"]) == 1


def test_a_database_in_a_folder_that_is_not_there_is_refused_by_both(
    own_world: Path, capsys: Capture
) -> None:
    text = MODEL + '[database]\nurl = "sqlite:///~/absent/steward.db"\n'
    config = write_config(own_world / "steward", text).config
    place = own_world / "absent"
    assert main(["config", "check"]) == 1
    assert capsys.readouterr().out == (
        f"{config}: line 6: database.url leads to {place / 'steward.db'}, and there is no folder "
        f"{place}; make it, or name another\n"
    )
    assert main(["run", "Hi"]) == 1
    assert f"the database {place / 'steward.db'} cannot be made" in capsys.readouterr().err


def test_a_database_of_another_version_is_refused_by_both(own_world: Path, capsys: Capture) -> None:
    write_config(own_world / "steward", MODEL)
    (own_world / "steward" / "steward.db").write_bytes(b"")
    for words in (["config", "check"], ["run", "Hi"]):
        assert main(words) == 1
        told = capsys.readouterr()
        assert "is no database of steward's; restore a backup" in told.out + told.err


WARNED = [
    pytest.param(
        MODEL + '[outbox]\ntools = ["mial_send"]\n',
        "outbox.tools names mial_send, which matches no tool; mend the name, or leave it out",
        id="route",
    ),
    pytest.param(
        MODEL + '[agents.assistant]\ntools = ["mial_*", "todo"]\n',
        "agents.assistant.tools names mial_*, which matches no tool; mend the name, or leave it out",
        id="tools-of-an-agent",
    ),
    pytest.param(
        MODEL + MAILDIR.format("~/Absent"),
        "mail.accounts.home.path leads to {home}/Absent, which does not exist, so no mail can be "
        "read from it",
        id="mailbox",
    ),
    pytest.param(
        MODEL + MAILDIR.format("~") + 'smtp = { host = "h", user = "ada", password = "env:NO" }\n',
        "mail.accounts.home.smtp.password cannot be resolved: there is no secret env:NO; set the "
        "environment variable NO",
        id="secret-of-a-release",
    ),
    pytest.param(
        MODEL + MAILDIR.format("~").replace("maildir", "imap"),
        "mail.accounts.home.kind = imap is not built yet",
        id="mail-kind",
    ),
    pytest.param(
        MODEL + OTHER.replace("openai", "anthropic") + '[agents.assistant]\nmodel = "local"\n',
        "models.other.kind = anthropic is not built yet",
        id="model-nobody-uses",
    ),
    pytest.param(
        MODEL + OTHER + "[agents.reader]\n[agents.assistant]\nmodel = 'local'\n",
        "agents.reader names no model, and there are several (local, other); name one, or each "
        "time --model",
        id="agent-without-model",
    ),
]


@pytest.mark.parametrize(("text", "said"), WARNED)
def test_what_keeps_nothing_from_starting_warns_and_exits_0(
    own_world: Path, capsys: Capture, text: str, said: str
) -> None:
    config = write_config(own_world / "steward", text).config
    assert main(["config", "check"]) == 0
    warned, last = capsys.readouterr().out.splitlines()
    assert warned.startswith(f"{config}: warning: line ") or "cannot be resolved" in warned
    assert warned.endswith(said.format(home=own_world))
    assert last == f"{config}: a start would go through"
    assert main(["config", "check", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], report["problems"]) == (True, [])
    texts = [f"{each['key']} {each['text']}" for each in report["warnings"] + report["not_built"]]
    assert texts == [said.format(home=own_world)]


def test_a_start_says_which_of_the_names_of_an_agent_match_no_tool(
    own_world: Path, capsys: Capture
) -> None:
    text = MODEL + '[agents.assistant]\ntools = ["mial_*", "todo"]\n'
    write_config(own_world / "steward", text)
    main(["run", "Hi"])
    said = "warning: line 6: agents.assistant.tools names mial_*, which matches no tool"
    assert said in capsys.readouterr().err
    main(["doctor"])
    assert said.removeprefix("warning: ") in capsys.readouterr().out


def test_an_agent_may_be_given_no_tool(own_world: Path, capsys: Capture) -> None:
    write_config(own_world / "steward", MODEL + "[agents.assistant]\ntools = []\n")
    assert main(["config", "check"]) == 0
    assert "warning" not in capsys.readouterr().out


def test_a_configuration_without_a_model_says_which_commands_need_one(
    own_world: Path, capsys: Capture
) -> None:
    assert main(["config", "init"]) == 0
    capsys.readouterr()
    config = own_world / "steward" / "config.toml"
    said = (
        f"{config}: {{}}no model is configured, and 'steward run' and 'steward chat' need one; take "
        "the # away from [models.local] and the lines below it, or look round first with "
        "'steward try'"
    )
    assert main(["config", "check"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        said.format("warning: "),
        f"{config}: a start would go through, but for 'run' and 'chat' without a model",
    ]
    assert main(["run", "Hi"]) == 1
    assert said.format("") in capsys.readouterr().err
    assert main(["outbox", "list"]) == 0


def test_a_check_makes_nothing(own_world: Path, capsys: Capture) -> None:
    assert main(["config", "check"]) == 0
    assert "no configuration: defaults" in capsys.readouterr().out
    assert not (own_world / "steward").exists()


def _offers(capsys: Capture) -> dict[str, str | None]:
    assert main(["tools", "--json"]) == 0
    return {each["name"]: each["why_not"] for each in json.loads(capsys.readouterr().out)}


MAIL_READERS = {"mail_search", "mail_recent", "mail_get_thread"}
MAIL_SENDERS = {"mail_send", "mail_reply"}


@pytest.mark.parametrize(
    ("text", "withheld"),
    [
        pytest.param("", dict.fromkeys(MAIL_READERS | MAIL_SENDERS, "no mail account"), id="none"),
        pytest.param(
            MAILDIR.format("~").replace("maildir", "imap"),
            dict.fromkeys(MAIL_READERS | MAIL_SENDERS, "no mail account"),
            id="not-built",
        ),
        pytest.param(
            MAILDIR.format("~"), dict.fromkeys(MAIL_SENDERS, "no smtp"), id="reading-only"
        ),
        pytest.param(
            MAILDIR.format("~") + 'smtp = { host = "h" }\n[tools]\ndisabled = ["mail_reply"]\n',
            {"mail_reply": "disabled"},
            id="disabled",
        ),
        pytest.param(
            MAILDIR.format("~")
            + 'smtp = { host = "h" }\n[agents.assistant]\ntools = ["mail_*", "fs_*", "todo", "ask_*"]',
            {"grep": "not for assistant"},
            id="selection",
        ),
    ],
)
def test_a_tool_that_is_not_offered_says_why(
    own_world: Path, capsys: Capture, text: str, withheld: dict[str, str]
) -> None:
    furnish(own_world / "steward")
    write_config(own_world / "steward", text)
    told = _offers(capsys)
    assert {name: why for name, why in told.items() if why is not None} == withheld
    assert main(["tools"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split() == [
        "tool", "kind", "private", "untrusted", "egress", "destructive", "then",
    ]  # fmt: skip
    shown = {line.split()[0]: line.partition("not offered: ")[2] or None for line in lines}
    assert shown == told
