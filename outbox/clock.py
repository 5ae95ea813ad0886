"""The clock by which this process judges its own claims; the day's time is not asked."""

import time


def seconds_awake_or_asleep() -> float:
    """A clock that never steps and, where the platform has one, counts while suspended."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()
