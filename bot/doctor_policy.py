"""Checks of what the owner allows: what leaves the outbox unread, and names that mean nothing."""

from bot import startup
from bot.doctor_check import Check, Finding, Subject, counted, fail, ok, warn
from bot.packages import built_in_specs
from bot.settings_problems import Problem
from outbox.settings import Trifecta
from tools.errors import ManifestError


def check_tools(subject: Subject) -> list[Finding]:
    """Every package's manifest and handlers match, and every configured name matches a tool."""
    try:
        names = [spec.name for spec in built_in_specs()]
    except ManifestError as error:
        return [fail(str(error), "install steward again")]
    if subject.settings is None:
        return [ok(counted(len(names), "tool"))]
    dead = startup.dead_routes(subject.settings, names).values()
    mistyped = startup.mistyped_tools(subject.settings, names)
    if not dead and not mistyped:
        return [ok(f"{counted(len(names), 'tool')}, and every routed name matches one")]
    # Under strict = true the configuration itself fails for the dead ones.
    said = mistyped if subject.settings.outbox.strict else [*dead, *mistyped]
    return [_as_warning(problem) for problem in said]


def _as_warning(problem: Problem) -> Finding:
    what, _, advice = str(problem).rpartition("; ")
    return warn(what, advice)


def check_openness(subject: Subject) -> list[Finding]:
    """What the owner lets out of the outbox, or past the interlock, is listed while it is so."""
    if subject.settings is None:
        return []
    outbox, security = subject.settings.outbox, subject.settings.security
    found = [
        warn(
            f"{name} does not wait in the outbox: a yes in the run sends it",
            "take it out of [outbox] direct to review it",
        )
        for name in outbox.direct
    ]
    if security.trifecta is Trifecta.ALLOW:
        advice = 'set [security] trifecta = "stage"'
        found.append(warn("the interlock is off: a stranger's text may steer a send", advice))
    if outbox.scripts:
        advice = "set [outbox] scripts = false unless a program of yours needs it"
        found.append(warn("programs may approve drafts (--yes without a terminal)", advice))
    return found or [ok("nothing leaves without the outbox")]


CHECKS = (
    Check(name="tools", run=check_tools),
    Check(name="openness", run=check_openness),
)
