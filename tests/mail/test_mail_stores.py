"""Maildir and mbox as they lie on a disk: all of it read, none of it touched."""

import hashlib
import mailbox
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from makers.mail import NOW, account, delivered, maildir, message
from tools.mail import reader, stored
from tools.mail.folders import Folder, folders_of, list_folder, sent_folder
from tools.mail.mbox import is_mbox, list_mbox
from tools.mail.read_cache import ReadCache


def tree(path: Path) -> Iterator[tuple[str, str, int, int]]:
    """Every file with its content and times: what reading must leave as it is."""
    for each in sorted(path.rglob("*")):
        facts = each.lstat()
        content = hashlib.sha256(each.read_bytes()).hexdigest() if each.is_file() else ""
        yield str(each.relative_to(path)), content, facts.st_mtime_ns, facts.st_mode


def everything(path: Path) -> None:
    """Ask every question there is."""
    cache = ReadCache()
    one = account(path)
    places = [(one, folder) for folder in folders_of(one)]
    reader.recent(places, cache, since=None, limit=50)
    reader.search(places, cache, reader.Criteria(words=("tea",)), limit=50)
    for _, folder in places:
        for each in list_folder(folder, cache)[0]:
            head = stored.read_head_of(each, cache)
            if head is not None:
                reader.thread(one, cache, head.id)


def test_reading_a_maildir_marks_nothing(tmp_path: Path) -> None:
    """E6: nothing moves from new to cur, no flag changes, no file is made."""
    box = maildir(tmp_path / "M", {delivered(NOW): message("Tea?\n")})
    (box / "new" / delivered(NOW, "2").partition(":")[0]).write_bytes(message(Message_ID="<n@x>"))
    before = list(tree(box))
    everything(box)
    assert list(tree(box)) == before


def test_reading_an_mbox_marks_nothing_and_needs_no_lock(tmp_path: Path) -> None:
    """E6: also while another program holds the file locked."""
    path = tmp_path / "inbox"
    box = mailbox.mbox(path)
    box.add(message("Tea?\n"))
    box.flush()
    box.lock()
    try:
        before = list(tree(tmp_path))
        everything(path)
        assert list(tree(tmp_path)) == before
    finally:
        box.unlock()
        box.close()


def names(path: Path, **changes: object) -> list[str]:
    return [folder.name for folder in folders_of(account(path, **changes))]


def test_subfolders_of_a_maildir_have_the_names_people_see(tmp_path: Path) -> None:
    box = maildir(tmp_path / "M")
    for name in (".Sent", ".Archive.2024", ".Entw&APw-rfe", "Plain", ".Trash"):
        maildir(box / name)
    (box / ".no-maildir").mkdir()
    assert names(box) == ["INBOX", "Archive/2024", "Entwürfe", "Plain", "Sent", "Trash"]


def test_a_tree_of_maildirs_and_a_folder_of_mbox_files_are_mailboxes(tmp_path: Path) -> None:
    maildir(tmp_path / "T" / "INBOX")
    maildir(tmp_path / "T" / "work" / "2026")
    (tmp_path / "T" / "old").write_bytes(b"From a@b Mon Jan  5 10:00:00 2026\n" + message())
    (tmp_path / "T" / "notes.txt").write_bytes(b"no mail at all\n")
    assert names(tmp_path / "T") == ["INBOX", "old", "work/2026"]


def test_sent_mail_elsewhere_is_one_of_the_folders(tmp_path: Path) -> None:
    box, sent = maildir(tmp_path / "M"), maildir(tmp_path / "elsewhere")
    assert names(box, sent=sent) == ["INBOX", "Sent"]
    assert names(box, sent=tmp_path / "missing") == ["INBOX"]


def test_a_mailbox_that_is_not_there_has_no_folders(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"just text\n")
    assert names(tmp_path / "missing") == []
    assert names(tmp_path / "file") == []


def test_the_configured_name_of_sent_mail_becomes_a_folder(tmp_path: Path) -> None:
    box = maildir(tmp_path / "M")
    assert sent_folder(box, "Sent") == box / ".Sent"
    assert sent_folder(box, "/var/mail/out") == Path("/var/mail/out")
    maildir(box / "Sent")
    assert sent_folder(box, "Sent") == box / "Sent"
    (tmp_path / "mbox").write_bytes(b"")
    assert sent_folder(tmp_path / "mbox", "Sent") == tmp_path / "Sent"


def listed(path: Path) -> list[tuple[bytes, datetime]]:
    messages, unreadable = list_mbox("INBOX", path, ReadCache())
    assert unreadable == 0
    return [(stored.read_stored(each), each.delivered) for each in messages]


def test_an_mbox_is_cut_where_messages_begin_and_nowhere_else(tmp_path: Path) -> None:
    first = message("From one solid piece it is made.\n\nFrom here on it is prose.\n>From quoted\n")
    second = message(">>From twice\n", Message_ID="<two@x>")
    path = tmp_path / "mbox"
    path.write_bytes(
        b"From ada@example.org Mon Jan  5 10:00:07 2026\n" + first + b"\n"
        b"From MAILER-DAEMON Tue Jan  6 11:00 2026 +0100\r\n" + second
    )
    (one, at), (two, later) = listed(path)
    assert one.endswith(b"\n\nFrom here on it is prose.\nFrom quoted\n\n")
    assert two.endswith(b"\n>From twice\n")
    assert at == datetime(2026, 1, 5, 10, 0, 7, tzinfo=UTC)
    assert later == datetime(2026, 1, 6, 11, 0, tzinfo=UTC)


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_the_standard_library_and_we_find_the_same_messages(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("mbox") / "box"
    box = mailbox.mbox(path)
    for number, body in enumerate(bodies):
        plain = body.replace(b"\r", b"").replace(b"From ", b"from ")
        box.add(b"Message-ID: <%d@x>\n\n" % number + plain)
    box.close()
    assert [raw.split(b"\n")[0] for raw, _ in listed(path)] == [
        b"Message-ID: <%d@x>" % number for number in range(len(bodies))
    ]


def test_a_large_mbox_is_cut_right_across_its_blocks(tmp_path: Path) -> None:
    """Separator lines that fall on the border of what is read at once are neither lost nor doubled."""
    path = tmp_path / "mbox"
    with path.open("wb") as file:
        for number in range(3_000):
            file.write(b"From a@b.example Mon Jan  5 10:00:00 2026\n")
            file.write(b"Message-ID: <%d@x>\n\n" % number + b"x" * (number % 97 * 67) + b"\n\n")
    assert path.stat().st_size > 8 * 1024 * 1024
    found = [raw.split(b"\n")[0] for raw, _ in listed(path)]
    assert found == [b"Message-ID: <%d@x>" % number for number in range(3_000)]


def test_an_mbox_that_grew_shows_the_new_message(tmp_path: Path) -> None:
    path, cache = tmp_path / "mbox", ReadCache()
    path.write_bytes(b"From a@b Mon Jan  5 10:00:00 2026\n" + message() + b"\n")
    assert len(list_mbox("INBOX", path, cache)[0]) == 1
    with path.open("ab") as file:
        file.write(b"From a@b Mon Jan  5 11:00:00 2026\n" + message(Message_ID="<b@x>"))
    assert len(list_mbox("INBOX", path, cache)[0]) == 2


def test_what_is_no_mbox_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "letter").write_bytes(b"From me to you, with love.\n")
    os.mkfifo(tmp_path / "pipe")
    assert not is_mbox(tmp_path / "letter")
    assert not is_mbox(tmp_path / "pipe")
    assert not is_mbox(tmp_path)


def inbox(path: Path) -> list[tuple[object, Folder]]:
    return [(account(path), Folder(name="INBOX", path=path))]


def recent(path: Path, cache: ReadCache | None = None, **facts: object) -> reader.Answer:
    options = {"since": None, "limit": 50, **facts}
    return reader.recent(inbox(path), cache or ReadCache(), **options)  # type: ignore[arg-type]


def test_messages_that_cannot_be_read_are_counted_and_hide_nothing(tmp_path: Path) -> None:
    box = maildir(tmp_path / "M", {delivered(NOW): message()})
    os.mkfifo(box / "cur" / delivered(NOW, "pipe"))
    (box / "cur" / delivered(NOW, "link")).symlink_to(tmp_path / "secret")
    (tmp_path / "secret").write_bytes(message(Subject="Secret"))
    (box / "cur" / delivered(NOW, "folder")).mkdir()
    (box / "cur" / delivered(NOW, "empty")).write_bytes(b"")
    (box / "cur" / ".hidden").write_bytes(b"x")
    answer = recent(box)
    assert sorted(found.head.subject or "" for found in answer.found) == ["", "Tea"]
    assert answer.unreadable == 3


def test_a_message_that_is_moved_while_it_is_read_is_found_under_its_new_name(
    tmp_path: Path,
) -> None:
    """E6: another mail program moves it from new to cur between listing and reading."""
    box = maildir(tmp_path / "M")
    fresh = box / "new" / "1764493200.M1[x]P1.host"
    fresh.write_bytes(message())
    (each,), _ = list_folder(Folder(name="INBOX", path=box), ReadCache())
    fresh.rename(box / "cur" / f"{fresh.name}:2,S")
    assert stored.read_stored(each) == message()
    (box / "cur" / f"{fresh.name}:2,S").unlink()
    assert stored.read_head_of(each, ReadCache()) is None


def test_a_mailbox_that_changes_all_the_time_never_makes_reading_raise(tmp_path: Path) -> None:
    box = maildir(tmp_path / "M")
    stop = threading.Event()

    def churn() -> None:
        number = 0
        while not stop.is_set():
            path = box / "cur" / delivered(NOW, str(number % 20))
            if path.exists():
                path.unlink()
            else:
                path.write_bytes(message(Message_ID=f"<{number}@x>"))
            number += 1

    worker = threading.Thread(target=churn)
    worker.start()
    try:
        for _ in range(60):
            recent(box)
    finally:
        stop.set()
        worker.join()


def test_a_message_keeps_its_head_when_only_its_flags_change(tmp_path: Path) -> None:
    box, cache = maildir(tmp_path / "M", {delivered(NOW): message()}), ReadCache()
    (before,) = recent(box, cache).found
    path = box / "cur" / delivered(NOW)
    path.rename(str(path) + "R")
    (after,) = recent(box, cache).found
    assert after.head is before.head


def test_the_newest_come_first_by_when_they_were_sent(tmp_path: Path) -> None:
    """An imported mailbox keeps its years; a date in the future counts as its arrival."""
    hour = timedelta(hours=1)
    box = maildir(
        tmp_path / "M",
        {
            delivered(NOW, "imported"): message(
                Subject="2011", Date="Mon, 3 Jan 2011 10:00:00 +0000"
            ),
            delivered(NOW - 30 * hour, "future"): message(
                Subject="3609", Date="Sat, 30 Jun 3609 15:33:50 +0600"
            ),
            delivered(NOW - hour, "undated"): message(Subject="undated", Date=""),
            delivered(NOW - 2 * hour, "today"): message(
                Subject="today", Date="Mon, 30 Nov 2026 07:15:00 +0000"
            ),
        },
    )
    assert [found.head.subject for found in recent(box).found] == [
        "undated", "today", "3609", "2011",
    ]  # fmt: skip
    newest = recent(box, since=NOW - timedelta(days=2))
    assert [found.head.subject for found in newest.found] == ["undated", "today", "3609"]
    assert newest.total == 3
    assert [found.head.subject for found in recent(box, limit=1).found] == ["undated"]
    assert recent(box, limit=1).total == 4


AGES = st.lists(
    st.tuples(st.integers(0, 400), st.one_of(st.none(), st.integers(-10, 400))),
    min_size=1,
    max_size=25,
)


@given(AGES, st.integers(1, 8), st.one_of(st.none(), st.integers(0, 400)))
@settings(max_examples=60, deadline=None)
def test_looking_at_few_files_finds_the_same_as_looking_at_all(
    tmp_path_factory: pytest.TempPathFactory,
    ages: list[tuple[int, int | None]],
    limit: int,
    days: int | None,
) -> None:
    """The bound that spares opening old files never hides a newer message."""
    box = maildir(tmp_path_factory.mktemp("box"))
    moments: list[datetime] = []
    for number, (arrived, sent) in enumerate(ages):
        arrival = (NOW - timedelta(days=arrived)).replace(microsecond=0)
        date = None if sent is None else NOW - timedelta(days=sent)
        late = date is None or date > arrival + timedelta(days=1)
        moments.append(arrival if late or date is None else date)
        written = "" if date is None else date.strftime("%a, %d %b %Y %H:%M:%S +0000")
        data = message(Date=written, Message_ID=f"<{number}@x>")
        (box / "cur" / delivered(arrival, str(number))).write_bytes(data)
    since = None if days is None else NOW - timedelta(days=days)
    fitting = sorted((each for each in moments if since is None or each >= since), reverse=True)
    answer = recent(box, since=since, limit=limit)
    assert [found.moment for found in answer.found] == fitting[:limit]
    assert answer.total == len(fitting)


def test_a_mailbox_of_many_messages_lists_the_newest_without_opening_the_old(
    tmp_path: Path,
) -> None:
    box = maildir(tmp_path / "M")
    for number in range(3_000):
        when = NOW - timedelta(hours=12 * number)
        data = message(
            Message_ID=f"<{number}@x>", Date=when.strftime("%a, %d %b %Y %H:%M:%S +0000")
        )
        (box / "cur" / delivered(when, str(number))).write_bytes(data)
    cache = ReadCache()
    answer = recent(box, cache, limit=20)
    assert [found.head.id for found in answer.found] == [f"<{n}@x>" for n in range(20)]
    assert answer.total == 3_000
    opened = sum(
        cache.heads.get(each.key) is not None
        for each in list_folder(Folder(name="INBOX", path=box), cache)[0]
    )
    assert opened < 40


def test_the_cache_of_heads_is_bounded() -> None:
    cache = ReadCache(max_heads=2)
    head = stored.head_of(stored.split_head(message())[0])
    for key in ("a", "b", "c"):
        cache.heads.put(key, head)
    assert [cache.heads.get(key) is head for key in ("a", "b", "c")] == [False, True, True]
