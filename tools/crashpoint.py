"""Named places where a process may die, so that tests can kill it exactly there.

Why: the list of crash tests is read from the calls of `crash_point` in the code, so a new
write-ahead step without a test fails the suite. In production the hook is absent.
"""

from collections.abc import Callable

_hook: list[Callable[[str], None]] = []


def crash_point(name: str) -> None:
    """Tell the crash harness, if one is installed, that the process reached `name`."""
    for hook in _hook:
        hook(name)


def install_hook(hook: Callable[[str], None]) -> None:
    """Call `hook` at every crash point from now on; only the crash harness does this."""
    _hook[:] = [hook]
