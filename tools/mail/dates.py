"""Pure. Dates of mail: read leniently with the offset that was written, shown with weekday."""

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz

_COMMENT = re.compile(r"\([^()]*\)")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def parse_date(text: str) -> datetime | None:
    """The instant with its written offset (UTC where none was), None if it cannot be read."""
    cleaned = _COMMENT.sub(" ", text)[:200]
    try:
        parsed = parsedate_tz(cleaned)
        if parsed is None:
            return None
        offset = timedelta(seconds=parsed[9] or 0)
        moment = datetime(*parsed[:6], tzinfo=timezone(offset) if offset else UTC)
        moment.astimezone(UTC)  # near year 1 or 9999 an offset leads out of the calendar
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment


def format_date(moment: datetime) -> str:
    """`Mon, 30 Nov 2026 09:15:00 +0100`: RFC 5322 section 3.3, in English on every machine."""
    seconds = int((moment.utcoffset() or timedelta()).total_seconds())
    sign = "-" if seconds < 0 else "+"
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return (
        f"{_DAYS[moment.weekday()]}, {moment.day:02} {_MONTHS[moment.month - 1]} "
        f"{moment.year:04} {moment:%H:%M:%S} {sign}{hours:02}{minutes:02}"
    )
