"""Bytes kept by their SHA-256: what a draft attaches is what was on disk when it was staged."""

import hashlib
import os
import re
import secrets
from pathlib import Path

_SHA256 = re.compile(r"[0-9a-f]{64}")


class BlobError(Exception):
    """A blob is missing or is no longer what its name says; the text says which."""


class BlobStore:
    """A folder of immutable files named by their content. Owner-only, safe for many processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        """The SHA-256 under which the bytes are now on disk, flushed; twice the same is once."""
        sha = hashlib.sha256(data).hexdigest()
        path = self.path(sha)
        if _holds(path, sha):
            return sha
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self._folder / f".{sha}.{secrets.token_hex(4)}"
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
        return sha

    def path(self, sha: str) -> Path:
        """Where the bytes of that name lie, or would lie. Raises: BlobError for no SHA-256."""
        if not _SHA256.fullmatch(sha):
            raise BlobError(f"{sha[:80]!r} is no SHA-256 of 64 hexadecimal digits")
        return self._folder / sha

    def read(self, sha: str) -> bytes:
        """The bytes, checked against their name. Raises: BlobError when missing or changed."""
        path = self.path(sha)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise BlobError(f"blob {sha} cannot be read: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != sha:
            raise BlobError(f"blob {sha} is not the bytes that were stored under this name")
        return data

    def find(self, sha: str) -> bytes | None:
        """As `read`, but None where the bytes are missing or changed, or the name is no SHA-256."""
        try:
            return self.read(sha)
        except BlobError:
            return None


def _holds(path: Path, sha: str) -> bool:
    """True if the file is there and whole; a broken one is written anew."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == sha
    except OSError:
        return False
