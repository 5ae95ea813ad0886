"""Checks of what the owner allows: what leaves the outbox unread, and names that mean nothing."""

from collections.abc import Sequence

from bot.doctor_check import Check, Finding, Subject, fail, ok, warn
from bot.packages import built_in_specs
from outbox.settings import BUILTIN_SENDERS, Trifecta
from tools.errors import ManifestError
from tools.registry import unmatched


def check_tools(subject: Subject) -> list[Finding]:
    """Every package's manifest and handlers match, and every configured name matches a tool."""
    try:
        names = [spec.name for spec in built_in_specs()]
    except ManifestError as error:
        return [fail(str(error), "install steward again")]
    if subject.settings is None:
        return [ok(f"{len(names)} tools")]
    outbox = subject.settings.outbox
    found = [
        *_matching_nothing("outbox.tools", outbox.tools, [*names, *BUILTIN_SENDERS]),
        *_matching_nothing("outbox.direct", outbox.direct, [*names, *BUILTIN_SENDERS]),
        *_matching_nothing("outbox.publish", outbox.publish, [*names, *BUILTIN_SENDERS]),
    ]
    return found or [ok(f"{len(names)} tools, and every routed name matches one")]


def _matching_nothing(key: str, patterns: Sequence[str], names: Sequence[str]) -> list[Finding]:
    return [
        warn(f"{key} names {pattern!r}, which matches no tool", "mend the name, or leave it out")
        for pattern in unmatched(patterns, names)
    ]


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
