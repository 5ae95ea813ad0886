"""`steward config` and `steward db`, as they are typed."""

import io
import json
import stat
import sys
from pathlib import Path

import pytest

from bot.cli.main import main
from makers.settings import write_config

Capture = pytest.CaptureFixture[str]


def test_a_configuration_begun_by_init_is_well_formed_and_private(
    own_world: Path, capsys: Capture
) -> None:
    config = own_world / "steward" / "config.toml"
    assert main(["config", "init"]) == 0
    told = capsys.readouterr()
    assert told.out == f"{config}\n"
    assert told.err.startswith(
        "next: name a model and a mailbox in it, then 'steward config check'"
    )
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert 'timezone = "UTC"' in config.read_text(encoding="utf-8")
    assert main(["config", "check"]) == 0


def test_init_never_overwrites(own_world: Path, capsys: Capture) -> None:
    config = write_config(own_world / "steward", "# mine\n").config
    assert main(["config", "init"]) == 1
    assert capsys.readouterr().err == (
        f"steward config: {config} exists; edit it, 'steward config check' reads it\n"
    )
    assert config.read_text(encoding="utf-8") == "# mine\n"


def test_check_lists_every_problem_and_show_refuses(own_world: Path, capsys: Capture) -> None:
    """R5."""
    config = write_config(own_world / "steward", "zone = 1\n[outbox]\nstrict = 1\n").config
    assert main(["config", "check"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main(["config", "check", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is False
    assert [problem["line"] for problem in report["problems"]] == [1, 3]
    assert main(["config", "show"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"steward config: {config}: line 1: zone is not a known key")


def test_check_says_what_is_not_built_yet_and_which_secret_is_missing(
    own_world: Path, capsys: Capture
) -> None:
    text = (
        '[limits]\nruns_per_hour = 3\n[models.a]\nkind = "openai"\nmodel = "m"\napi_key = "env:NO"'
    )
    config = write_config(own_world / "steward", text).config
    assert main(["config", "check"]) == 1
    assert capsys.readouterr().out == (
        f"{config}: models.a.api_key cannot be resolved: there is no secret env:NO; "
        "set the environment variable NO\n"
        f"{config}: warning: line 1: limits is not built yet\n"
    )


def test_show_prints_every_setting_and_no_secret(own_world: Path, capsys: Capture) -> None:
    """R4."""
    write_config(
        own_world / "steward", '[models.a]\nkind = "openai"\nmodel = "m"\napi_key = "env:KEY"\n'
    )
    assert main(["config", "show", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["models"]["a"]["api_key"] == "env:KEY"
    assert shown["timezone"] == "UTC"
    assert main(["config"]) == 0
    assert 'models.a.api_key = "env:KEY"' in capsys.readouterr().out


def test_a_secret_from_a_pipe_needs_a_terminal_or_the_owners_word(
    own_world: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = own_world / "steward" / "secrets" / "mail.work"
    monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse\n"))
    assert main(["config", "set-secret", "mail.work"]) == 2
    assert "needs a terminal" in capsys.readouterr().err
    assert not secret.exists()
    write_config(own_world / "steward", "[outbox]\nscripts = true\n")
    assert main(["config", "set-secret", "mail.work"]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert str(secret) in told.err
    assert secret.read_text(encoding="utf-8") == "correct horse"


def test_a_home_that_is_relative_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("STEWARD_HOME", "here")
    assert main(["config", "path"]) == 1
    assert capsys.readouterr().err == (
        "steward config: STEWARD_HOME=here: write an absolute path, or one after ~/\n"
    )


def test_a_file_in_place_of_the_home_is_one_line(own_world: Path, capsys: Capture) -> None:
    """R3."""
    (own_world / "steward").write_text("in the way")
    assert main(["config", "init"]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"steward config: the home {own_world / 'steward'} cannot be used")
    assert told.count("\n") == 1


def test_the_state_of_a_database_that_is_not_there_creates_nothing(
    own_world: Path, capsys: Capture
) -> None:
    assert main(["db", "status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "path": str(own_world / "steward" / "steward.db"),
        "state": "missing",
        "revision": None,
        "head": "0001",
        "generation": None,
        "size_bytes": 0,
    }
    assert main(["db", "upgrade"]) == 1
    assert "the first run makes it" in capsys.readouterr().err
    assert not (own_world / "steward").exists()
