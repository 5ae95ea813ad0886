"""What a start refuses and what it only warns of, judged on loaded settings.

Why one place: a run, `config check` and the doctor must never disagree on what would start.
"""

import os
from collections.abc import Iterable, Iterator, Mapping

from bot.settings import EXAMPLE_MODEL, Settings
from bot.settings_problems import Problem
from bot.settings_schema import DEFAULT_AGENT, MailAccount, MailKind, ModelKind
from outbox.settings import BUILTIN_SENDERS
from tools.registry import unmatched

BUILT_MODELS = frozenset({ModelKind.OPENAI, ModelKind.REHEARSAL})
_GUARDS = ("rules", "hooks", "security.leaks")
_ROUTES = ("tools", "direct", "publish")


def refusals(settings: Settings, tools: Iterable[str]) -> list[Problem]:
    """Everything for which a start with these settings ends before it begins.

    `tools` are the names of all tools. Secrets and the content of the database are not looked at.
    """
    tools = tuple(tools)
    unbuilt = (unbuilt_model(settings, name) for name in used_models(settings))
    place = unusable_place(settings)
    return [
        *broken_guards(settings, tools),
        *(dead_routes(settings, tools).values() if settings.outbox.strict else ()),
        *(problem for problem in unbuilt if problem is not None),
        *([place] if place is not None else []),
    ]


def warnings(settings: Settings, tools: Iterable[str]) -> list[Problem]:
    """Everything in these settings that does not do what its owner may think it does."""
    tools = tuple(tools)
    modelless = (without_model(settings, agent) for agent in settings.agents)
    found = [
        *(() if settings.outbox.strict else dead_routes(settings, tools).values()),
        *mistyped_tools(settings, tools),
        *(problem for problem in modelless if problem is not None),
        *_absent_mailboxes(settings),
    ]
    return list(dict.fromkeys(found))  # no model at all is said once, not for each agent


def without_effect(settings: Settings) -> list[Problem]:
    """What is not built yet and keeps nothing from starting."""
    return [
        problem
        for problem in settings.not_built
        if not _is_guard(problem) and problem.key not in _kinds_in_use(settings)
    ]


def broken_guards(settings: Settings, tools: Iterable[str]) -> list[Problem]:
    """Guards the owner relies on that would guard nothing: what can refuse never fails open."""
    known = (*tools, *BUILTIN_SENDERS)
    return [
        *_unbuilt_guards(settings),
        *(
            settings.problem(
                ("tools", "disabled"),
                f"names {name}, which matches no tool, so nothing is kept away by it; mend the name, "
                "or leave it out",
            )
            for name in unmatched(settings.config.tools.disabled, known)
        ),
        *(
            settings.problem(
                ("agents", agent, "tools"),
                f"matches no tool at all ({', '.join(entry.tools)}); mend the names, or write [] for "
                "an agent without tools",
            )
            for agent, entry in settings.agents.items()
            if entry.tools and unmatched(entry.tools, known) == tuple(entry.tools)
        ),
    ]


def mistyped_tools(settings: Settings, tools: Iterable[str]) -> list[Problem]:
    """The names and patterns of an agent that match no tool, where others of its do."""
    known = (*tools, *BUILTIN_SENDERS)
    found = {name: unmatched(entry.tools, known) for name, entry in settings.agents.items()}
    return [
        settings.problem(
            ("agents", agent, "tools"),
            f"names {name}, which matches no tool; mend the name, or leave it out",
        )
        for agent, names in found.items()
        if len(names) < len(settings.agents[agent].tools)
        for name in names
    ]


def _unbuilt_guards(settings: Settings) -> list[Problem]:
    return [
        Problem(
            key=problem.key,
            text=f"{problem.text}, and nothing runs while you rely on it; take it out to go on "
            "without",
            line=problem.line,
        )
        for problem in settings.not_built
        if _is_guard(problem)
    ]


def dead_routes(settings: Settings, tools: Iterable[str]) -> Mapping[str, Problem]:
    """The names and patterns under [outbox] that match no tool, of this version or of a later one."""
    known = [*tools, *BUILTIN_SENDERS]
    rest = ", and strict = true" if settings.outbox.strict else ""
    return {
        name: settings.problem(
            ("outbox", key),
            f"names {name}, which matches no tool{rest}; mend the name, or leave it out",
        )
        for key in _ROUTES
        for name in unmatched(getattr(settings.outbox, key), known)
    }


def without_model(settings: Settings, agent: str) -> Problem | None:
    """Why a run of this agent has no model unless one is named with --model; None where it has."""
    if settings.model_name(agent) is not None:
        return None
    if settings.models:
        several = ", ".join(settings.models)
        text = f"names no model, and there are several ({several}); name one, or each time --model"
        return settings.problem(("agents", agent), text)
    advice = f"{how_to_have_a_model(settings)}, or look round first with 'steward try'"
    text = f"no model is configured, and 'steward run' and 'steward chat' need one; {advice}"
    return Problem(key="", text=text)


def how_to_have_a_model(settings: Settings) -> str:
    """What the owner does next to have a model, as the configuration stands."""
    if not settings.home.config.exists():
        return "run 'steward config init'"
    if settings.has_example:
        return f"take the # away from {EXAMPLE_MODEL.removeprefix('# ')} and the lines below it"
    return "add a [models.NAME] table"


def unbuilt_model(settings: Settings, name: str) -> Problem | None:
    """Why nothing can speak to this entry of [models] yet; None where it can."""
    kind = settings.models[name].kind
    if kind in BUILT_MODELS:
        return None
    text = (
        f'has kind = "{kind}", which is not built yet; use a server that speaks chat completions '
        '(kind = "openai")'
    )
    return settings.problem(("models", name), text)


def used_models(settings: Settings) -> list[str]:
    """The entries of [models] that some agent runs with, in order."""
    named = (settings.model_name(agent) for agent in settings.agents)
    return list(dict.fromkeys(name for name in named if name is not None))


def has_model(settings: Settings) -> bool:
    """True where `steward run` without further words knows whom to ask."""
    return settings.model_name(DEFAULT_AGENT) is not None


def built_accounts(settings: Settings) -> dict[str, MailAccount]:
    """The mail accounts of a kind that this version can read."""
    accounts = settings.config.mail.accounts.items()
    return {name: entry for name, entry in accounts if entry.kind is MailKind.MAILDIR}


def unusable_place(settings: Settings) -> Problem | None:
    """Why the database cannot be where [database] wants it; None where nothing speaks against it."""
    path, home = settings.database_path, settings.home
    if path.exists() or path.parent in home.folders:
        return None
    if not path.parent.is_dir():
        text = f"leads to {path}, and there is no folder {path.parent}; make it, or name another"
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        text = f"leads to {path}, in a folder you cannot write; name another"
    else:
        return None
    return settings.problem(("database", "url"), text)


def _absent_mailboxes(settings: Settings) -> Iterator[Problem]:
    for name, account in built_accounts(settings).items():
        assert account.path is not None, "a maildir without a path does not load"
        path = settings.path(account.path)
        if not path.exists():
            text = f"leads to {path}, which does not exist, so no mail can be read from it"
            yield settings.problem(("mail", "accounts", name, "path"), text)


def _is_guard(problem: Problem) -> bool:
    return problem.key.startswith(_GUARDS)


def _kinds_in_use(settings: Settings) -> set[str]:
    """The keys of kinds that a refusal already speaks of."""
    refused = (unbuilt_model(settings, name) for name in used_models(settings))
    return {f"{problem.key}.kind" for problem in refused if problem is not None}
