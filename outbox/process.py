"""Which process this is, and whether another one still lives, told apart across reuse of ids.

Why no time of day: a clock that is stepped must not turn a living process into a dead one. So a
boot is known by the kernel's random id and a start by the kernel's own count, and both are
compared exactly. Calling a living process dead could send twice; calling a dead one living costs
the wait for its deadline. Hence whatever cannot be seen from here counts as living.

Containers: two of them may share a host name and a kernel and still not see each other's process
ids, so `boot` also names the pid namespace where it is not the machine's own. Only a process of the
same namespace is looked for. Another boot means a dead process only between two that ran outside of
any container: the same name in a container may be another machine.
"""

import os
import socket
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PID_NAMESPACE = Path("/proc/self/ns/pid")
_MACHINES_OWN = "4026531836"  # PROC_PID_INIT_INO of the Linux kernel, the same on every machine
_UNKNOWN_BOOT = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessId:
    """A process, unique across hosts, containers, boots and reuse of process ids."""

    host: str
    boot: str  # the kernel's boot id, then ":" and the pid namespace where that is a container's
    pid: int
    started: int  # ticks since the boot on Linux, microseconds since the epoch elsewhere

    def __str__(self) -> str:
        return f"{self.host}/{self.boot}/{self.pid}/{self.started}"

    @classmethod
    def parse(cls, text: str) -> "ProcessId":
        """The inverse of `str`. Raises: ValueError."""
        host, boot, pid, started = text.rsplit("/", 3)
        return cls(host=host, boot=boot, pid=int(pid), started=int(started))

    @property
    def kernel(self) -> str:
        """The boot id alone, `-` where the system has none."""
        return self.boot.partition(":")[0]

    @property
    def container(self) -> str:
        """The pid namespace, empty outside of containers."""
        return self.boot.partition(":")[2]


def current_process() -> ProcessId:
    """This process."""
    return _identify(os.getpid())


def identify(pid: int) -> ProcessId:
    """A process of this machine that lives now. Raises: ProcessLookupError."""
    started = _started(pid)
    if started is None:
        raise ProcessLookupError(pid)
    return ProcessId(host=socket.gethostname(), boot=_boot(), pid=pid, started=started)


_identify = cache(identify)


def is_surely_dead(text: str, *, seen_from: ProcessId | None = None) -> bool:
    """True only if that process ran where this one can see it, and is gone.

    One elsewhere, or one whose text cannot be read, is unknown: False. `seen_from`: instead of this
    process.
    """
    try:
        other = ProcessId.parse(text)
    except ValueError:
        return False
    here = seen_from or current_process()
    if other.host != here.host:
        return False
    if other.kernel != here.kernel and _UNKNOWN_BOOT not in (other.kernel, here.kernel):
        return not other.container and not here.container
    if other.container != here.container:
        return False
    return _started(other.pid) != other.started


def _started(pid: int) -> int | None:
    """When the process of that id began; None if there is none, or only its remains."""
    return _ticks(pid) if sys.platform == "linux" else _microseconds(pid)


def _ticks(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat (proc(5)), which counts from the boot and never changes."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *rest = line.rpartition(")")[2].split()  # the name before may hold anything
    return None if state in ("Z", "X") else int(rest[18])


def _microseconds(pid: int) -> int | None:
    """Where the system keeps the time of the start itself, no step of the clock changes it."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return round(process.create_time() * 1_000_000)
    except psutil.NoSuchProcess:
        return None


@cache
def _boot() -> str:
    """Without a boot id a start is told apart by itself: elsewhere than on Linux it is absolute."""
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
        namespace = str(_PID_NAMESPACE.readlink()).strip("pid:[]")
    except OSError:
        return _UNKNOWN_BOOT
    return boot if namespace == _MACHINES_OWN else f"{boot}:{namespace}"
