"""Heads already read, kept in memory by the identity of the file they came from."""

from collections import OrderedDict
from threading import Lock

from tools.mail.heads import Head

MAX_HEADS = 100_000  # about 150 MB when full; a mailbox of 50,000 stays whole

FileKey = tuple[str | int, ...]


class HeadCache:
    """A bounded map, safe for threads; the least recently used heads go first."""

    def __init__(self, limit: int = MAX_HEADS) -> None:
        self._limit = limit
        self._heads: OrderedDict[FileKey, Head | None] = OrderedDict()
        self._lock = Lock()

    def get(self, key: FileKey) -> tuple[bool, Head | None]:
        """Whether the file was read before, and its head (None: it could not be read)."""
        with self._lock:
            if key not in self._heads:
                return False, None
            self._heads.move_to_end(key)
            return True, self._heads[key]

    def put(self, key: FileKey, head: Head | None) -> None:
        """Remember the head of that file."""
        with self._lock:
            self._heads[key] = head
            self._heads.move_to_end(key)
            while len(self._heads) > self._limit:
                self._heads.popitem(last=False)
