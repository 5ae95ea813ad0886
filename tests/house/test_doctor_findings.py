"""R6: the doctor names what is wrong and what mends it, and changes nothing by looking."""

import json
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.cli.main import main
from bot.database import open_database
from bot.doctor import CHECKS, examine_all, is_healthy
from bot.doctor_check import Level, counted
from bot.home import Home
from makers.house import Place, make_home
from makers.settings import ENVIRON, write_config
from outbox.process import current_process
from outbox.tables import Draft, DraftKind, DraftStatus
from triggers.tables import Cause, CauseKind, CauseStatus

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
MODEL = '[models.local]\nkind = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:{port}/v1"\n'


def found(home: Home, level: Level) -> list[tuple[str, str, str]]:
    """Check, text and advice of every finding of this level."""
    return [
        (each.check, each.finding.text, each.finding.advice)
        for each in examine_all(home, ENVIRON)
        if each.finding.level is level
    ]


@pytest.fixture
def listening() -> Iterator[int]:
    """A port on this machine that takes connections."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    """A port on this machine that nobody listens on."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port: int = server.getsockname()[1]
    return port


def test_an_empty_home_is_healthy_and_stays_empty(tmp_path: Path) -> None:
    """R6."""
    home = Home(root=tmp_path / "absent")
    examined = examine_all(home, ENVIRON)
    assert is_healthy(examined)
    assert not home.root.exists()


def test_a_prepared_home_is_healthy(tmp_path: Path) -> None:
    """R6."""
    home = make_home(tmp_path)
    open_database(Place(home=home, database_path=home.database)).close()
    assert is_healthy(examine_all(home, ENVIRON))
    assert found(home, Level.WARN) == [
        ("models", "no model is configured, so nothing can answer", "run 'steward config init'")
    ]


def test_every_problem_of_the_configuration_is_a_finding(tmp_path: Path) -> None:
    """R6."""
    home = write_config(tmp_path, "zone = 1\n[outbox]\nstrict = 1\n")
    failures = found(home, Level.FAIL)
    assert [text.removeprefix(f"{home.config}: ")[:7] for _, text, _ in failures] == [
        "line 1:",
        "line 3:",
    ]
    assert {advice for _, _, advice in failures} == {
        f"edit {home.config}, then run 'steward config check'"
    }
    assert not is_healthy(examine_all(home, ENVIRON))


@pytest.mark.parametrize(
    ("before", "advice"),
    [
        pytest.param(None, "run 'steward config init'", id="no-file"),
        pytest.param("", "add a [models.NAME] table in {config}", id="empty"),
        pytest.param(
            "# [models.local]\n# kind = 'openai'\n",
            "take the # away from [models.local] and the lines below it in {config}",
            id="as-begun",
        ),
    ],
)
def test_the_next_step_to_a_model_fits_the_file_as_it_stands(
    tmp_path: Path, before: str | None, advice: str
) -> None:
    """R6."""
    home = make_home(tmp_path)
    if before is not None:
        write_config(home.root, before).config.chmod(0o600)
    examined = [each for each in examine_all(home, ENVIRON) if each.finding.level is Level.WARN]
    assert [(each.check, each.finding.advice) for each in examined] == [
        ("models", advice.format(config=home.config))
    ]
    assert [each.check for each in examine_all(home, ENVIRON)].count("configuration") == 1


def test_what_a_start_refuses_fails_in_the_doctor(tmp_path: Path) -> None:
    """R6: and a name that only a strict outbox refuses is said once."""
    home = write_config(tmp_path, '[outbox]\nstrict = true\ntools = ["mial_send"]\n')
    assert [(check, text) for check, text, _ in found(home, Level.FAIL)] == [
        (
            "configuration",
            f"{home.config}: line 3: outbox.tools names mial_send, which matches no tool, and "
            "strict = true; mend the name, or leave it out",
        )
    ]
    assert "tools" not in [check for check, _, _ in found(home, Level.WARN)]


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 drafts wait"), (1, "1 draft waits"), (2, "2 drafts wait")]
)
def test_one_thing_is_spoken_of_as_one(number: int, said: str) -> None:
    assert counted(number, "draft", "wait") == said


def test_a_secret_file_open_to_others_fails_with_the_command_that_closes_it(
    tmp_path: Path,
) -> None:
    """R6."""
    home = make_home(tmp_path)
    secret = home.secrets / "mail.work"
    secret.write_text("x")
    secret.chmod(0o644)
    assert found(home, Level.FAIL) == [
        (
            "permissions",
            f"{secret} is open to other users of this machine",
            f"run: chmod 600 {secret}",
        )
    ]


def test_a_configuration_that_others_can_change_fails_and_one_they_can_read_warns(
    tmp_path: Path,
) -> None:
    """R6."""
    home = make_home(tmp_path)
    write_config(home.root, "")
    levels = {}
    for mode in (0o600, 0o644, 0o666):
        home.config.chmod(mode)
        levels[mode] = [
            each.finding.level for each in examine_all(home, ENVIRON) if each.check == "permissions"
        ]
    assert levels == {0o600: [Level.OK], 0o644: [Level.WARN], 0o666: [Level.FAIL]}


def test_a_missing_secret_names_its_key_and_how_to_store_it(tmp_path: Path, listening: int) -> None:
    """R6."""
    home = write_config(tmp_path, MODEL.format(port=listening) + 'api_key = "keyring:local"\n')
    assert found(home, Level.FAIL) == [
        (
            "secrets",
            "models.local.api_key: there is no secret keyring:local",
            "run 'steward config set-secret local'",
        )
    ]


def test_an_older_database_names_the_upgrade(tmp_path: Path) -> None:
    """R6: and what is in it is unknown, not empty."""
    home = make_home(tmp_path)
    connection = sqlite3.connect(home.database)
    connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
    connection.close()
    home.database.chmod(0o600)
    assert ("database", f"{home.database} has schema none, this version needs 0001") in [
        each[:2] for each in found(home, Level.FAIL)
    ]


def test_a_database_that_is_none_leaves_what_waits_unknown(tmp_path: Path) -> None:
    """R6."""
    home = make_home(tmp_path)
    home.database.write_text("not a database at all, just text " * 10)
    assert [check for check, _, _ in found(home, Level.FAIL)][-1:] == ["database"]
    assert [check for check, _, _ in found(home, Level.UNKNOWN)] == ["waiting"]


def test_a_database_of_another_life_of_the_home_is_noticed(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    open_database(Place(home=home, database_path=home.database)).close()
    home.generation_file.write_text("another\n")
    assert ("database", "look at every pending draft before you approve it") in [
        (check, advice) for check, _, advice in found(home, Level.WARN)
    ]


def test_a_model_server_that_is_down_is_said(tmp_path: Path, closed_port: int) -> None:
    """R6."""
    home = write_config(tmp_path, MODEL.format(port=closed_port))
    assert found(home, Level.FAIL) == [
        (
            "models",
            f"models.local: 127.0.0.1 port {closed_port} does not answer: Connection refused",
            "start the server, or mend base_url",
        )
    ]


def test_a_model_server_that_is_up_is_fine(tmp_path: Path, listening: int) -> None:
    home = write_config(tmp_path, MODEL.format(port=listening))
    assert found(home, Level.FAIL) == []


ACCOUNT = """
[mail.accounts.home]
kind = "maildir"
address = "ada@example.org"
path = "{path}"
smtp = {{ host = "127.0.0.1", port = {port}, tls = "none" }}
"""


def test_a_mailbox_and_its_server_are_looked_at(tmp_path: Path, listening: int) -> None:
    (tmp_path / "mail" / "cur").mkdir(parents=True)
    text = ACCOUNT.format(path=tmp_path / "mail", port=listening)
    assert found(write_config(tmp_path / "home", text), Level.FAIL) == []


def test_a_mailbox_that_is_not_there_and_a_server_that_is_down_are_two_findings(
    tmp_path: Path, closed_port: int
) -> None:
    """R6."""
    text = ACCOUNT.format(path=tmp_path / "absent", port=closed_port)
    home = write_config(tmp_path / "home", text)
    assert [(check, text) for check, text, _ in found(home, Level.FAIL)] == [
        ("mail", f"mail.accounts.home: there is no {tmp_path / 'absent'}"),
        (
            "mail",
            f"mail.accounts.home: 127.0.0.1 port {closed_port} does not answer: Connection refused",
        ),
    ]


def test_what_the_owner_opened_is_listed_while_it_is_open(tmp_path: Path) -> None:
    """O13."""
    text = (
        '[outbox]\ndirect = ["mail_send"]\ntools = ["mial_send", "fs_*"]\nscripts = true\n'
        '[security]\ntrifecta = "allow"\n'
    )
    home = write_config(tmp_path, text)
    warned = [text for check, text, _ in found(home, Level.WARN) if check in ("tools", "openness")]
    assert warned == [
        "line 3: outbox.tools names mial_send, which matches no tool",
        "mail_send does not wait in the outbox: a yes in the run sends it",
        "the interlock is off: a stranger's text may steer a send",
        "programs may approve drafts (--yes without a terminal)",
    ]


def _draft(n: int, status: DraftStatus) -> Draft:
    return Draft(
        id=f"d{n}", status=status, kind=DraftKind.MESSAGE, tool="mail_send", definition_hash="h",
        summary="s", fingerprint=f"f{n}", args_before={}, args={}, session_id="s", agent="a",
        producer="run", call_id="c", root="/", taint=None, marks=[], delivery_key=f"k{n}",
        created_at=NOW, updated_at=NOW,
    )  # fmt: skip


def _cause(n: int, owner: str | None, for_process: str | None = None) -> Cause:
    return Cause(
        id=f"c{n}", kind=CauseKind.PROMPT,
        status=CauseStatus.QUEUED if owner is None else CauseStatus.CLAIMED,
        session_id=f"s{n}", producer="run", agent="a", payload={}, owner=owner,
        for_process=for_process, not_before=NOW, created_at=NOW,
    )  # fmt: skip


def test_what_waits_and_what_nobody_finishes_is_counted(tmp_path: Path) -> None:
    """R6: runs of living processes, here or elsewhere, are nobody's trouble."""
    home = make_home(tmp_path)
    here = current_process()
    gone = f"{here.host}/{here.boot}/{here.pid}/1"
    elsewhere = "another-machine/1/1/1"
    database = open_database(Place(home=home, database_path=home.database))
    with database.effect() as session:
        session.add_all(
            [
                _draft(1, DraftStatus.UNCERTAIN),
                _draft(2, DraftStatus.PENDING),
                _draft(3, DraftStatus.SENT),
                _cause(1, gone),
                _cause(2, str(here)),
                _cause(3, elsewhere),
                _cause(4, None, for_process=gone),
                _cause(5, None),
            ]
        )
    database.close()
    waiting = {
        each.finding.text: each.finding.level
        for each in examine_all(home, ENVIRON)
        if each.check == "waiting"
    }
    assert waiting == {
        "1 draft may or may not have been sent": Level.WARN,
        "1 draft waits for you ('steward outbox')": Level.OK,
        "1 cause waits to run, such as answers and rejections ('steward up' carries out what "
        "waits)": Level.OK,
        "2 runs belong to a process that has ended": Level.WARN,
    }


def test_every_check_has_its_own_name() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)


def test_the_command_exits_1_on_a_failure_and_prints_one_document(
    own_world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {frozenset(row) for row in rows} == {frozenset({"check", "level", "text", "advice"})}
    write_config(own_world / "steward", "zone = 1\n")
    assert main(["doctor"]) == 1
    assert "fail" in capsys.readouterr().out
