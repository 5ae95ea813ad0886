"""Turns any failure of a step into what this floor says about it; nothing is swallowed.

Why: the database belongs to the floor above, which has its own errors, and whoever asked for the
step needs to hear what is true of it ("nothing was sent"), not which part gave way.
"""

from collections.abc import Callable
from types import TracebackType

from outbox.errors import OutboxError


class Saying:
    """A context in which an error becomes `tell(error)`, raised from it.

    Errors of this floor pass unchanged, and so do cancellation and exit.
    """

    def __init__(self, tell: Callable[[Exception], OutboxError]) -> None:
        self._tell = tell

    def __enter__(self) -> None:
        """Nothing happens before an error does."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raises: what `tell` makes of an error."""
        if isinstance(error, Exception) and not isinstance(error, OutboxError):
            raise self._tell(error) from error
