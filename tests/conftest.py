"""What every test stands in: its own home, no network beyond this machine, the public corpus."""

import ipaddress
import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

_PROJECT = Path(__file__).parents[1]
_INHERITED = frozenset({"PATH", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "CI"})


class NetworkUsedError(AssertionError):
    """A test reached for a host that is not this machine."""


@pytest.fixture(autouse=True)
def own_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The environment is the test's own: HOME, STEWARD_HOME, no keyring; the umask is usual."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - _INHERITED:
            if not name.startswith(("PYTEST_", "COV_")):
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("STEWARD_HOME", str(home / "steward"))
        patch.setenv("TZ", "UTC")
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
        before = os.umask(0o022)
        handlers = list(logging.getLogger().handlers)
        try:
            yield home
        finally:
            os.umask(before)
            for handler in set(logging.getLogger().handlers) - set(handlers):
                logging.getLogger().removeHandler(handler)
                handler.close()


@pytest.fixture(autouse=True, scope="session")
def only_this_machine() -> Iterator[None]:
    """Connecting anywhere but to loopback or a local socket fails the test."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
        yield


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The public mails and calendars beside the checkout; their SOURCES.md says what they are."""
    folder = _PROJECT.parent / "shared" / "corpus"
    if (folder / "mail").is_dir():
        return folder
    if os.environ.get("CI") and folder.parent.exists():
        pytest.fail(f"corpus absent though {folder.parent} is there")
    pytest.skip(f"corpus absent: {folder} is not there")


def _guarded(connect):
    def guarded(self: socket.socket, address: object, /):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            assert isinstance(address, tuple)
            if not _is_local(str(address[0])):
                raise NetworkUsedError(f"a test wanted to connect to {address[0]}")
        return connect(self, address)

    return guarded


def _is_local(host: str) -> bool:
    if host in ("localhost", ""):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
