"""R4: the log, and that no secret reaches it; what a bug leaves behind."""

import base64
import json
import logging
import multiprocessing
import stat
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.logs import KEPT, LARGEST_BYTES, REDACTOR, redact, report_bug, start_logging
from bot.redaction import REPLACEMENT, Redactor, has_token_shape
from makers.house import make_home

SECRET = 'p"ss/w\\rd wïth+everything='

TOKENS = {
    "openai": "sk-proj-" + "aB3" * 16,
    "anthropic": "sk-ant-api03-" + "aB3_" * 20,
    "github": "ghp_" + "a1" * 18,
    "github-fine": "github_pat_" + "a1_" * 20,
    "slack-bot": "xoxb-123456789012-abcDEF123456",
    "slack-app": "xapp-1-A0123456789-123456789012-" + "ab" * 20,
    "aws": "AKIA" + "A1B2C3D4E5F6G7H8",
    "google": "AIza" + "a1B2_" * 7,
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3.SflKxwRJSMeKKF2QT4",
    "bearer": "0123456789abcdef0123",
    "url": "ada:hunter2",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4\nDEK-Info: AES-128\n\nMIIEow==\n"
    "-----END RSA PRIVATE KEY-----",
}
WRAPPED = {
    "bearer": "Authorization: Bearer {}",
    "url": "fetched https://{}@example.org/x",
}


@pytest.mark.parametrize("kind", TOKENS)
def test_a_known_token_shape_is_taken_out(kind: str) -> None:
    """R4."""
    token = TOKENS[kind]
    text = WRAPPED.get(kind, "it is {}, they said").format(token)
    cleaned, count = Redactor().redact(text)
    assert count == 1
    assert token not in cleaned
    assert cleaned == text.replace(token, REPLACEMENT)
    assert has_token_shape(text)


@pytest.mark.parametrize(
    "text",
    [
        "the desk-lamp-in-the-corner-of-the-study",
        "task-force meeting at 10:30@noon",
        "https://example.org:8080/a@b",
        "-----BEGIN CERTIFICATE-----",
        "mailto:ada@example.org",
        "sk-short",
    ],
    ids=str,
)
def test_ordinary_text_passes_unchanged(text: str) -> None:
    assert Redactor().redact(text) == (text, 0)


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        quote(SECRET, safe=""),
        repr(SECRET),
        base64.b64encode(SECRET.encode()).decode(),
    ],
    ids=["raw", "json", "json-unicode", "url", "repr", "base64"],
)
def test_a_loaded_secret_is_taken_out_however_it_is_quoted(form: str) -> None:
    """R4."""
    redactor = Redactor()
    redactor.register(SECRET)
    cleaned, count = redactor.redact(f"before {form} after")
    assert count == 1
    assert SECRET not in cleaned
    assert "everything" not in cleaned


def test_a_short_secret_is_taken_out_only_where_it_stands_alone() -> None:
    redactor = Redactor()
    redactor.register("ada")
    assert redactor.redact("ada wrote to adam") == (f"{REPLACEMENT} wrote to adam", 1)


def test_a_secret_inside_a_longer_one_leaves_no_rest() -> None:
    redactor = Redactor()
    redactor.register("battery")
    redactor.register("battery-staple")
    assert redactor.redact("battery-staple") == (REPLACEMENT, 1)


@given(st.lists(st.text(min_size=6, max_size=30), min_size=1, max_size=4), st.text(max_size=50))
def test_no_loaded_secret_ever_passes(secrets: list[str], around: str) -> None:
    """R4."""
    redactor = Redactor()
    for secret in secrets:
        redactor.register(secret)
    cleaned, _ = redactor.redact(around.join(secrets))
    assert not [secret for secret in secrets if secret in cleaned.replace(REPLACEMENT, "\n")]


def test_hostile_text_costs_no_more_than_its_length() -> None:
    for piece in ("-----BEGIN PRIVATE KEY-----", "sk-", "eyJa.", "://a:", "Bearer ", "xox"):
        Redactor().redact(piece * (2_000_000 // len(piece)))


def _log(home: Path) -> str:
    return (home / "logs" / "steward.log").read_text(encoding="utf-8")


def test_a_line_carries_its_action_and_fields_and_no_secret(tmp_path: Path) -> None:
    """R4: also in the trace of an exception and in its cause."""
    home = make_home(tmp_path)
    path = start_logging(home)
    REDACTOR.register("hunter2hunter2")
    logger = logging.getLogger("bot.example")
    try:
        try:
            raise ValueError("password hunter2hunter2 was wrong")
        except ValueError as error:
            raise RuntimeError("login with hunter2hunter2 failed") from error
    except RuntimeError:
        logger.exception(
            "cannot log in",
            extra={"action": "login", "account": "work", "tried": "hunter2hunter2"},
        )
    text = _log(home.root)
    assert "ERROR bot.example [login] cannot log in account='work'" in text
    assert "RuntimeError: login with [secret removed] failed" in text
    assert "hunter2" not in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_line_break_in_a_message_forges_no_second_line(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    start_logging(home)
    logging.getLogger("bot.example").warning("subject: %s", "x\n2026 INFO all is well")
    assert len(_log(home.root).splitlines()) == 1


def test_a_bug_is_one_line_with_an_id_and_its_trace_is_in_the_log(tmp_path: Path) -> None:
    """R4."""
    home = make_home(tmp_path)
    path = start_logging(home)
    token = TOKENS["openai"]
    try:
        raise KeyError(token)
    except KeyError as bug:
        told = report_bug(bug)
    error_id = told.partition("(error ")[2][:8]
    assert told == (
        f"unexpected KeyError: '{REPLACEMENT}' (error {error_id}; its trace is in {path})"
    )
    assert f"unexpected error {error_id}" in _log(home.root)
    assert "Traceback (most recent call last)" in _log(home.root)
    assert token not in _log(home.root)


def test_a_bug_before_anything_was_opened_is_kept_in_the_default_home(
    own_world: Path,
) -> None:
    told = report_bug(ZeroDivisionError("division by zero"))
    assert str(own_world / "steward" / "logs" / "steward.log") in told
    assert "ZeroDivisionError" in _log(own_world / "steward")


def test_a_log_that_cannot_be_written_disturbs_nothing(tmp_path: Path) -> None:
    """R3."""
    home = make_home(tmp_path)
    path = start_logging(home)
    path.mkdir()
    logging.getLogger("bot.example").error("nobody can read this")
    assert "could not be written" in report_bug(ValueError("x"))


def test_what_grows_too_large_is_set_aside_and_only_so_much_is_kept(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    path = start_logging(home)
    logger = logging.getLogger("bot.example")
    for _ in range((KEPT + 3) * 3):
        logger.info("x" * (LARGEST_BYTES // 2))
    pieces = sorted(path.parent.iterdir())
    assert [piece.name for piece in pieces] == [
        "steward.log",
        *(f"steward.log.{n}" for n in range(1, KEPT + 1)),
    ]
    assert {stat.S_IMODE(piece.stat().st_mode) for piece in pieces} == {0o600}


def _write_lines(root: str, number: int) -> None:
    start_logging(make_home(Path(root)))
    for n in range(40):
        logging.getLogger("bot.example").info("%s/%s %s", number, n, "x" * (LARGEST_BYTES // 60))


def test_two_processes_lose_no_line_when_the_log_is_set_aside(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=_write_lines, args=(str(tmp_path), n)) for n in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0, 0]
    text = "".join(
        piece.read_text(encoding="utf-8") for piece in (tmp_path / "home" / "logs").iterdir()
    )
    missing = [f"{n}/{line} " for n in range(2) for line in range(40) if f"{n}/{line} " not in text]
    assert missing == []


def test_the_gates_redaction_knows_what_was_loaded() -> None:
    REDACTOR.register("a very private passphrase")
    assert redact("say a very private passphrase") == (f"say {REPLACEMENT}", 1)
