"""The home: one folder that holds everything steward keeps, readable by its owner alone."""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.errors import ConfigProblem

HOME_VARIABLE = "STEWARD_HOME"
PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where each thing lies under `root`, an absolute path. Nothing exists before `prepare`."""

    root: Path

    @property
    def config(self) -> Path:
        """The one configuration file; absent means defaults."""
        return self.root / "config.toml"

    @property
    def database(self) -> Path:
        """The default database file."""
        return self.root / "steward.db"

    @property
    def work(self) -> Path:
        """The work directories, one a producer."""
        return self.root / "work"

    @property
    def blobs(self) -> Path:
        """Attachment bytes by their SHA-256."""
        return self.root / "blobs"

    @property
    def secrets(self) -> Path:
        """Secrets of a machine without a keyring, one file each."""
        return self.root / "secrets"

    @property
    def spill(self) -> Path:
        """Tool results too large for a model, whole."""
        return self.root / "spill"

    @property
    def todo(self) -> Path:
        """The lists of the tool `todo`."""
        return self.root / "todo"

    @property
    def logs(self) -> Path:
        """The log and its older pieces."""
        return self.root / "logs"

    @property
    def tour_marker(self) -> Path:
        """Present only in a home that `steward try` made."""
        return self.root / "tour.json"

    @property
    def generation_file(self) -> Path:
        """Names the life of this home; its database carries the same word."""
        return self.root / "generation"

    @property
    def folders(self) -> tuple[Path, ...]:
        """Every folder a prepared home has, the home itself first."""
        return (
            self.root,
            self.work,
            self.blobs,
            self.secrets,
            self.spill,
            self.todo,
            self.logs,
        )

    def prepare(self) -> None:
        """The folders exist, mode 0700 where created now, and the home has a generation id.

        A folder that was there keeps its mode: `STEWARD_HOME` may point at a shared place by
        mistake, and `doctor` says so.

        Raises: ConfigProblem when a folder cannot be made (read-only, full, a file in the way).
        """
        try:
            self.root.parent.mkdir(parents=True, exist_ok=True)
            for folder in self.folders:
                folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
            _name_generation(self.generation_file)
        except OSError as error:
            raise _unusable(self.root, error) from error

    def generation(self) -> str | None:
        """The generation id, or None before `prepare`. Raises: ConfigProblem when unreadable."""
        try:
            return self.generation_file.read_text(encoding="ascii").strip() or None
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigProblem(f"{self.generation_file} cannot be read: {error}") from error


def find_home(environ: Mapping[str, str]) -> Home:
    """The home that `STEWARD_HOME` names, else `~/.steward`; links are followed.

    Raises: ConfigProblem for a relative path, which would be another home in every directory.
    """
    named = environ.get(HOME_VARIABLE, "")
    path = expand_user(named or "~/.steward", environ)
    if not path.is_absolute():
        raise ConfigProblem(f"{HOME_VARIABLE}={named}: write an absolute path, or one after ~/")
    return Home(root=path.resolve())


def expand_user(path: str, environ: Mapping[str, str]) -> Path:
    """The path with a leading `~` replaced by the owner's home directory of this environment."""
    if path != "~" and not path.startswith("~/"):
        return Path(path)
    return Path(environ.get("HOME") or os.path.expanduser("~")) / path[2:]


def write_private(path: Path, data: bytes) -> None:
    """The file holds exactly `data`, mode 0600, replaced in one step and on disk on return.

    Raises: OSError; the old content is then untouched.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        _write_new(draft, data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _write_new(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, PRIVATE_FILE), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _name_generation(path: Path) -> None:
    """Two processes may do this at once: whoever links first names it, the other keeps that."""
    if path.exists():
        return
    draft = path.with_name(f".generation.{secrets.token_hex(6)}")
    try:
        _write_new(draft, f"{secrets.token_hex(16)}\n".encode())
        path.hardlink_to(draft)
    except FileExistsError:
        return
    finally:
        draft.unlink(missing_ok=True)


def _unusable(root: Path, error: OSError) -> ConfigProblem:
    place = error.filename or root
    return ConfigProblem(
        f"the home {root} cannot be used: {place}: {error.strerror or error}; "
        f"make it writable, or name another with {HOME_VARIABLE}"
    )
