"""The error tree of the bot floor, grouped by who must act.

BotError
├── UsageProblem      the caller: the words of a command do not fit; exit code 2
├── ConfigProblem     the owner: the configuration, a secret or the home needs mending
├── DatabaseProblem   the owner: the database is newer, older, locked, full or damaged
└── NotFound          the owner: no agent, model or work directory of that name
"""

from outbox.errors import StoreFailed


class BotError(Exception):
    """Anything this floor refuses; its text says what, which, and what now, in one line."""


class UsageProblem(BotError):  # noqa: N818 - read as a sentence where it is caught
    """The words of a command do not fit together."""


class ConfigProblem(BotError):  # noqa: N818
    """Configuration, secrets or home are not usable; nothing was started."""


class DatabaseProblem(BotError, StoreFailed):  # noqa: N818
    """The database cannot be used; nothing of the transaction, or of the start, happened."""


class NotFound(BotError):  # noqa: N818
    """No agent, model or work directory of that name."""
