"""The settings: the one place that reads the configuration file and the environment.

Why one file and no layer for each project: a cloned repository must be able to configure nothing.
"""

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from bot.errors import ConfigProblem
from bot.home import Home, expand_user
from bot.settings_checks import Checker, Finding, is_timezone, not_built, secret_findings
from bot.settings_lines import Path as Place
from bot.settings_lines import key_lines
from bot.settings_problems import Explainer, Problem, problem_at
from bot.settings_schema import (
    DEFAULT_AGENT,
    AgentEntry,
    Configuration,
    ModelEntry,
    Outbox,
    Security,
)

CONFIG_BYTES = 1024 * 1024
INSTRUCTIONS_BYTES = 256 * 1024
EXAMPLE_MODEL = "# [models.local]"  # how `config init` begins its example
_AT_LINE = re.compile(r" \(at line (\d+), column \d+\)$|\(at end of document\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A checked configuration, with everything that depends on the machine settled.

    `agents` always holds the default agent; an agent's instructions are already read from its
    file. `owned_files` are the files a start reads: a workspace that holds one is refused.
    `not_built` names the keys in the file whose features this version does not have. `has_example`:
    the file still holds the example of a model that `config init` writes, as a comment.
    """

    home: Home
    environ: Mapping[str, str]
    config: Configuration
    timezone: ZoneInfo
    agents: Mapping[str, AgentEntry]
    database_path: Path
    owned_files: tuple[Path, ...]
    not_built: tuple[Problem, ...]
    lines: Mapping[Place, int]
    has_example: bool

    @property
    def models(self) -> Mapping[str, ModelEntry]:
        """The entries of [models]."""
        return self.config.models

    @property
    def outbox(self) -> Outbox:
        """The section [outbox]."""
        return self.config.outbox

    @property
    def security(self) -> Security:
        """The section [security]."""
        return self.config.security

    @property
    def contacts(self) -> Mapping[str, str]:
        """Names to mail addresses."""
        return self.config.contacts

    def model_name(self, agent: str) -> str | None:
        """The model of this agent: its own, else the only one there is, else None."""
        named = self.agents[agent].model
        if named is not None:
            return named
        return next(iter(self.models)) if len(self.models) == 1 else None

    def problem(self, path: Place, text: str) -> Problem:
        """Something about the value at this path of the file, with its line."""
        return problem_at(path, text, self.lines)

    def path(self, text: str) -> Path:
        """A path of the configuration: absolute, after ~, or relative to the home."""
        return self.home.root / expand_user(text, self.environ)


def load_settings(home: Path, environ: Mapping[str, str]) -> Settings:
    """The settings of this home; without a file they are the defaults, with no model.

    Raises: ConfigProblem with file, line and key of the first thing that is wrong. Nothing is
    created, opened or started.
    """
    settings, problems = examine(home, environ)
    if settings is None:
        raise ConfigProblem(_first(Home(root=home).config, problems))
    return settings


def examine(home: Path, environ: Mapping[str, str]) -> tuple[Settings | None, tuple[Problem, ...]]:
    """The settings, or everything that is wrong, in the order of the lines."""
    place = Home(root=home)
    text, problem = _read(place.config)
    if problem is not None:
        return None, (problem,)
    document, problem = _parse(text)
    if problem is not None:
        return None, (problem,)
    source = _Source(home=place, environ=environ, text=text, document=document)
    return source.settle()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    home: Home
    environ: Mapping[str, str]
    text: str
    document: Mapping[str, Any]

    def settle(self) -> tuple[Settings | None, tuple[Problem, ...]]:
        """Every check, section by section first, then across sections, then of files."""
        lines = key_lines(self.text)
        problems = [problem_at(path, text, lines) for path, text in secret_findings(self.document)]
        try:
            config = Configuration.model_validate(self.document)
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False)
            explainer = Explainer(root=Configuration, document=self.document, lines=lines)
            return None, _in_order([*explainer.problems(details), *problems])
        checker = Checker(config=config, home=self.home)
        problems += [problem_at(path, text, lines) for path, text in checker.findings()]
        agents, files, troubles = self._agents(config)
        problems += [problem_at(path, text, lines) for path, text in troubles]
        if problems:
            return None, _in_order(problems)
        missing = [problem_at(path, text, lines) for path, text in not_built(self.document)]
        settings = Settings(
            home=self.home,
            environ=self.environ,
            config=config,
            timezone=ZoneInfo(config.timezone or machine_timezone(self.environ)),
            agents=agents,
            database_path=self._database_path(config.database.url),
            owned_files=(self.home.config, *files),
            not_built=_in_order(missing),
            lines=lines,
            has_example=EXAMPLE_MODEL in self.text,
        )
        return settings, ()

    def _agents(
        self, config: Configuration
    ) -> tuple[dict[str, AgentEntry], list[Path], list[Finding]]:
        """Every agent with its instructions read, the files they came from, and what failed."""
        agents: dict[str, AgentEntry] = {DEFAULT_AGENT: AgentEntry()}
        files: list[Path] = []
        troubles: list[Finding] = []
        for name, agent in config.agents.items():
            agents[name] = agent
            if agent.instructions_file is None:
                continue
            file = self.home.root / expand_user(agent.instructions_file, self.environ)
            files.append(file)
            text, trouble = _instructions(file, self.home)
            agents[name] = agent.model_copy(update={"instructions": text})
            if trouble is not None:
                troubles.append((("agents", name, "instructions_file"), trouble))
        return agents, files, troubles

    def _database_path(self, url: str | None) -> Path:
        if url is None:
            return self.home.database
        return self.home.root / expand_user(url.removeprefix("sqlite:///"), self.environ)


def machine_timezone(environ: Mapping[str, str]) -> str:
    """The IANA name of this machine's zone: TZ, else where /etc/localtime leads, else UTC."""
    named = environ.get("TZ", "").removeprefix(":")
    if named and is_timezone(named):
        return named
    try:
        target = os.readlink("/etc/localtime")
    except OSError:
        return "UTC"
    name = target.partition("zoneinfo/")[2]
    return name if name and is_timezone(name) else "UTC"


def _read(path: Path) -> tuple[str, Problem | None]:
    try:
        status = path.stat()  # a pipe or a device would never end
        if not stat.S_ISREG(status.st_mode) or status.st_size > CONFIG_BYTES:
            text = f"is no regular file of at most {CONFIG_BYTES} bytes"
            return "", Problem(key="", text=text)
        return path.read_bytes().decode("utf-8-sig"), None
    except FileNotFoundError:
        return "", None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        return "", Problem(key="", text="is not UTF-8 text", line=line)
    except OSError as error:
        return "", Problem(key="", text=f"cannot be read: {error.strerror}")


def _parse(text: str) -> tuple[dict[str, Any], Problem | None]:
    try:
        return tomllib.loads(text), None
    except tomllib.TOMLDecodeError as error:
        found = _AT_LINE.search(str(error))
        line = int(found.group(1)) if found and found.group(1) else text.count("\n") + 1
        what = _AT_LINE.sub("", str(error)).strip()
        return {}, Problem(key="", text=f"is not valid TOML: {what}", line=line)
    except RecursionError:
        return {}, Problem(key="", text="is not valid TOML: nested too deeply")


def _instructions(path: Path, home: Home) -> tuple[str | None, str | None]:
    """The text of an instructions file, or what is wrong with it."""
    try:
        resolved = path.resolve()
        if resolved.is_relative_to(home.work.resolve()):
            return None, f"names {path}, a place that tools can write to; keep it outside work/"
        status = resolved.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > INSTRUCTIONS_BYTES:
            return None, f"names {path}, no regular file of at most {INSTRUCTIONS_BYTES} bytes"
        return resolved.read_text(encoding="utf-8"), None
    except OSError as error:
        return None, f"names {path}, which cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        return None, f"names {path}, which is not UTF-8 text"


def _in_order(problems: list[Problem]) -> tuple[Problem, ...]:
    """By line; of two problems with one key the later, which says more, stays."""
    by_key = {problem.key: problem for problem in problems}
    return tuple(sorted(by_key.values(), key=lambda each: (each.line or 0, each.key)))


def _first(path: Path, problems: tuple[Problem, ...]) -> str:
    more = len(problems) - 1
    rest = f" (and {more} more: 'steward config check' lists them)" if more else ""
    return f"{path}: {problems[0]}{rest}"
