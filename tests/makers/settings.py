"""Makers for configurations: a home with this file, and the settings it loads to."""

from collections.abc import Mapping
from pathlib import Path

from bot.errors import ConfigProblem
from bot.home import Home
from bot.settings import Settings, load_settings

ENVIRON: Mapping[str, str] = {"HOME": "/home/ada", "TZ": "Europe/Oslo"}


def write_config(home: Path, text: str) -> Home:
    """A home that holds this configuration."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "config.toml").write_text(text, encoding="utf-8")
    return Home(root=home)


def make_settings(home: Path, text: str = "", environ: Mapping[str, str] = ENVIRON) -> Settings:
    """The settings of a home with this configuration."""
    return load_settings(write_config(home, text).root, environ)


def refusal(home: Path, text: str, environ: Mapping[str, str] = ENVIRON) -> str:
    """What the owner is told about this configuration, without the file's name."""
    try:
        make_settings(home, text, environ)
    except ConfigProblem as problem:
        return str(problem).removeprefix(f"{home / 'config.toml'}: ")
    raise AssertionError("the configuration was accepted")
