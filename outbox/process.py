"""Which process this is, and whether another one still lives, told apart across reuse of ids."""

import os
import socket
from dataclasses import dataclass
from functools import cache

import psutil


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessId:
    """A process, unique across hosts, boots and reuse of process ids."""

    host: str
    boot: int  # seconds since the epoch at which the machine started
    pid: int
    started: int  # hundredths of a second since the epoch

    def __str__(self) -> str:
        return f"{self.host}/{self.boot}/{self.pid}/{self.started}"

    @classmethod
    def parse(cls, text: str) -> "ProcessId":
        """The inverse of `str`. Raises: ValueError."""
        host, boot, pid, started = text.rsplit("/", 3)
        return cls(host=host, boot=int(boot), pid=int(pid), started=int(started))


def current_process() -> ProcessId:
    """This process."""
    return _identify(os.getpid())


@cache
def _identify(pid: int) -> ProcessId:
    return ProcessId(
        host=socket.gethostname(),
        boot=int(psutil.boot_time()),
        pid=pid,
        started=_started(psutil.Process(pid)),
    )


def _started(process: psutil.Process) -> int:
    return round(process.create_time() * 100)


def is_surely_dead(text: str) -> bool:
    """True only if that process ran on this host and is gone; a process elsewhere is unknown: False."""
    try:
        other = ProcessId.parse(text)
    except ValueError:
        return False
    here = current_process()
    if other.host != here.host:
        return False
    if abs(other.boot - here.boot) > 5:  # boot time is derived from a clock that may be stepped
        return True
    try:
        process = psutil.Process(other.pid)
        gone = abs(_started(process) - other.started) > 5
        return gone or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False
