"""The path jail: what is judged, and that what was judged is what is opened."""

import os
import shutil
import socket
import threading
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.contract import FileKind
from tools.errors import JailError
from tools.jail import Jail, check_workspace
from tools.spelling import Identity, stored_spelling

EXAMPLES = 300
SWAPS = 2000


class Place:
    """A workspace beside a secret, with steward's home in reach, and the jail round it."""

    def __init__(self, folder: Path) -> None:
        self.outside = folder / "outside"
        self.root = folder / "workspace"
        self.home = folder / "home"
        self.spill = self.home / "spill" / "s1"
        for each in (self.outside, self.root, self.spill):
            each.mkdir(parents=True)
        self.secret = self.outside / "secret.txt"
        self.secret.write_text("secret")
        (self.home / "config.toml").write_text("[agents]")
        (self.spill / "call_1.txt").write_text("saved")
        self.jail = Jail(root=self.root, spill_dir=self.spill, forbidden=[self.home])

    def read(self, path: str) -> bytes:
        with self.jail.open_read(self.jail.resolve(path)) as file:
            return file.read()

    def write(self, path: str, data: bytes = b"x") -> bool:
        return self.jail.write(self.jail.resolve(path), data)

    def untouched(self) -> bool:
        """Nothing outside the workspace changed."""
        everything = sorted(path.name for path in self.outside.rglob("*"))
        return everything == ["secret.txt"] and self.secret.read_text() == "secret"


@pytest.fixture
def place(tmp_path) -> Place:
    return Place(tmp_path)


OUTSIDE = "leads outside the workspace; give a path below it, such as notes/today.md"


@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret.txt",
        "a/../../outside/secret.txt",
        "..",
        "/",
        "/etc/passwd",
        "a/b/../../..",
    ],
)
def test_a_path_that_leads_outside_is_refused_with_the_way_on(place, path):
    """P5: `..` and absolute paths."""
    with pytest.raises(JailError) as caught:
        place.jail.resolve(path)
    assert str(caught.value) == f'"{path}" {OUTSIDE}'


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        (".", "."),
        ("notes/today.md", "notes/today.md"),
        ("notes/../today.md", "today.md"),
        ("./a//b/./c", "a/b/c"),
        ("~/x", "~/x"),
        ("../workspace/x", "x"),
        ("$HOME/x", "$HOME/x"),
    ],
)
def test_a_path_inside_is_canonical_and_need_not_exist(place, path, inside):
    """P5: a file that does not exist yet; `~` and variables are ordinary names."""
    assert place.jail.resolve(path) == place.root / inside
    assert place.jail.resolve(str(place.root / inside)) == place.root / inside


def test_a_link_is_judged_by_where_it_leads(place):
    """P5: symlinks, of files and of folders, and one that leads back inside."""
    (place.root / "file").symlink_to(place.secret)
    (place.root / "folder").symlink_to(place.outside)
    (place.root / "dangling").symlink_to(place.outside / "new.txt")
    (place.root / "real").mkdir()
    (place.root / "alias").symlink_to("real")
    for path in ("file", "folder/secret.txt", "folder/new.txt", "dangling", "alias/../../outside"):
        with pytest.raises(JailError, match="leads outside"):
            place.jail.resolve(path)
    assert place.jail.resolve("alias/x.md") == place.root / "real" / "x.md"


def test_dotdot_after_a_link_goes_where_the_system_goes(place):
    """P5: `link/..` is the parent of the link's target, not of the link."""
    deep = place.root / "a" / "b"
    deep.mkdir(parents=True)
    (place.root / "jump").symlink_to("a/b")
    assert place.jail.resolve("jump/../x") == place.root / "a" / "x"


def test_links_in_a_circle_are_compared_as_written_and_never_opened(place):
    """P5: a path that cannot be canonicalised."""
    (place.root / "a").symlink_to("b")
    (place.root / "b").symlink_to("a")
    with pytest.raises((JailError, OSError)):
        place.read("a/x")
    with pytest.raises((JailError, OSError)):
        place.read("a")


def test_a_chain_of_links_too_long_to_follow_is_refused(place):
    """P5."""
    (place.root / "l0").write_text("x")
    for number in range(1, 3000):
        (place.root / f"l{number}").symlink_to(f"l{number - 1}")
    with pytest.raises((JailError, OSError)):
        place.read("l2999")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", 'the path is empty; "." is the workspace itself'),
        ("a\0b", '"a\\\\x00b" holds a zero byte'),
        ("a\ud800b", '"a\\\\ud800b" is not Unicode text'),
    ],
    ids=["empty", "nul", "surrogate"],
)
def test_a_path_that_is_no_path_is_refused(place, path, said):
    """P5."""
    with pytest.raises(JailError) as caught:
        place.jail.resolve(path)
    assert str(caught.value) == said


@pytest.mark.parametrize("path", ["x" * 256, "é" * 128, "a/" * 2100], ids=["name", "wide", "path"])
def test_a_path_too_long_is_refused_before_the_system_sees_it(place, path):
    """P5: the limit is in bytes."""
    with pytest.raises(JailError, match="is too long: a name has at most 255 bytes"):
        place.jail.resolve(path)


def test_the_spill_is_read_and_never_written(place):
    """P5: the one exception."""
    saved = str(place.spill / "call_1.txt")
    assert place.read(saved) == b"saved"
    assert place.jail.in_spill(place.jail.resolve(saved))
    for path in (saved, str(place.spill / "new.txt")):
        with pytest.raises(JailError, match="tools only read it"):
            place.write(path)
    assert [path.name for path in place.spill.iterdir()] == ["call_1.txt"]


def test_a_link_inside_the_spill_leads_nowhere(place):
    """P5."""
    (place.spill / "x.txt").symlink_to(place.secret)
    with pytest.raises(JailError, match="leads outside"):
        place.read(str(place.spill / "x.txt"))


def test_steward_s_own_files_are_refused_even_inside_the_workspace(tmp_path):
    """P5: configuration, database, hooks, secrets; whatever is given as forbidden."""
    home = tmp_path / "ws" / ".steward"
    home.mkdir(parents=True)
    (home / "config.toml").write_text("x")
    jail = Jail(root=tmp_path / "ws", spill_dir=home / "spill", forbidden=[home])
    for path in (".steward/config.toml", ".steward", ".steward/new/x", ".STEWARD/config.toml"):
        with pytest.raises(JailError, match="is steward's own; no tool may touch it"):
            jail.resolve(path)
    assert [each.name for each in jail.list_folder(jail.root, limit=10)] == []


def test_a_hard_link_to_a_forbidden_file_is_not_opened(place):
    """P5: recognised by what it is, not by its name."""
    config = place.home / "config.toml"
    jail = Jail(root=place.root, spill_dir=place.spill, forbidden=[config])
    os.link(config, place.root / "innocent.txt")
    with pytest.raises(JailError, match="is steward's own"):
        jail.open_read(jail.resolve("innocent.txt"))
    with pytest.raises(JailError, match="is steward's own"):
        jail.write(jail.resolve("innocent.txt"), b"mine")
    assert config.read_text() == "[agents]"
    assert jail.list_folder(jail.root, limit=10) == []


def test_a_workspace_inside_the_home_works_while_the_home_stays_shut(tmp_path):
    """P5: `<home>/work/<producer>`."""
    home = tmp_path / "home"
    work = home / "work" / "briefing"
    work.mkdir(parents=True)
    (home / "work" / "other").mkdir()
    (home / "config.toml").write_text("x")
    jail = Jail(root=work, spill_dir=home / "spill", scratch_root=work, forbidden=[home])
    assert jail.write(jail.resolve("notes/today.md"), b"hello")
    assert jail.in_scratch(jail.resolve("notes/today.md"))
    for path in ("../../config.toml", "../other/x", str(home / "work"), str(home / "hooks" / "x")):
        with pytest.raises(JailError):
            jail.resolve(path)


def test_only_steward_s_work_directory_is_scratch(place):
    assert not place.jail.in_scratch(place.jail.resolve("x"))


@pytest.mark.parametrize(
    ("workspace", "said"),
    [
        ("", "holds steward's own home"),
        ("home", "holds steward's own home"),
        ("home/hooks", "is a part of steward's own home"),
        ("home/work", "is a part of steward's own home"),
        ("home/blobs/x", "is a part of steward's own home"),
        ("link", "holds steward's own home"),
    ],
)
def test_a_workspace_that_holds_or_is_steward_s_home_is_refused_with_the_way_out(
    tmp_path, workspace, said
):
    """P5."""
    (tmp_path / "home" / "work").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(JailError) as caught:
        check_workspace(tmp_path / workspace, tmp_path / "home")
    assert said in str(caught.value)
    assert "; name a folder " in str(caught.value)


@pytest.mark.parametrize(
    "steps", [["projects"], ["home", "work", "slack-1"], ["home2"], ["home", "work", "a", "b"]]
)
def test_a_workspace_beside_the_home_or_in_its_work_directory_is_fine(tmp_path, steps):
    """P5."""
    workspace = tmp_path.joinpath(*steps)
    workspace.mkdir(parents=True)
    check_workspace(workspace, tmp_path / "home")


def test_pipes_sockets_and_devices_are_refused_without_waiting(place, monkeypatch):
    """P5: opening a pipe would wait for ever."""
    os.mkfifo(place.root / "pipe")
    (place.root / "null").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(place.root)  # the path of a socket is short
        server.bind("sock")
        for name in ("pipe", "sock"):
            with pytest.raises(JailError, match="is no regular file"):
                place.read(name)
            with pytest.raises(JailError, match="is no regular file"):
                place.write(name)
    with pytest.raises(JailError, match="leads outside"):
        place.read("null")
    with pytest.raises(IsADirectoryError):
        place.read(".")


def test_a_write_is_whole_or_not_at_all_and_keeps_the_permissions(place):
    assert place.write("a/b/new.md", b"one") is True
    target = place.root / "a" / "b" / "new.md"
    assert oct(target.stat().st_mode & 0o777) == "0o644"
    target.chmod(0o640)
    assert place.write("a/b/new.md", b"two") is False
    assert target.read_bytes() == b"two"
    assert oct(target.stat().st_mode & 0o777) == "0o640"
    with pytest.raises(IsADirectoryError):
        place.write("a/b")
    with pytest.raises(NotADirectoryError):
        place.write("a/b/new.md/below")
    assert sorted(path.name for path in place.root.rglob("*")) == ["a", "b", "new.md"]


def test_special_permission_bits_are_not_kept(place):
    target = place.root / "tool"
    target.write_text("x")
    target.chmod(0o4755)
    place.write("tool", b"new")
    assert oct(target.stat().st_mode & 0o7777) == "0o755"


def test_a_listing_names_links_without_following_them(place):
    (place.root / "b.md").write_text("12345")
    (place.root / "a").mkdir()
    (place.root / "link").symlink_to(place.outside)
    os.mkfifo(place.root / "pipe")
    listed = place.jail.list_folder(place.root, limit=10)
    assert [(each.name, each.kind, each.size_bytes) for each in listed] == [
        ("a", FileKind.FOLDER, 0),
        ("b.md", FileKind.FILE, 5),
        ("link", FileKind.LINK, 0),
        ("pipe", FileKind.OTHER, 0),
    ]
    assert len(place.jail.list_folder(place.root, limit=2)) == 2


def test_a_path_that_was_not_resolved_is_judged_all_the_same(place):
    """P5: a tool that forgets to resolve opens nothing outside."""
    for path in (
        place.secret,
        place.root / ".." / "outside" / "secret.txt",
        place.home / "config.toml",
    ):
        with pytest.raises(JailError):
            place.jail.open_read(path)
        with pytest.raises(JailError):
            place.jail.write(path, b"x")
    assert place.untouched()


def test_a_link_put_there_after_the_check_is_not_followed(place):
    """P5: the file itself, and a folder on the way."""
    (place.root / "sub").mkdir()
    file, below = place.jail.resolve("file.txt"), place.jail.resolve("sub/secret.txt")
    (place.root / "file.txt").symlink_to(place.secret)
    (place.root / "sub").rmdir()
    (place.root / "sub").symlink_to(place.outside)
    for path in (file, below):
        with pytest.raises(JailError, match="became a link while it was being opened"):
            place.jail.open_read(path)
    with pytest.raises(JailError, match="became a link"):
        place.jail.write(file, b"x")
    with pytest.raises(JailError, match="became a link"):
        place.jail.write(below, b"x")
    with pytest.raises(JailError, match="became a link"):
        place.jail.list_folder(place.root / "sub", limit=10)
    assert place.untouched()


class Swapper:
    """A thread that turns a folder into a link to the outside and back, as fast as it can."""

    def __init__(self, place: Place) -> None:
        self.real, self.hidden = place.root / "sub", place.root / "hidden"
        self.link = place.root / "lure"
        self.real.mkdir()
        (self.real / "secret.txt").write_text("harmless")
        self.link.symlink_to(place.outside)
        self.stop = threading.Event()
        self.turns = 0
        self.thread = threading.Thread(target=self._swap)

    def _swap(self) -> None:
        while not self.stop.is_set():
            self._move(self.real, self.hidden)
            self._move(self.link, self.real)
            self._move(self.real, self.link)
            self._move(self.hidden, self.real)
            self.turns += 1

    def _move(self, path: Path, to: Path) -> None:
        """Past a folder that the jail made where for a moment there was none."""
        while True:
            try:
                path.rename(to)
            except OSError:
                shutil.rmtree(to, ignore_errors=True)
            else:
                return

    def __enter__(self) -> "Swapper":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join()


def attempt(do) -> bytes | bool | None:
    try:
        return do()
    except (JailError, OSError):
        return None


def test_a_path_swapped_between_check_and_open_never_escapes(place):
    """P5: a real race, with a thread that swaps while the jail reads, writes and lists."""
    seen = set()
    with Swapper(place) as swapper:
        for number in range(SWAPS):
            seen.add(attempt(lambda: place.read("sub/secret.txt")))
            attempt(lambda number=number: place.write(f"sub/new{number % 7}.txt"))
    assert swapper.turns > 0
    assert b"secret" not in seen
    assert b"harmless" in seen
    assert place.untouched()


NAMES = st.sampled_from(
    ["..", ".", "", "a", "b", "up", "out", "loop", "file", "in", "Ä", "~", "new", "/", "...", "a b"]
)


@pytest.fixture(scope="module")
def tangle(tmp_path_factory) -> Place:
    """A workspace full of links up, out, round and back."""
    place = Place(tmp_path_factory.mktemp("tangle"))
    (place.root / "a" / "b").mkdir(parents=True)
    for folder in (place.root, place.root / "a", place.root / "a" / "b"):
        (folder / "up").symlink_to("..")
        (folder / "out").symlink_to(place.outside)
        (folder / "loop").symlink_to("loop")
        (folder / "in").symlink_to(place.root / "a")
        (folder / "file").symlink_to(place.secret)
    return place


@given(parts=st.lists(NAMES, max_size=8), absolute=st.sampled_from(["", "/", "root", "spill"]))
@settings(max_examples=EXAMPLES, deadline=None)
def test_whatever_the_path_it_is_contained_or_refused(tangle, parts, absolute):
    """P5: what resolve gives lies inside, holds no link, and is a fixed point."""
    fronts = {"root": f"{tangle.root}/", "spill": f"{tangle.spill}/"}
    path = fronts.get(absolute, absolute) + "/".join(parts)
    try:
        resolved = tangle.jail.resolve(path)
    except JailError:
        return
    assert resolved.is_relative_to(tangle.root) or resolved.is_relative_to(tangle.spill)
    assert ".." not in resolved.parts
    assert tangle.jail.resolve(str(resolved)) == resolved
    assert attempt(lambda: tangle.jail.open_read(resolved).read()) != b"secret"
    if not resolved.exists() and not resolved.is_symlink():
        assert not os.path.realpath(resolved).startswith(str(tangle.outside))


class CaselessDisk:
    """A file system that finds a name in any spelling, as macOS's does."""

    def __init__(self, *paths: str) -> None:
        self.paths = {self._key(path): (number, path) for number, path in enumerate(paths)}

    @staticmethod
    def _key(path: str) -> str:
        return unicodedata.normalize("NFC", path).casefold()

    def identity(self, path: str) -> Identity | None:
        found = self.paths.get(self._key(path))
        return None if found is None else (1, found[0])

    def names(self, folder: str) -> Sequence[str]:
        return [
            os.path.basename(path)
            for _, path in self.paths.values()
            if os.path.dirname(path) == folder
        ]


CASELESS = CaselessDisk("/ws/Notes", "/ws/Notes/Caf\u00e9.md", "/ws/123")


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("/ws/notes/CAFÉ.MD", "/ws/Notes/Café.md"),
        ("/ws/Notes/Cafe\u0301.md", "/ws/Notes/Caf\u00e9.md"),
        ("/ws/Notes/Caf\u00e9.md", "/ws/Notes/Caf\u00e9.md"),
        ("/ws/NOTES/New.md", "/ws/Notes/New.md"),
        ("/ws/missing/Below.md", "/ws/missing/Below.md"),
        ("/ws/123", "/ws/123"),
    ],
)
def test_one_file_has_one_path_whatever_the_spelling(written, stored):
    """P5: case-insensitive file systems; else a file's taint would depend on how it is called."""
    assert stored_spelling(Path("/ws"), Path(written), CASELESS) == Path(stored)


def test_two_files_of_one_name_in_two_cases_stay_two_where_the_system_has_two(place):
    """P5."""
    (place.root / "a.md").write_text("lower")
    (place.root / "A.MD").write_text("upper")
    if (place.root / "a.md").read_text() == "upper":
        pytest.skip("this file system takes a.md and A.MD for one file")
    assert (place.read("a.md"), place.read("A.MD")) == (b"lower", b"upper")


def test_a_forbidden_place_is_refused_in_every_spelling(tmp_path):
    """P5: whatever the file system makes of it."""
    home = tmp_path / "ws" / "Stéward"
    home.mkdir(parents=True)
    jail = Jail(root=tmp_path / "ws", spill_dir=tmp_path / "spill", forbidden=[home])
    for path in ("STÉWARD/x", "ste\u0301ward", "Stéward/config.toml"):
        with pytest.raises(JailError, match="is steward's own"):
            jail.resolve(path)
