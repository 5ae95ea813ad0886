"""One tour at a time in a home: the second would take the mailbox away from under the first."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from bot.errors import ConfigProblem
from bot.home import PRIVATE_FILE, PRIVATE_FOLDER, Home
from bot.tour.home import read_marker


@contextmanager
def playing_in(home: Home) -> Iterator[None]:
    """Inside, no other tour plays in this home; the lock ends with the process, however it ends.

    Raises: ConfigProblem when another tour plays there, when it is a home of the owner's own (then
    nothing was made), or when it cannot be written.
    """
    read_marker(home)
    try:
        home.root.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        held = os.open(home.root / "tour.lock", flags, PRIVATE_FILE)
    except OSError as error:
        raise ConfigProblem(
            f"cannot make the tour's home {home.root}: {error.strerror or error}; "
            "set STEWARD_HOME to a folder that can be written"
        ) from error
    try:
        _lock(held, home)
        yield
    finally:
        os.close(held)


def _lock(held: int, home: Home) -> None:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConfigProblem(
            f"a tour is playing in {home.root}; wait for it, or set STEWARD_HOME to another folder"
        ) from None
