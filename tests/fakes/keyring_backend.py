"""Keyring backends that behave like the real kinds: one that keeps, one that is locked."""

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError


class MemoryBackend(KeyringBackend):
    """Keeps what it is given, for one process."""

    priority = -1  # the client lists every class; it must never choose this one by itself

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError(username)


class LockedBackend(MemoryBackend):
    """There, and closed: every access is refused."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked


class ForgetfulBackend(MemoryBackend):
    """Says yes to a set and gives nothing back, as the null backend does."""

    def set_password(self, service: str, username: str, password: str) -> None:
        return
