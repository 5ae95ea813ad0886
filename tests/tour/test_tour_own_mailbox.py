"""A person's own mailbox is copied, whatever form it has, and never touched."""

import os
from pathlib import Path

import pytest

from bot.errors import UsageProblem
from bot.tour.own_mailbox import CopyLimits, SourceKind, copy_mailbox
from makers.tour import fill_maildir, mail, tree_digest


def _contents(maildir: Path) -> list[bytes]:
    return [
        path.read_bytes() for box in ("cur", "new") for path in sorted((maildir / box).iterdir())
    ]


def test_a_maildir_is_copied_whole_with_its_flags_and_stays_as_it_was(tmp_path):
    messages = [mail(text=f"letter {n}") for n in range(4)]
    source = fill_maildir(tmp_path / "own", messages[:3])
    fill_maildir(source, messages[3:], box="new")
    before = tree_digest(source)
    copied = copy_mailbox(source, tmp_path / "copy")
    assert tree_digest(source) == before
    assert (copied.kind, copied.messages, copied.skipped) == (SourceKind.MAILDIR, 4, 0)
    assert sorted(_contents(tmp_path / "copy")) == sorted(messages)
    assert len(list((tmp_path / "copy" / "new").iterdir())) == 1
    assert all(p.name.endswith(":2,S") for p in (tmp_path / "copy" / "cur").iterdir())


@pytest.mark.parametrize("child", [".Work.Berlin", "Work/Berlin"], ids=["maildir++", "nested"])
def test_folders_inside_are_read_but_trash_and_spam_are_not(tmp_path, child):
    source = fill_maildir(tmp_path / "own", [mail(text="inbox")])
    fill_maildir(source / child, [mail(text="filed")])
    fill_maildir(source / ".Trash", [mail(text="thrown away")])
    fill_maildir(source / "Junk", [mail(text="bought nothing")])
    copy_mailbox(source, tmp_path / "copy")
    assert sorted(_contents(tmp_path / "copy")) == [mail(text="filed"), mail(text="inbox")]


def test_a_folder_that_only_holds_maildirs_is_read_as_maildirs(tmp_path):
    fill_maildir(tmp_path / "own" / "INBOX", [mail(text="one")])
    assert copy_mailbox(tmp_path / "own", tmp_path / "copy").kind is SourceKind.MAILDIR


def test_a_folder_of_eml_files_is_copied_without_what_is_no_message(tmp_path):
    source = tmp_path / "own"
    (source / "2025").mkdir(parents=True)
    (source / "a.eml").write_bytes(mail(text="a"))
    (source / "2025" / "b.EML").write_bytes(mail(text="b"))
    (source / "photo.jpg").write_bytes(b"\xff\xd8")
    (source / ".hidden.eml").write_bytes(mail(text="no"))
    before = tree_digest(source)
    copied = copy_mailbox(source, tmp_path / "copy")
    assert tree_digest(source) == before
    assert (copied.kind, copied.messages) == (SourceKind.FOLDER, 2)


def test_in_a_folder_what_begins_like_a_message_is_one_whatever_its_name(tmp_path):
    source = tmp_path / "own"
    source.mkdir()
    folded = b"Subject: a\n line\nDATE : Mon, 30 Nov 2026 08:00:00 +0100\n\nHi\n"
    kept = [mail(text="numbered"), mail(text="named").replace(b"\n", b"\r\n"), folded]
    (source / "1").write_bytes(kept[0])
    (source / "letter.txt").write_bytes(kept[1])
    (source / "3.old").write_bytes(kept[2])
    (source / "4").write_bytes(b"From ada@away.example Mon Nov 30 08:00:00 2026\n" + mail(text="x"))
    (source / "notes").write_bytes(b"Dear diary,\nFrom: nobody\n")
    (source / "keys").write_bytes(b"Key: value\nOther: value\n\nFrom: body\n")
    copied = copy_mailbox(source, tmp_path / "copy")
    assert (copied.messages, copied.skipped) == (4, 0)
    assert set(kept) < set(_contents(tmp_path / "copy"))


def test_a_place_that_cannot_be_looked_into_is_not_called_empty(tmp_path):
    """R3: what cannot be read is said to be so, and why."""
    source = tmp_path / ("n" * 300)
    with pytest.raises(UsageProblem) as caught:
        copy_mailbox(source, tmp_path / "copy")
    assert str(caught.value) == f"cannot read {source}: File name too long"


def test_an_mbox_is_split_at_separators_only_and_quoted_ones_are_restored(tmp_path):
    first = mail(text="one").replace(
        b"\n\none\n", b"\n\nFrom here on\n>From the start\n\n>>From twice\n"
    )
    stored = first.replace(b"\n>From the", b"\n>>From the").replace(
        b">>From twice", b">>>From twice"
    )
    stored = stored.replace(b"\n\nFrom here", b"\n\n>From here")
    source = tmp_path / "own.mbox"
    separator = b"From ada@away.example Mon Nov 30 08:00:00 2026\n"
    source.write_bytes(separator + stored + b"\n" + separator + mail(text="two"))
    before = source.stat().st_mtime_ns, source.read_bytes()
    copied = copy_mailbox(source, tmp_path / "copy")
    assert (source.stat().st_mtime_ns, source.read_bytes()) == before
    assert (copied.kind, copied.messages) == (SourceKind.MBOX, 2)
    assert _contents(tmp_path / "copy") == [first + b"\n", mail(text="two")]


def test_what_cannot_be_read_is_skipped_and_counted(tmp_path):
    source = fill_maildir(tmp_path / "own", [mail(text="good")])
    (source / "cur" / "empty:2,S").write_bytes(b"")
    (source / "cur" / "dangling:2,S").symlink_to(tmp_path / "nowhere")
    os.mkfifo(source / "cur" / "pipe")
    copied = copy_mailbox(source, tmp_path / "copy")
    assert (copied.messages, copied.skipped) == (1, 3)


def test_of_a_large_mailbox_the_newest_are_copied_and_the_rest_is_counted(tmp_path):
    source = fill_maildir(tmp_path / "own", [mail(text=f"n{n}") for n in range(10)])
    for number, path in enumerate(sorted((source / "cur").iterdir())):
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    copied = copy_mailbox(source, tmp_path / "copy", CopyLimits(messages=3))
    assert (copied.messages, copied.older) == (3, 7)
    assert _contents(tmp_path / "copy") == [mail(text=f"n{n}") for n in (7, 8, 9)]


def test_the_owner_is_who_most_messages_went_to(tmp_path):
    messages = [mail(to="Kim <Kim@Home.example>, all@list.example", text=f"n{n}") for n in range(3)]
    messages.append(mail(to="all@list.example, KIM@home.example", text="m"))
    messages.append(mail(to="kim@home.example", text="k"))
    fill_maildir(tmp_path / "own", messages)
    assert copy_mailbox(tmp_path / "own", tmp_path / "copy").address == "kim@home.example"


def test_the_newest_that_fit_the_bytes_are_copied(tmp_path):
    source = fill_maildir(tmp_path / "own", [mail(text="x" * 400) for _ in range(5)])
    copied = copy_mailbox(source, tmp_path / "copy", CopyLimits(total_bytes=2_500))
    assert (copied.messages, copied.older) == (2, 3)


@pytest.mark.parametrize(
    "to",
    ["undisclosed-recipients:;", "", "<[broken", "a" * 70_000],
    ids=["group", "none", "bad", "long"],
)
def test_where_no_recipient_can_be_read_no_owner_is_guessed(tmp_path, to):
    fill_maildir(tmp_path / "own", [mail(to=to)])
    assert copy_mailbox(tmp_path / "own", tmp_path / "copy").address is None


def _settings_of_a_machine(path: Path) -> None:
    """What /etc holds: files without a suffix, some of which look a little like headers."""
    (path / "ssh").mkdir(parents=True)
    (path / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (path / "hosts").write_text("127.0.0.1 localhost\n")
    (path / "debian.sources").write_text("Types: deb\nURIs: http://mirror.example\n\nFrom: x\n")
    (path / "ssh" / "rules").write_text("From: any\nallow all\n")
    (path / "shadow").write_text("secret")
    (path / "shadow").chmod(0)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda path: None,
            "no mailbox at {path}; name a Maildir, a folder of .eml files or an mbox",
        ),
        (
            lambda path: path.write_bytes(b"not mail\n"),
            "{path} is no mbox file: its first line does not begin with 'From '",
        ),
        (
            lambda path: fill_maildir(path, []),
            "{path} holds no mail; name a Maildir, a folder of .eml files or an mbox",
        ),
        (
            lambda path: fill_maildir(path, [b""]),
            "{path} holds no mail (1 could not be read); name a Maildir, a folder of .eml files or an "
            "mbox",
        ),
        (
            _settings_of_a_machine,
            "{path} holds no mail; name a Maildir, a folder of .eml files or an mbox",
        ),
    ],
    ids=["missing", "other-file", "empty", "unreadable", "settings"],
)
def test_what_is_no_mailbox_is_refused_in_one_line(tmp_path, make, text):
    path = tmp_path / "own"
    make(path)
    with pytest.raises(UsageProblem) as caught:
        copy_mailbox(path, tmp_path / "copy")
    assert str(caught.value) == text.format(path=path)


def test_the_public_corpus_is_copied_without_losing_one(corpus, tmp_path):
    copied = copy_mailbox(corpus / "mail", tmp_path / "copy")
    assert (copied.messages, copied.skipped, copied.older) == (131, 0, 0)
    originals = sorted(path.read_bytes() for path in (corpus / "mail").iterdir())
    assert sorted(_contents(tmp_path / "copy")) == originals
