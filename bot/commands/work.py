"""Work directories: what is in them, the way to one, fewer of them, and the owner's word for a file."""

import shutil
from pathlib import Path
from typing import Any

from bot.errors import NotFound, UsageProblem
from bot.wiring import House


def list_work(house: House) -> list[dict[str, Any]]:
    """Every producer's directory with its files and their size, by name."""
    if not house.home.work.is_dir():
        return []
    found = []
    for folder in sorted(path for path in house.home.work.iterdir() if path.is_dir()):
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        size = sum(path.stat().st_size for path in files)
        found.append(
            {
                "producer": folder.name,
                "path": str(folder),
                "files": len(files),
                "size_bytes": size,
            }
        )
    return found


def work_path(house: House, producer: str) -> Path:
    """The work directory of a producer. Raises: NotFound where it never ran."""
    folder = house.home.work / producer
    if Path(producer).name != producer or not folder.is_dir():
        raise NotFound(f"no work directory of '{producer}'; 'steward work list' shows them")
    return folder


def clean_work(house: House, producer: str, *, keep: int) -> list[str]:
    """Keep the newest `keep` entries of the directory; gives what was removed, oldest first."""
    if keep < 0:
        raise UsageProblem("--keep takes 0 or more")
    folder = work_path(house, producer)
    entries = sorted(folder.iterdir(), key=lambda path: path.lstat().st_mtime)
    removed = entries[: max(len(entries) - keep, 0)]
    for path in removed:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    return [path.name for path in removed]


def trust(house: House, path: Path) -> int:
    """The owner vouches for a file, or every file in a folder, as it is now; gives how many.

    Raises: NotFound where nothing stands there.
    """
    with house.store.effect() as session:
        return house.files.trust(session, path.resolve(), house.now())
