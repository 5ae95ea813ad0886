"""What was already read of mailboxes, kept in memory by the identity of the files."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

from tools.mail.heads import Head

MAX_HEADS = 100_000  # about 150 MB when full; a mailbox of 50,000 stays whole
MAX_SCANS = 16

Value = TypeVar("Value")
Span = tuple[int, int, str]  # first byte of the message, first byte after it, its "From " line


class _Bounded(Generic[Value]):
    """A map of limited size, safe for threads; the least recently used entry goes first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> Value | None:
        """What was kept for the key, None if nothing was."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def put(self, key: Hashable, value: Value) -> None:
        """Keep the value, and let go of the oldest where there is no room."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            while len(self._entries) > self._limit:
                self._entries.popitem(last=False)


class ReadCache:
    """Heads of messages, and where the messages of an mbox begin."""

    def __init__(self, *, max_heads: int = MAX_HEADS) -> None:
        self.heads: _Bounded[Head] = _Bounded(max_heads)
        self.scans: _Bounded[tuple[Span, ...]] = _Bounded(MAX_SCANS)
