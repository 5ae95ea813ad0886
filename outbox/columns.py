"""Column types shared by every floor that has tables: aware UTC times, JSON, closed sets."""

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Dialect, String, Text
from sqlalchemy.types import TypeDecorator


class UtcTime(TypeDecorator[datetime]):
    """An aware time kept as fixed-width RFC 3339 text in UTC, so that it sorts as text anywhere."""

    impl = String(32)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        """Aware time to text."""
        del dialect
        if value is None:
            return None
        assert value.tzinfo is not None, "a naive time reached the database"
        return value.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """Text to aware time."""
        del dialect
        return None if value is None else datetime.fromisoformat(value)


class Json(TypeDecorator[Any]):
    """JSON as text, keys in the order given, characters as they are; SQL NULL is None."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any | None, dialect: Dialect) -> str | None:
        """Data to text."""
        del dialect
        return None if value is None else json.dumps(value, ensure_ascii=False)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any:
        """Text to data."""
        del dialect
        return None if value is None else json.loads(value)


class Closed(TypeDecorator[StrEnum]):
    """A member of one closed set, kept as its word; an unknown word in the database raises ValueError."""

    impl = String(32)
    cache_ok = True

    def __init__(self, kind: type[StrEnum]) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: StrEnum | None, dialect: Dialect) -> str | None:
        """Member to word."""
        del dialect
        return None if value is None else self.kind(value).value

    def process_result_value(self, value: Any | None, dialect: Dialect) -> StrEnum | None:
        """Word to member."""
        del dialect
        return None if value is None else self.kind(value)
