"""The error tree of the triggers floor.

TriggersError
└── Busy     the caller: another process holds the session's run; wait or stop that one
"""


class TriggersError(Exception):
    """Anything this floor refuses; its text says what, which, and what now."""


class Busy(TriggersError):  # noqa: N818 - read as a sentence where it is caught
    """Another cause of the same session is being run by a live process."""
