"""Finds the secrets that the configuration names, and stores new ones where this machine can.

Order for `keyring:NAME`: the service manager's credentials folder, a real keyring, then a file of
mode 0600 in the home. A keyring that loses (null), prints (plaintext) or prompts (cryptfile) is
no keyring here.
"""

import os
import re
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from bot.errors import ConfigProblem
from bot.home import PRIVATE_FOLDER, Home, expand_user, write_private
from bot.redaction import Redactor
from bot.settings_types import SecretKind, SecretReference
from tools.contract import load_object

SERVICE = "steward"
CREDENTIALS_VARIABLE = "CREDENTIALS_DIRECTORY"  # set by systemd for LoadCredential=
LARGEST_BYTES = 64 * 1024
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


class KeyringFailed(Exception):  # noqa: N818 - read as a sentence where it is caught
    """The keyring is there and did not answer: locked, or its service is gone."""


class Keyring(Protocol):
    """The three things needed of an operating system's keyring. Raises: KeyringFailed."""

    def get(self, service: str, name: str) -> str | None:
        """The value, or None."""
        ...

    def set(self, service: str, name: str, value: str) -> None:
        """Keep the value."""
        ...

    def delete(self, service: str, name: str) -> None:
        """Forget the value, if it was there."""
        ...


class StoredIn(StrEnum):
    """Where a secret was put."""

    KEYRING = "keyring"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The outcome of storing: where, and one line for the owner."""

    where: StoredIn
    note: str


def system_keyring() -> Keyring | None:
    """This machine's keyring, or None. Its client is loaded here, when a secret is looked for."""
    found: Keyring | None = load_object("bot.keyrings:find_keyring")()
    return found


class Secrets:
    """Resolves references. Every value it gives was told to the redactor first."""

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        redactor: Redactor,
        keyring: Callable[[], Keyring | None] = system_keyring,
    ) -> None:
        """`keyring` is asked for only when a reference needs it; None: this machine has none."""
        self._home = home
        self._environ = environ
        self._redactor = redactor
        self._keyring = keyring

    def resolve(self, reference: SecretReference) -> str:
        """The secret.

        Raises: ConfigProblem naming the reference and how to mend it, never the value.
        """
        match reference.kind:
            case SecretKind.ENV:
                value = self._environ.get(reference.name) or None
                advice = f"set the environment variable {reference.name}"
            case SecretKind.FILE:
                path = self._home.root / expand_user(reference.name, self._environ)
                value = read_secret_file(path)
                advice = f"write it to {path}, mode 0600"
            case SecretKind.KEYRING:
                value = self._kept(check_name(reference.name))
                advice = f"run 'steward config set-secret {reference.name}'"
        if not value:
            raise ConfigProblem(f"there is no secret {reference}; {advice}")
        self._redactor.register(value)
        return value

    def store(self, name: str, value: str) -> Stored:
        """`keyring:NAME` resolves to the value from now on, and it is kept in one place only.

        Raises: ConfigProblem for a name that is no plain word, an empty or oversized value, and
        where it cannot be kept.
        """
        self._redactor.register(value)
        path = self._file(check_name(name))
        if not value or len(value.encode()) > LARGEST_BYTES or "\0" in value:
            raise ConfigProblem(
                f"secret {name}: it is empty, or no secret (over 64 KiB, or binary)"
            )
        keyring = self._keyring()
        if keyring is not None:
            with suppress(KeyringFailed):  # locked, or no session: the file is the next place
                keyring.set(SERVICE, name, value)
                path.unlink(missing_ok=True)
                return Stored(where=StoredIn.KEYRING, note="kept in this machine's keyring")
        self._write(path, value)
        return Stored(
            where=StoredIn.FILE,
            note=f"this machine has no usable keyring; kept in {path}, readable by you alone",
        )

    def _kept(self, name: str) -> str | None:
        folder = self._environ.get(CREDENTIALS_VARIABLE)
        if folder and (Path(folder) / name).exists():
            return read_secret_file(Path(folder) / name)
        path = self._file(name)
        keyring = self._keyring()
        if keyring is not None:
            try:
                value = keyring.get(SERVICE, name)
            except KeyringFailed as error:
                if not path.exists():
                    raise ConfigProblem(f"secret keyring:{name}: {error}") from error
            else:
                if value:
                    return value
        return read_secret_file(path)

    def _file(self, name: str) -> Path:
        return self._home.secrets / name

    def _write(self, path: Path, value: str) -> None:
        try:
            path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            path.parent.chmod(PRIVATE_FOLDER)
            write_private(path, value.encode())
        except OSError as error:
            raise ConfigProblem(
                f"secret {path.name} cannot be kept in {path.parent}: {error.strerror or error}"
            ) from error


def check_name(name: str) -> str:
    """The name again. Raises: ConfigProblem for one that could be read as a path or an option."""
    if not _NAME.fullmatch(name):
        raise ConfigProblem(f"secret name {name!r}: use letters, digits, dots and dashes only")
    return name


def read_secret_file(path: Path) -> str | None:
    """The file's text without its last line break, or None where there is no such file.

    Raises: ConfigProblem where others may read or change it, where it is not the owner's, no plain
    file, or over 64 KiB.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigProblem(f"secret file {path}: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(file.fileno())
        refusal = _refusal(facts)
        if refusal is not None:
            raise ConfigProblem(f"secret file {path} {refusal}")
        data = file.read(LARGEST_BYTES)
    try:
        return data.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ConfigProblem(f"secret file {path} is not UTF-8 text") from None


def _refusal(facts: os.stat_result) -> str | None:
    if not stat.S_ISREG(facts.st_mode):
        return "is no plain file"
    if facts.st_mode & 0o077:
        return "can be read or changed by others; run chmod 600 on it"
    if facts.st_uid not in (os.geteuid(), 0):
        return "belongs to another user; make it yours"
    if facts.st_size > LARGEST_BYTES:
        return "is larger than any secret (64 KiB)"
    return None
