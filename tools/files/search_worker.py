"""Searches files for `grep`, as a process of its own that can be killed.

Why: a regular expression may take longer than the universe, and while it matches, Python can be
neither interrupted nor made to run anything else. So this file is run as a program, with nothing of
steward's and no environment. It gets one JSON job on stdin and one open descriptor (a file, or the
folder to walk), opens everything else below that descriptor without following a link, and writes
one JSON line for each thing it finds or begins.
"""

import fnmatch
import json
import os
import re
import resource
import stat
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO

MAX_FILES = 200_000
MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_LINE_BYTES = 1024 * 1024
SHOWN_CHARACTERS = 400
MEMORY_BYTES = 2 * 1024 * 1024 * 1024
CPU_SECONDS = 60
SKIPPED_FOLDERS = frozenset({".git"})

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def say(**fact: object) -> None:
    """One line to the parent, at once: the next match may never come back."""
    os.write(1, json.dumps(fact).encode() + b"\n")


class Search:
    """One job on its way."""

    def __init__(self, job: dict[str, Any]) -> None:
        text = re.escape(job["pattern"]) if job["literal"] else job["pattern"]
        self.pattern = re.compile(text, re.IGNORECASE if job["ignore_case"] else 0)
        self.glob: str | None = job["glob"]
        self.context: int = job["context"]
        self.left: int = job["limit"]
        self.barred = {tuple(each) for each in job["barred"]}
        self.files = self.skipped = 0

    def walk(self, folder: int, above: str) -> None:
        """Search what is in the folder, in the order of names."""
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            if self.left <= 0 or self.files >= MAX_FILES:
                return
            try:
                self.one(folder, name, above + name)
            except OSError:
                self.skipped += 1

    def one(self, folder: int, name: str, shown: str) -> None:
        """Search a file or what is below a folder; a link is neither."""
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if (found.st_dev, found.st_ino) in self.barred:
            return
        if stat.S_ISDIR(found.st_mode) and name not in SKIPPED_FOLDERS:
            below = os.open(name, _FOLDER, dir_fd=folder)
            try:
                self.walk(below, f"{shown}/")
            finally:
                os.close(below)
        elif stat.S_ISREG(found.st_mode) and self.wanted(name, shown):
            with os.fdopen(os.open(name, _FILE, dir_fd=folder), "rb") as file:
                self.file(file, shown)

    def wanted(self, name: str, shown: str) -> bool:
        """Whether the glob, if any, matches the name, or the path where the glob holds a slash."""
        if self.glob is None:
            return True
        return fnmatch.fnmatchcase(shown if "/" in self.glob else name, self.glob)

    def file(self, file: BinaryIO, shown: str) -> None:
        """Search one file line by line; a binary or too large one is counted as skipped."""
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or (found.st_dev, found.st_ino) in self.barred:
            return
        self.files += 1
        if found.st_size > MAX_FILE_BYTES or b"\0" in file.read(8192):
            self.skipped += 1
            return
        file.seek(0)
        say(begins=shown)
        before: deque[tuple[int, str]] = deque(maxlen=self.context)
        after = 0
        for number, line in lines(file):
            match = self.pattern.search(line) if self.left > 0 else None
            if match is not None:
                for earlier, text in before:
                    say(path=shown, line=earlier, text=text, match=False)
                before.clear()
                say(path=shown, line=number, text=cut(line, match.start()), match=True)
                self.left -= 1
                after = self.context
            elif after > 0:
                say(path=shown, line=number, text=cut(line, 0), match=False)
                after -= 1
            elif self.left <= 0:
                return
            else:
                before.append((number, cut(line, 0)))


def lines(file: BinaryIO) -> Iterator[tuple[int, str]]:
    """Numbered lines without their ends; what is beyond the length limit is not looked at."""
    number = 0
    inside = False
    while piece := file.readline(MAX_LINE_BYTES):
        if not inside:
            number += 1
            yield number, piece.decode("utf-8", "replace").rstrip("\r\n")
        inside = not piece.endswith(b"\n")


def cut(line: str, start: int) -> str:
    """A line short enough to show, the match in it."""
    if len(line) <= SHOWN_CHARACTERS:
        return line
    first = max(start - SHOWN_CHARACTERS // 4, 0)
    shown = line[first : first + SHOWN_CHARACTERS]
    return ("..." if first else "") + shown + ("..." if first + len(shown) < len(line) else "")


def limit(what: int, most: int) -> None:
    """A bound of last resort, should the parent die; not every system has every bound."""
    with suppress(ValueError, OSError):
        resource.setrlimit(what, (most, most))


def main() -> None:
    """Do the job on stdin."""
    limit(resource.RLIMIT_AS, MEMORY_BYTES)
    limit(resource.RLIMIT_CPU, CPU_SECONDS)
    job = json.loads(sys.stdin.buffer.read())
    say(begins="")
    try:
        search = Search(job)
    except (re.error, OverflowError, RecursionError) as error:
        say(wrong=str(error))
        return
    if job["file"] is None:
        search.walk(job["descriptor"], "")
    else:
        with os.fdopen(job["descriptor"], "rb") as file:
            search.file(file, job["file"])
    say(done=True, files=search.files, skipped=search.skipped, full=search.left <= 0)


if __name__ == "__main__":
    main()
