"""The configuration as a person asks for it: shown, begun, and its secrets stored."""

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any

from pydantic import BaseModel

from bot.errors import ConfigProblem
from bot.home import Home, write_private
from bot.logs import REDACTOR
from bot.secrets import Secrets, Stored
from bot.settings import EXAMPLE_MODEL, Settings, machine_timezone
from bot.settings_types import SecretReference

_STARTER = """\
# Everything steward is told stands here. 'steward config check' reads it as a start would.
timezone = "{timezone}"

{example_model}
# kind = "openai"                          # any server that speaks chat completions
# base_url = "http://127.0.0.1:8080/v1"
# model = "qwen3-14b"
# context_window = 32768

# [mail.accounts.home]
# kind = "maildir"                         # a Maildir, or an mbox file
# path = "~/Mail"
# sent = "Sent"
# address = "ada@example.org"
# smtp = {{ host = "smtp.example.org", user = "ada", password = "keyring:mail.home" }}
"""


def show_configuration(settings: Settings) -> dict[str, Any]:
    """Every section with its values, defaults included; a secret is shown as its reference."""
    shown = _plain(settings.config)
    assert isinstance(shown, dict)
    return {
        **shown,
        "timezone": settings.timezone.key,
        "database": {"url": f"sqlite:///{settings.database_path}"},
    }


def init_configuration(home: Home, environ: Mapping[str, str]) -> None:
    """A configuration to begin with stands in the home, with this machine's time zone.

    Raises: ConfigProblem where there is one already, or it cannot be written.
    """
    home.prepare()
    if home.config.exists():
        raise ConfigProblem(f"{home.config} exists; edit it, 'steward config check' reads it")
    text = _STARTER.format(timezone=machine_timezone(environ), example_model=EXAMPLE_MODEL)
    try:
        write_private(home.config, text.encode())
    except OSError as error:
        raise ConfigProblem(f"{home.config} cannot be written: {error.strerror}") from error


def store_secret(home: Home, environ: Mapping[str, str], name: str, value: str) -> Stored:
    """`keyring:NAME` resolves to the value from now on; gives where it was put.

    Raises: ConfigProblem.
    """
    home.prepare()
    return Secrets(home, environ, REDACTOR).store(name, value)


def _plain(value: Any) -> Any:
    """JSON data of a configuration."""
    match value:
        case BaseModel():
            return {name: _plain(getattr(value, name)) for name in type(value).model_fields}
        case Mapping():
            return {str(name): _plain(part) for name, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
        case SecretReference():
            return str(value)
        case StrEnum():
            return value.value
        case Decimal():
            return float(value)
        case _:
            return value
