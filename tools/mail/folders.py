"""Which folders an account has: a Maildir with its Maildir++ subfolders, a tree of Maildirs, an mbox."""

import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.mail.maildir import is_maildir, list_maildir
from tools.mail.mbox import is_mbox, list_mbox
from tools.mail.read_cache import ReadCache
from tools.mail.settings import MailAccount
from tools.mail.stored import Stored
from tools.mail.words import one_line

INBOX = "INBOX"
MAX_FOLDERS = 500
_TREE_DEPTH = 4

# Folders that a question about mail does not mean unless it names them.
_ASIDE = frozenset(
    {
        "trash", "deleted items", "deleted messages", "bin", "junk", "junk email", "spam",
        "drafts", "papierkorb", "gelöschte elemente", "corbeille", "papelera",
    }
)  # fmt: skip
_SENT = frozenset({"sent", "sent items", "sent mail", "sent messages", "gesendet"})
_UTF7 = re.compile(r"&([A-Za-z0-9+,]*)-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder under the name people know it by; `/` separates levels."""

    name: str
    path: Path

    @property
    def last_name(self) -> str:
        """The last level, case folded."""
        return self.name.rpartition("/")[2].casefold()

    @property
    def is_aside(self) -> bool:
        """True for trash, junk and drafts."""
        return self.last_name in _ASIDE


def folders_of(account: MailAccount) -> tuple[Folder, ...]:
    """The account's folders, the inbox first, then by name; at most 500.

    The folder of sent mail is among them also where it lies elsewhere.
    """
    found: dict[Path, Folder] = {}
    for folder in _below(account.path):
        found.setdefault(folder.path, folder)
        if len(found) == MAX_FOLDERS:
            break
    sent = account.sent
    if sent is not None and sent not in found and (is_maildir(sent) or is_mbox(sent)):
        found[sent] = Folder(name="Sent", path=sent)
    return tuple(
        sorted(found.values(), key=lambda each: (each.name.upper() != INBOX, each.name.casefold()))
    )


def list_folder(folder: Folder, cache: ReadCache) -> tuple[list[Stored], int]:
    """The folder's messages in no order, and how many could not be looked at."""
    if is_maildir(folder.path):
        return list_maildir(folder.name, folder.path)
    return list_mbox(folder.name, folder.path, cache)


def sent_folder(path: Path, name: str) -> Path:
    """Where an account at `path` keeps the sent mail that its configuration calls `name`.

    An absolute name is itself; below a Maildir it is the Maildir++ folder `.Sent` unless a plain
    `Sent` is already there; beside an mbox it is a Maildir of that name.
    """
    wanted = Path(name).expanduser()
    if wanted.is_absolute():
        return wanted
    if path.is_file():
        return path.parent / wanted
    if not is_maildir(path) or is_maildir(path / wanted):
        return path / wanted
    return path / ("." + name.strip("/").replace("/", "."))


def _below(root: Path) -> Iterator[Folder]:
    if is_mbox(root):
        yield Folder(name=INBOX, path=root)
        return
    if is_maildir(root):
        yield Folder(name=INBOX, path=root)
    yield from _children(root, "", _TREE_DEPTH)


def _children(parent: Path, prefix: str, depth: int) -> Iterator[Folder]:
    for child in _sorted_entries(parent):
        if child.name in {"cur", "new", "tmp"} or child.is_symlink():
            continue
        if child.is_dir():
            name = _folder_name(child.name, prefix)
            if is_maildir(child):
                yield Folder(name=name, path=child)
            if depth and not child.name.startswith("."):
                yield from _children(child, name + "/", depth - 1)
        elif not is_maildir(parent) and not child.name.startswith(".") and _holds_mail(child):
            yield Folder(name=_folder_name(child.name, prefix), path=child)


def _holds_mail(path: Path) -> bool:
    try:
        return path.stat().st_size > 0 and is_mbox(path)
    except OSError:
        return False


def _sorted_entries(path: Path) -> list[Path]:
    try:
        return sorted(path.iterdir())
    except OSError:
        return []


def _folder_name(name: str, prefix: str) -> str:
    """`.Archive.2024` is Archive/2024 (Maildir++); letters are in modified UTF-7 (RFC 3501, 5.1.3)."""
    levels = name[1:].replace(".", "/") if name.startswith(".") else name
    return one_line(prefix + _UTF7.sub(_decoded, levels))


def _decoded(match: re.Match[str]) -> str:
    if not match[1]:
        return "&"
    letters = match[1].replace(",", "/")
    try:
        return b64decode(letters + "=" * (-len(letters) % 4)).decode("utf-16-be")
    except ValueError:
        return match[0]
