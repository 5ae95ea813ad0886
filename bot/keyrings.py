"""The operating system's keyring, if it is one that keeps what it is given and asks nobody."""

import keyring
import keyring.errors
from keyring.backend import KeyringBackend
from keyring.backends.chainer import ChainerBackend

from bot.secrets import KeyringFailed

_REFUSED_MODULES = ("keyring.backends.fail", "keyring.backends.null", "keyrings.")


class SystemKeyring:
    """One viable backend; its errors become KeyringFailed."""

    def __init__(self, backend: KeyringBackend) -> None:
        self._backend = backend

    def get(self, service: str, name: str) -> str | None:
        """The value, or None. Raises: KeyringFailed."""
        try:
            return self._backend.get_password(service, name)
        except keyring.errors.KeyringError as error:
            raise _failed(error) from error

    def set(self, service: str, name: str, value: str) -> None:
        """The value is kept and was read back. Raises: KeyringFailed."""
        try:
            self._backend.set_password(service, name, value)
            kept = self._backend.get_password(service, name)
        except keyring.errors.KeyringError as error:
            raise _failed(error) from error
        if kept != value:
            raise KeyringFailed("the keyring did not keep what it was given")

    def delete(self, service: str, name: str) -> None:
        """The value is gone. Raises: KeyringFailed."""
        try:
            self._backend.delete_password(service, name)
        except keyring.errors.PasswordDeleteError:
            return
        except keyring.errors.KeyringError as error:
            raise _failed(error) from error


def find_keyring() -> SystemKeyring | None:
    """This machine's keyring, or None where there is none that can be trusted with a secret."""
    chosen = viable(keyring.get_keyring())
    return None if chosen is None else SystemKeyring(chosen)


def viable(backend: KeyringBackend) -> KeyringBackend | None:
    """The backend, or the first inside a chain, that neither loses, prints nor prompts."""
    if isinstance(backend, ChainerBackend):
        return next((each for each in map(viable, backend.backends) if each is not None), None)
    if type(backend).__module__.startswith(_REFUSED_MODULES):
        return None
    return backend


def _failed(error: Exception) -> KeyringFailed:
    return KeyringFailed(
        f"the keyring did not answer ({type(error).__name__}); unlock it, or store the secret again"
    )
