"""The error tree of the outbox floor, grouped by who must act.

OutboxError
├── NotFound         the owner: no draft or question by that id
├── Ambiguous        the owner: the id fits several
├── Stale            the owner: it changed, or somebody else was faster; read it again
├── NotAllowed       the owner: this state (or this door) does not permit the act
├── StagingFailed    the model: nothing was staged and nothing was sent
├── StoreFailed      the owner: the database took nothing of a transaction (locked, full, damaged)
├── SenderMissing    the owner: the tool of a draft, its account or server is gone; it stays pending
├── NotRecorded      the owner: a delivery ended, and the database could not be told how
└── LeaseLost        nobody: this process no longer holds the run; it stops and writes nothing
"""


class OutboxError(Exception):
    """Anything this floor refuses; its text says what, which, and what now."""


class NotFound(OutboxError):  # noqa: N818 - read as a sentence where it is caught
    """No item by that id."""


class Ambiguous(OutboxError):  # noqa: N818
    """The id is the head or tail of several items."""


class Stale(OutboxError):  # noqa: N818
    """The item changed after it was read, or another surface decided first."""


class NotAllowed(OutboxError):  # noqa: N818
    """The item's state, or the way it was asked for, does not permit this."""


class StagingFailed(OutboxError):  # noqa: N818
    """A call that must be staged could not be; nothing was executed."""


class StoreFailed(OutboxError):  # noqa: N818
    """The database could not take a transaction; nothing of it happened."""


class SenderMissing(OutboxError):  # noqa: N818
    """The tool of a draft cannot be reached now: it is gone, or its account or server is."""


class NotRecorded(OutboxError):  # noqa: N818
    """What became of a delivery is known here and not in the database; its text says it."""


class LeaseLost(OutboxError):  # noqa: N818
    """The run's lease was taken or not renewed in time; the holder must stop."""
