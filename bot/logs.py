"""The log, and what is taken out of every line before it is written.

Why redaction stands in the formatter: it sees the finished line, the trace of an exception
included, whoever wrote it.
"""

import fcntl
import logging
import os
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import WatchedFileHandler
from pathlib import Path

from bot.errors import BotError
from bot.home import PRIVATE_FILE, Home, find_home
from bot.redaction import Redactor

LOG_NAME = "steward.log"
LARGEST_BYTES = 2 * 1024 * 1024
KEPT = 5
REDACTOR = Redactor()  # one a process: a secret that any part loaded is kept out of every line

_logger = logging.getLogger("bot.logs")
_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "action", "taskName"}


def redact(text: str) -> tuple[str, int]:
    """The text without any loaded secret or known token shape, and how many were taken out."""
    return REDACTOR.redact(text)


class LineFormatter(logging.Formatter):
    """`TIME LEVEL logger [action] sentence key=value`, redacted, with the trace below."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as text."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        action = getattr(record, "action", "-")
        fields = "".join(
            f" {name}={value!r}" for name, value in vars(record).items() if name not in _PLAIN
        )
        sentence = record.getMessage().replace("\n", "\\n")
        line = f"{at} {record.levelname} {record.name} [{action}] {sentence}{fields}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return redact(line)[0]


class SharedLog(WatchedFileHandler):
    """A file of mode 0600 that several processes append to, set aside at 2 MiB, five pieces kept.

    The one that finds it too large renames it under a lock; the others notice the new file.
    A log that cannot be written never disturbs the work: the line is dropped.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(path, encoding="utf-8", delay=True, errors="backslashreplace")

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        descriptor = os.open(self.path, flags, PRIVATE_FILE)
        return os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace")

    def emit(self, record: logging.LogRecord) -> None:
        """Append one line; a log that another process sets aside in this instant costs none."""
        with suppress(OSError):
            self._set_aside_if_large()
        try:
            super().emit(record)
        except OSError:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Drop the line."""

    def _set_aside_if_large(self) -> None:
        try:
            if self.path.stat().st_size < LARGEST_BYTES:
                return
        except FileNotFoundError:
            return
        with self.path.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            if not os.path.samestat(os.fstat(held.fileno()), self.path.stat()):
                return  # another process was faster
            for n in range(KEPT - 1, 0, -1):
                older = self.path.with_name(f"{LOG_NAME}.{n}")
                if older.exists():
                    older.replace(self.path.with_name(f"{LOG_NAME}.{n + 1}"))
            self.path.replace(self.path.with_name(f"{LOG_NAME}.1"))


def start_logging(home: Home, *, level: int = logging.INFO) -> Path:
    """Everything logged from now on goes to the home's log, and nowhere else.

    Gives the log's path. Calling it again moves the log to that home.
    """
    root = logging.getLogger()
    for handler in list(root.handlers):
        if isinstance(handler, SharedLog):
            root.removeHandler(handler)
            handler.close()
    handler = SharedLog(home.logs / LOG_NAME)
    handler.setFormatter(LineFormatter())
    root.addHandler(handler)
    root.setLevel(level)
    for chatty in ("httpx", "httpcore", "alembic"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    return handler.path


def report_bug(bug: BaseException) -> str:
    """Log an unexpected error with its trace; gives one line that names it by an error id."""
    error_id = secrets.token_hex(4)
    what = redact(f"{type(bug).__name__}: {bug}".splitlines()[0])[0]
    path = _log_path()
    if path is None:
        return f"unexpected {what} (error {error_id}; no home, so no trace was kept)"
    before = _size(path)
    trace = (type(bug), bug, bug.__traceback__)
    _logger.error("unexpected error %s", error_id, exc_info=trace, extra={"action": "bug"})
    if _size(path) == before:
        return f"unexpected {what} (error {error_id}; {path} could not be written)"
    return f"unexpected {what} (error {error_id}; its trace is in {path})"


def _log_path() -> Path | None:
    """The log that is being written; the default home's if nobody has started one yet."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, SharedLog):
            return handler.path
    try:
        home = find_home(os.environ)
        home.prepare()
    except BotError:
        return None
    return start_logging(home)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
