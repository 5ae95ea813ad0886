"""The doctor: looks at everything, changes nothing, and says what to mend.

Why a registry: whoever adds a feature adds its checks here, and `doctor` never learns its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bot import doctor_machine, doctor_policy, doctor_reach, doctor_waiting
from bot.doctor_check import Check, Finding, Level, Subject
from bot.home import Home

CHECKS: tuple[Check, ...] = (
    *doctor_machine.CHECKS,
    *doctor_policy.CHECKS,
    *doctor_reach.CHECKS,
    *doctor_waiting.CHECKS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """One finding, under the name of its check."""

    check: str
    finding: Finding


def examine_all(
    home: Home, environ: Mapping[str, str], checks: tuple[Check, ...] = CHECKS
) -> list[Examined]:
    """Every finding, in the order of the checks; one check's trouble hides no other's."""
    subject = Subject(home, environ)
    try:
        return [
            Examined(check=check.name, finding=finding)
            for check in checks
            for finding in check.run(subject)
        ]
    finally:
        subject.close()


def is_healthy(examined: list[Examined]) -> bool:
    """True where nothing failed and nothing stayed unknown."""
    return all(each.finding.level in (Level.OK, Level.WARN) for each in examined)
