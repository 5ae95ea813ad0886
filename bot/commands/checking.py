"""The configuration checked as a start would: what it refuses, and what it would only warn of."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bot import startup
from bot.errors import ConfigProblem, DatabaseProblem
from bot.home import Home
from bot.logs import REDACTOR
from bot.packages import built_in_specs
from bot.schema import refuse_unless_current
from bot.secrets import Secrets
from bot.settings import Settings, examine
from bot.settings_problems import Problem
from bot.settings_references import references


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What `config check` found. Empty `problems`: a start would go through.

    `has_model`: and a run without further words would have a model.
    """

    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...] = ()
    not_built: tuple[Problem, ...] = ()
    has_model: bool = False


def check_configuration(home: Home, environ: Mapping[str, str]) -> Checked:
    """Everything for which a start would end, and whatever would not work after it.

    Nothing is created or started. Raises: ManifestError where this installation is damaged.
    """
    settings, problems = examine(home.root, environ)
    if settings is None:
        return Checked(problems=problems)
    tools = [spec.name for spec in built_in_specs()]
    missing = dict(_missing_secrets(settings))
    needed = {f"models.{name}.api_key" for name in startup.used_models(settings)}
    return Checked(
        problems=(
            *startup.refusals(settings, tools),
            *(problem for key, problem in missing.items() if key in needed),
            *_unusable_database(settings),
        ),
        warnings=(
            *startup.warnings(settings, tools),
            *(problem for key, problem in missing.items() if key not in needed),
        ),
        not_built=tuple(startup.without_effect(settings)),
        has_model=startup.has_model(settings),
    )


def _missing_secrets(settings: Settings) -> Iterator[tuple[str, Problem]]:
    secrets = Secrets(settings.home, settings.environ, REDACTOR)
    for key, reference in references(settings.config):
        try:
            secrets.resolve(reference)
        except ConfigProblem as problem:
            yield key, Problem(key=key, text=f"cannot be resolved: {problem}")


def _unusable_database(settings: Settings) -> Iterator[Problem]:
    if not settings.database_path.exists():
        return  # a start makes it
    try:
        refuse_unless_current(settings.database_path)
    except DatabaseProblem as problem:
        yield Problem(key="", text=str(problem))
