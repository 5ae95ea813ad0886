"""Bytes under their own hash: what was staged is what is sent."""

import hashlib
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.blobs import BlobError, BlobStore


@given(st.binary(max_size=200))
def test_bytes_come_back_under_their_hash(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    store = BlobStore(tmp_path_factory.mktemp("blobs"))
    sha = store.put(data)
    assert sha == hashlib.sha256(data).hexdigest()
    assert store.read(sha) == data
    assert store.put(data) == sha


def test_blobs_are_the_owners_only(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs")
    path = store.path(store.put(b"x"))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_changed_bytes_are_refused_and_stored_anew(tmp_path: Path) -> None:
    """O9."""
    store = BlobStore(tmp_path)
    sha = store.put(b"as staged")
    store.path(sha).write_bytes(b"something else")
    with pytest.raises(BlobError, match=f"blob {sha} is not the bytes"):
        store.read(sha)
    store.put(b"as staged")
    assert store.read(sha) == b"as staged"


def test_a_missing_blob_says_which(tmp_path: Path) -> None:
    sha = "0" * 64
    with pytest.raises(BlobError, match=f"blob {sha} cannot be read: No such file"):
        BlobStore(tmp_path).read(sha)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "0" * 63, "G" * 64, "0" * 64 + "\n"])
def test_only_a_hash_names_a_blob(tmp_path: Path, name: str) -> None:
    with pytest.raises(BlobError, match="no SHA-256"):
        BlobStore(tmp_path).path(name)


def test_many_at_once_store_one_whole_file(tmp_path: Path) -> None:
    store, data = BlobStore(tmp_path), b"x" * 500_000
    workers = [threading.Thread(target=store.put, args=(data,)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [each.name for each in tmp_path.iterdir()] == [hashlib.sha256(data).hexdigest()]


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    """R3: the error is the system's own."""
    (tmp_path / "blobs").write_bytes(b"a file where the folder should be")
    with pytest.raises(OSError, match=r"exists|directory"):
        BlobStore(tmp_path / "blobs").put(b"x")
