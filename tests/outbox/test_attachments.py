"""What a reviewer sees of an attachment: all of its text, or that it cannot be shown."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makers.outbox import SHAPE, World, a_draft
from outbox.attachments import TEXT_LIMIT, attached, entries
from outbox.journal import Origin
from outbox.judge import Judge, subject_of
from outbox.marks import blocks_unread, needs_confirmation
from outbox.review import project, render
from outbox.visible import GUTTER


def args_with(name, data, media_type="text/plain"):
    """Arguments that attach this, and where its bytes are found."""
    sha = hashlib.sha256(data).hexdigest()
    entry = {"name": name, "media_type": media_type, "size_bytes": len(data), "sha256": sha}
    return {**a_draft().args, "attachments": [entry]}, {sha: data}.get


def seen(name, data, media_type="text/plain"):
    (only,) = attached(*args_with(name, data, media_type))
    return only


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"", "text/plain"),
        (b"one\ntwo\t3\r\n", "text/plain"),
        ("caf\u00e9".encode(), "text/markdown"),
        (b'{"a": 1}', "application/json"),
        (b"FROM scratch", "application/octet-stream"),
        (b"x" * TEXT_LIMIT, "text/csv"),
    ],
)
def test_text_is_shown_whole(data, media_type):
    assert seen("a.txt", data, media_type).text == data.decode()


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"x" * (TEXT_LIMIT + 1), "text/plain"),
        (b"\xff\xfe", "text/plain"),
        (b"a\x00b", "text/plain"),
        (b"a\x1b[2J", "text/plain"),
        (b"%PDF-1.4 all of it is text", "application/pdf"),
        (b"<svg/>", "image/svg+xml"),
    ],
    ids=["too long", "no UTF-8", "a zero byte", "an escape", "a PDF", "a drawing"],
)
def test_what_is_no_plain_text_is_not_shown_at_all(data, media_type):
    assert seen("a.txt", data, media_type).text is None


@pytest.mark.parametrize(
    ("name", "data", "media_type", "odd"),
    [
        ("invoice.pdf.exe", b"MZ\x90\x00", "application/x-msdownload", "looks like .pdf and ends in .exe"),
        ("run.sh", b"#!/bin/sh", "text/x-sh", "ends in .sh, which runs as a program"),
        ("invoice.pdf", b"MZ\x90\x00", "application/pdf", "begins like a Windows program"),
        ("invoice.pdf", b"hello", "application/pdf", "does not begin like a PDF"),
        ("a.txt", b"%PDF-1.4", "text/plain", "begins like a PDF"),
        ("a.png", b"\xff\xd8\xff", "image/png", "begins like a JPEG picture"),
        ("plan.pdf      .txt", b"x", "text/plain", "blanks in its name"),
    ],
)  # fmt: skip
def test_a_name_or_type_that_does_not_fit_is_told(name, data, media_type, odd):
    assert any(odd in each for each in seen(name, data, media_type).oddities)


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("plan.v2.pdf", b"%PDF-1.7", "application/pdf"),
        ("notes.tar.gz", b"\x1f\x8b", "application/octet-stream"),
        ("table.xlsx", b"PK\x03\x04", "application/vnd.openxmlformats-officedocument.sheet"),
        ("notes.md", b"# Notes", "text/markdown"),
        ("photo.jpeg", b"\xff\xd8\xff\xe0", "image/jpeg"),
    ],
)
def test_an_ordinary_file_has_nothing_odd(name, data, media_type):
    assert seen(name, data, media_type).oddities == ()


def test_bytes_that_are_gone_are_told_and_not_shown():
    args, _ = args_with("a.txt", b"x")
    (only,) = attached(args, lambda sha: None)
    assert only.text is None
    assert only.oddities == ("its bytes are not kept here any more",)


def test_an_attachment_is_found_wherever_it_stands():
    args = {"files": {"first": {"sha256": "a"}}, "more": [[{"sha256": "b"}], {"sha256": 1}]}
    assert [path for path, _ in entries(args)] == ["files.first", "more[0][0]"]


@given(st.text(alphabet="ab\u202e\u27e6 \n", max_size=40))
def test_a_text_stands_behind_the_gutter_and_imitates_nothing(text):
    args, content = args_with("a.txt", text.encode())
    review = project(a_draft(args=args), SHAPE, attached(args, content))
    (shown,) = review.contents
    assert all(line.startswith((GUTTER, "  \u27e6")) for line in shown.lines)
    assert shown.title == f"attachment 1, a.txt (text/plain, {len(text.encode())} bytes):"


def test_a_review_shows_text_whole_and_says_what_it_does_not_show():
    args, content = args_with("invoice.pdf.exe", b"MZ\x90\x00", "application/x-msdownload")
    text = render(project(a_draft(args=args), SHAPE, attached(args, content)))
    assert (
        "attachment 1, invoice.pdf.exe (application/x-msdownload, 4 bytes): not shown\n"
        "  !! its name looks like .pdf and ends in .exe, which runs as a program\n"
    ) in text
    args, content = args_with("a.csv", b"a,b\r\n1,2\r\n", "text/csv")
    text = render(project(a_draft(args=args), SHAPE, attached(args, content)))
    assert (
        "attachment 1, a.csv (text/csv, 10 bytes):\n  \u2502 a,b\n  \u2502 1,2\n  \u2502 \n"
    ) in text


def judged(tmp_path, name, data, media_type):
    """The marks of a draft to somebody known that attaches this; a stranger named evil.example."""
    world = World(tmp_path)
    sha = world.blobs.put(data)
    entry = {"name": name, "media_type": media_type, "size_bytes": len(data), "sha256": sha}
    known = Judge(text=world.words, records=world.records, content=world.blobs.find)
    world.records.known = frozenset({"address:ada@example.org"})
    world.words.add(Origin.THIRD_PARTY, "pay at https://evil.example/pay", source="mail_recent")
    draft = a_draft(args={**a_draft().args, "attachments": [entry]})
    with world.store.read() as session:
        return known.marks(session, subject_of(draft, SHAPE))


@pytest.mark.parametrize(
    ("name", "data", "media_type", "codes"),
    [
        ("a", b"text", "text/plain", []),
        ("a", b"%PDF-1", "application/pdf", ["opaque"]),
        ("a", b"<p hidden>no</p>", "text/html", ["opaque"]),
        ("a", b"<p>no</p>", "TEXT/HTML; charset=utf-8", ["opaque"]),
        ("a", b"<p>no</p>", "application/xhtml+xml", ["opaque"]),
        ("a", b"<a/>", "application/xml", ["opaque"]),
        ("a.HTM", b"<p>no</p>", "text/plain", ["opaque"]),
    ],
)
def test_what_cannot_be_shown_is_asked_for_by_itself(tmp_path, name, data, media_type, codes):
    """O11"""
    found = judged(tmp_path, name, data, media_type)
    assert [mark.code.value for mark in found] == codes
    assert [mark.path for mark in found] == ["attachments[0]"] * len(codes)
    assert blocks_unread(found) is needs_confirmation(found) is bool(codes)


def test_a_page_is_shown_as_its_source_and_told_to_be_one():
    page = seen("a.html", b"<p>hi</p>", "text/html")
    assert (page.text, page.is_markup) == ("<p>hi</p>", True)


def test_a_strangers_link_inside_an_attached_text_is_marked_there(tmp_path):
    """O16: a file carries a planted link as well as the body does."""
    (mark,) = judged(tmp_path, "a.txt", b"see https://evil.example/pay?x=1\n", "text/plain")
    assert (mark.code.value, mark.path) == ("link", "attachments[0]")
    assert "https://evil.example/pay?x=1" in mark.text
