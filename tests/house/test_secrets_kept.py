"""Secrets: where they are found and kept, and what is refused."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

import keyring.backends.fail
import keyring.backends.null
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.chainer import ChainerBackend

from bot.errors import ConfigProblem
from bot.keyrings import SystemKeyring, viable
from bot.redaction import Redactor
from bot.secrets import SERVICE, Secrets, StoredIn
from bot.settings_types import parse_reference
from fakes.keyring_backend import ForgetfulBackend, LockedBackend, MemoryBackend
from makers.house import make_home

VALUE = "correct horse battery"


def make_secrets(
    tmp_path: Path,
    environ: Mapping[str, str] | None = None,
    backend: KeyringBackend | None = None,
    redactor: Redactor | None = None,
) -> Secrets:
    """Secrets of a home; without a backend the machine has no keyring."""
    found = None if backend is None else SystemKeyring(backend)
    return Secrets(
        make_home(tmp_path), environ or {}, redactor or Redactor(), keyring=lambda: found
    )


def ask(secrets: Secrets, reference: str) -> str:
    """What the reference stands for."""
    return secrets.resolve(parse_reference(reference))


def private_file(path: Path, text: str = VALUE, mode: int = 0o600) -> Path:
    """A file with this text and mode."""
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def test_the_environment_and_files_are_read_as_named(tmp_path: Path) -> None:
    file = private_file(tmp_path / "key", VALUE + "\n")
    secrets = make_secrets(tmp_path, {"KEY": VALUE})
    assert ask(secrets, "env:KEY") == VALUE
    assert ask(secrets, f"file:{file}") == VALUE


def test_without_a_keyring_a_secret_is_kept_in_a_private_file_and_that_is_said(
    tmp_path: Path,
) -> None:
    secrets = make_secrets(tmp_path)
    stored = secrets.store("mail.work", VALUE)
    path = tmp_path / "home" / "secrets" / "mail.work"
    assert stored.where is StoredIn.FILE
    assert stored.note == (
        f"this machine has no usable keyring; kept in {path}, readable by you alone"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["mail.work"]
    assert ask(secrets, "keyring:mail.work") == VALUE


def test_a_keyring_is_used_and_leaves_no_second_copy(tmp_path: Path) -> None:
    make_secrets(tmp_path).store("mail.work", "old")
    backend = MemoryBackend()
    secrets = make_secrets(tmp_path, backend=backend)
    assert secrets.store("mail.work", VALUE).where is StoredIn.KEYRING
    assert backend.kept == {(SERVICE, "mail.work"): VALUE}
    assert list((tmp_path / "home" / "secrets").iterdir()) == []
    assert ask(secrets, "keyring:mail.work") == VALUE


@pytest.mark.parametrize("backend", [LockedBackend(), ForgetfulBackend()], ids=["locked", "loses"])
def test_a_keyring_that_does_not_keep_falls_back_to_the_file(
    tmp_path: Path, backend: KeyringBackend
) -> None:
    secrets = make_secrets(tmp_path, backend=backend)
    assert secrets.store("mail.work", VALUE).where is StoredIn.FILE
    assert ask(secrets, "keyring:mail.work") == VALUE


def test_a_locked_keyring_is_said_and_is_not_an_absent_secret(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblem, match="the keyring did not answer"):
        ask(make_secrets(tmp_path, backend=LockedBackend()), "keyring:mail.work")


def test_the_service_managers_credentials_come_first(tmp_path: Path) -> None:
    folder = tmp_path / "credentials"
    folder.mkdir()
    private_file(folder / "mail.work", "from systemd", 0o400)
    secrets = make_secrets(tmp_path, {"CREDENTIALS_DIRECTORY": str(folder)})
    secrets.store("mail.work", VALUE)
    assert ask(secrets, "keyring:mail.work") == "from systemd"


def _plaintext() -> KeyringBackend:
    kind = type("PlaintextKeyring", (MemoryBackend,), {"__module__": "keyrings.alt.file"})
    backend = kind()
    assert isinstance(backend, KeyringBackend)
    return backend


def _chain(*backends: KeyringBackend) -> ChainerBackend:
    kind = type("Chain", (ChainerBackend,), {"backends": list(backends)})
    chain = kind()
    assert isinstance(chain, ChainerBackend)
    return chain


@pytest.mark.parametrize(
    "backend",
    [
        keyring.backends.fail.Keyring(),
        keyring.backends.null.Keyring(),
        _plaintext(),
        _chain(_plaintext(), keyring.backends.null.Keyring()),
    ],
    ids=["fail", "null", "plaintext", "chain"],
)
def test_a_keyring_that_loses_or_prints_is_none(backend: KeyringBackend) -> None:
    assert viable(backend) is None


def test_the_first_real_keyring_of_a_chain_is_used() -> None:
    real = MemoryBackend()
    assert viable(_chain(_plaintext(), real)) is real


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o666], ids=oct)
def test_a_secret_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = private_file(tmp_path / "key", mode=mode)
    with pytest.raises(ConfigProblem) as caught:
        ask(make_secrets(tmp_path), f"file:{file}")
    assert str(caught.value) == (
        f"secret file {file} can be read or changed by others; run chmod 600 on it"
    )


def test_a_pipe_in_place_of_a_secret_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "key", 0o600)
    with pytest.raises(ConfigProblem, match="is no plain file"):
        ask(make_secrets(tmp_path), f"file:{tmp_path / 'key'}")


@pytest.mark.parametrize(
    ("reference", "advice"),
    [
        ("env:ABSENT", "set the environment variable ABSENT"),
        ("keyring:absent", "run 'steward config set-secret absent'"),
        ("file:absent", "mode 0600"),
    ],
    ids=["env", "keyring", "file"],
)
def test_a_secret_that_is_not_there_names_what_to_do(
    tmp_path: Path, reference: str, advice: str
) -> None:
    with pytest.raises(ConfigProblem, match=f"there is no secret {reference}; ") as caught:
        ask(make_secrets(tmp_path), reference)
    assert str(caught.value).endswith(advice)


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "-rf", "", "a b", "x" * 200])
def test_a_name_that_could_be_a_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigProblem, match="use letters, digits, dots and dashes only"):
        make_secrets(tmp_path).store(name, VALUE)


@pytest.mark.parametrize("value", ["", "a\0b", "x" * 70_000], ids=["empty", "nul", "large"])
def test_what_is_no_secret_is_not_kept(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigProblem, match="or no secret"):
        make_secrets(tmp_path).store("name", value)
    assert list((tmp_path / "home" / "secrets").iterdir()) == []


def test_every_value_that_was_loaded_is_known_to_the_redactor(tmp_path: Path) -> None:
    """R4."""
    redactor = Redactor()
    secrets = make_secrets(tmp_path, {"KEY": VALUE}, redactor=redactor)
    ask(secrets, "env:KEY")
    secrets.store("other", "another value")
    assert redactor.redact(f"{VALUE} and another value") == (
        "[secret removed] and [secret removed]",
        2,
    )
