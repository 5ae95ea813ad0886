"""What the lower floors are handed of the configuration, and when a secret is read for it."""

import shutil
from pathlib import Path

import pytest

from bot.errors import ConfigProblem
from bot.home import Home
from bot.redaction import Redactor
from bot.secrets import Secrets
from bot.settings import Settings
from bot.settings_views import EMBEDDED_ASLEEP, api_key, gate_settings, mail_settings
from makers.settings import make_settings
from outbox.settings import GateSettings, OutboxSettings, SecuritySettings, Trifecta
from tools.mail.settings import AccountKind, Mail, MailAccount, SmtpServer, Tls

ENVIRON = {"HOME": "/home/ada", "PASSWORD": "correct horse"}
ACCOUNT = """
[contacts]
ada = "ada@example.org"
[mail.accounts.home]
kind = "maildir"
address = "me@example.org"
display_name = "Me"
aliases = ["i@example.org"]
path = "mail"
sent = "Sent"
"""


def secrets_of(settings: Settings) -> Secrets:
    """Secrets of these settings, on a machine without a keyring."""
    return Secrets(settings.home, settings.environ, Redactor(), keyring=lambda: None)


def handed(tmp_path: Path, text: str, embedded: SmtpServer | None = None) -> Mail:
    """What the mail tools get of this configuration."""
    settings = make_settings(tmp_path, text, ENVIRON)
    return mail_settings(settings, secrets_of(settings), embedded=embedded)


def test_the_defaults_of_both_floors_are_the_same(tmp_path: Path) -> None:
    assert gate_settings(make_settings(tmp_path)) == GateSettings()


def test_every_setting_of_the_gate_arrives(tmp_path: Path) -> None:
    text = """
    [outbox]
    tools = ["a"]
    direct = ["b"]
    strict = true
    scripts = true
    publish = ["c"]
    expire_days = 3
    [security]
    trifecta = "block"
    block_sends_after_private = true
    """
    assert gate_settings(make_settings(tmp_path, text)) == GateSettings(
        outbox=OutboxSettings(
            tools=("a",), direct=("b",), strict=True, scripts=True, publish=("c",), expire_days=3
        ),
        security=SecuritySettings(trifecta=Trifecta.BLOCK, block_sends_after_private=True),
    )


def test_an_account_arrives_whole_with_its_password(tmp_path: Path) -> None:
    smtp = 'smtp = { host = "mx.example.org", user = "me", password = "env:PASSWORD" }'
    mail = handed(tmp_path, ACCOUNT + smtp)
    assert mail.contacts == {"ada": "ada@example.org"}
    assert mail.accounts == (
        MailAccount(
            name="home",
            kind=AccountKind.MAILDIR,
            address="me@example.org",
            path=tmp_path / "mail",
            display_name="Me",
            aliases=("i@example.org",),
            sent=tmp_path / "mail" / "Sent",
            smtp=SmtpServer(
                host="mx.example.org",
                port=587,
                tls=Tls.STARTTLS,
                user="me",
                password="correct horse",
            ),
        ),
    )


def test_sent_is_found_under_either_name_and_beside_an_mbox(tmp_path: Path) -> None:
    for folder in ("cur", "new", "tmp"):
        (tmp_path / "mail" / folder).mkdir(parents=True)
    assert handed(tmp_path, ACCOUNT).accounts[0].sent == tmp_path / "mail" / ".Sent"
    shutil.rmtree(tmp_path / "mail")
    (tmp_path / "mail").write_text("From ada\n")
    assert handed(tmp_path, ACCOUNT).accounts[0].sent == tmp_path / "Sent"


def test_the_embedded_server_is_the_one_that_runs(tmp_path: Path) -> None:
    (tmp_path / "tour.json").write_text("{}")
    text = ACCOUNT + "smtp = { embedded = true }"
    server = SmtpServer(host="127.0.0.1", port=2525, tls=Tls.NONE)
    assert handed(tmp_path, text, server).accounts[0].smtp == server
    assert handed(tmp_path, text).accounts[0].smtp == EMBEDDED_ASLEEP


def test_a_password_that_is_not_there_is_said_when_mail_is_asked_for(tmp_path: Path) -> None:
    smtp = 'smtp = { host = "mx.example.org", user = "me", password = "env:ABSENT" }'
    with pytest.raises(ConfigProblem, match="there is no secret env:ABSENT"):
        handed(tmp_path, ACCOUNT + smtp)


def test_a_models_key_is_read_only_when_asked_for(tmp_path: Path) -> None:
    text = '[models.a]\nkind = "openai"\nmodel = "m"\napi_key = "env:PASSWORD"\n'
    settings = make_settings(tmp_path, text, ENVIRON)
    assert api_key(settings, secrets_of(settings), "a") == "correct horse"
    with pytest.raises(ConfigProblem, match=r"there is no \[models.b\]"):
        api_key(settings, secrets_of(settings), "b")


def test_the_home_of_the_settings_is_the_one_that_was_named(tmp_path: Path) -> None:
    assert make_settings(tmp_path).home == Home(root=tmp_path)
