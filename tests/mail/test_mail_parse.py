"""Reading bytes: nothing raises, nothing explodes, and the text comes out."""

import base64
import resource
import string
import time
from email import message_from_bytes, policy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from makers.mail import message, read_head
from tools.mail.body import BodyKind
from tools.mail.charsets import decode_text
from tools.mail.dates import format_date, parse_date
from tools.mail.heads import is_synthetic
from tools.mail.html_text import html_to_text
from tools.mail.mime import MAX_PARTS, parse_structure
from tools.mail.parameters import parse_parameterised, safe_filename
from tools.mail.parse import parse_message
from tools.mail.plain_text import tidy, unflow
from tools.mail.words import decode_words, header_text

OWN = Path(__file__).parents[1] / "data" / "mail"
HEAD = b"From: a@example.org\nTo: b@example.org\nSubject: x\nMessage-ID: <x@example.org>\n"


def mixed(*parts: bytes, boundary: bytes = b"cut") -> bytes:
    delimited = b"".join(b"--" + boundary + b"\n" + part + b"\n" for part in parts)
    kind = b"Content-Type: multipart/mixed; boundary=" + boundary + b"\n\n"
    return HEAD + kind + delimited + b"--" + boundary + b"--\n"


FRAGMENTS = st.sampled_from(
    [path.read_bytes() for path in sorted(OWN.glob("*.eml"))]
    + [
        b"Content-Type: multipart/mixed; boundary=", b"--cut\n", b"--cut--", b"\r\n\r\n", b"\n ",
        b"=?utf-8?B?", b"?=", b"Content-Transfer-Encoding: base64\n", b"(((", b'"', b"<", b">,;:@",
        b"Content-Type: text/html\n\n<table><td>", b"Content-Type: message/rfc822\n\n", b"\x00\xff",
        b"Content-Disposition: attachment; filename*0*=utf-8''%", b"Date: ", b"charset=utf-16\n",
    ]
)  # fmt: skip


@given(st.lists(st.one_of(FRAGMENTS, st.binary(max_size=40)), max_size=12))
@settings(max_examples=300, deadline=None)
def test_no_bytes_at_all_make_reading_raise(pieces: list[bytes]) -> None:
    """E1: fragments of real mail and noise in any order are read as something."""
    read = parse_message(b"".join(pieces))
    assert isinstance(read.text, str)
    assert read.head.id.startswith("<")


@given(st.sampled_from(sorted(OWN.glob("*.eml"))), st.data())
@settings(max_examples=200, deadline=None)
def test_a_message_cut_anywhere_is_still_read(path: Path, data: st.DataObject) -> None:
    raw = path.read_bytes()
    parse_message(raw[: data.draw(st.integers(0, len(raw)))])


def test_the_tree_agrees_with_the_standard_library_on_every_public_message(corpus: Path) -> None:
    """Both see the same leaves, where the standard library reports no defect."""
    compared = 0
    for path in sorted((corpus / "mail").iterdir()):
        raw = path.read_bytes()
        standard = message_from_bytes(raw, policy=policy.compat32)
        if any(part.defects for part in standard.walk()) or raw.startswith((b"From ", b" ")):
            continue
        if not standard.is_multipart() or standard.get_content_type() == "message/rfc822":
            continue
        leaves = [part.get_content_type() for part in standard.walk() if not part.is_multipart()]
        inner = any(part.get_content_maintype() == "message" for part in standard.walk())
        ours = [part.media_type for part in parse_structure(raw).root.walk() if not part.children]
        if not inner:
            assert ours == leaves, path.name
            compared += 1
    assert compared > 20


def test_thirty_megabytes_attached_cost_no_memory_and_the_text_comes_out() -> None:
    """E1: a part nobody reads is neither copied nor decoded."""
    blob = base64.encodebytes(bytes(22_000_000))
    raw = mixed(
        b"Content-Type: application/pdf; name=big.pdf\nContent-Transfer-Encoding: base64\n\n"
        + blob,
        b"Content-Type: text/plain\n\nHere is the plan.",
    )
    before = peak_kib()
    started = time.process_time()
    read = parse_message(raw)
    assert read.text == "Here is the plan."
    assert [each.name for each in read.attachments] == ["big.pdf"]
    assert peak_kib() - before < 20_000
    assert time.process_time() - started < 5


def test_thirty_megabytes_of_text_come_out_whole() -> None:
    """E1: the full text is kept; the output budget outside is what cuts it."""
    line = b"All work and no play makes Jack a dull boy.\n"
    read = parse_message(HEAD + b"\n" + line * 700_000)
    assert len(read.text) == 700_000 * len(line) - 1
    assert read.capped == ()


def peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_ten_thousand_parts_are_all_read() -> None:
    """E1: in a time that does not grow with their square."""
    parts = [b"Content-Type: text/plain\n\npart %d" % number for number in range(10_000)]
    started = time.process_time()
    read = parse_message(mixed(*parts))
    assert read.text.startswith("part 0\n\npart 1\n")
    assert read.text.endswith("part 9999")
    assert time.process_time() - started < 10


def test_more_parts_than_the_cap_are_said_to_be_left_out() -> None:
    read = parse_message(mixed(*[b"\nx"] * (MAX_PARTS + 1)))
    assert read.capped == (f"only the first {MAX_PARTS} parts were read",)


@pytest.mark.parametrize(
    "raw",
    [
        HEAD + b"Cc: " + b"(" * 60_000 + b")\n\nx",
        HEAD + b"Cc: " + b'"' * 60_000 + b"\n\nx",
        HEAD + b"Cc: " + b"<" * 60_000 + b"\n\nx",
        HEAD + b"X: " + b"\n a" * 40_000 + b"\n\nx",
        HEAD + b"Subject: " + b"=?utf-8?q?" * 6_000 + b"\n\nx",
        HEAD + b"Content-Type: text/plain" + b';a="' * 10_000 + b"\n\nx",
        HEAD + b"References: " + b"<a@b" * 15_000 + b"\n\nx",
        HEAD + b'Content-Type: multipart/mixed; boundary="-"\n\n' + b"\n---x" * 400_000,
        HEAD
        + b"".join(
            b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(400)
        )
        + b"Content-Type: text/plain\n\nx",
        HEAD + b"Content-Type: text/html\n\n" + b"<div>" * 50_000 + b"x",
        HEAD + b"Content-Type: text/html\n\n" + b"<" * 500_000 + b"x",
        HEAD + b"Content-Type: text/html\n\n" + b"<!--" * 100_000 + b"x",
        HEAD + b"Content-Type: text/plain; format=flowed\n\n" + b"> x \n" * 500_000,
        HEAD + b"\n" + b"A" * 76 + b"\nx" * 200_000,
        HEAD + b"\n" + b"begin 644 x\n" * 100_000,
    ],
    ids=[
        "brackets", "quotes", "angles", "folds", "words", "parameters", "identifiers",
        "delimiters", "nesting", "divs", "tags", "comments", "flowed", "runs", "uu",
    ],
)  # fmt: skip
def test_nothing_a_stranger_writes_takes_long(raw: bytes) -> None:
    started = time.process_time()
    read = parse_message(raw)
    assert "x" in read.text or read.body is BodyKind.HTML
    assert time.process_time() - started < 8


def test_text_nested_too_deep_to_be_laid_out_keeps_its_words() -> None:
    assert "the offer" in html_to_text("<div>" * 5_000 + "the offer")
    assert "the offer" in html_to_text("<table><tr><td>" * 2_000 + "the offer")


def test_hidden_preheaders_are_dropped_and_links_kept() -> None:
    html = '<p style="display:none">x</p><a href="https://a.example/b">there</a><img src="t.gif">'
    assert html_to_text(html).strip() == "[there](https://a.example/b)"


def test_a_forwarded_message_is_read_below_the_message() -> None:
    """E1: its text comes out, labelled, and does not count as the body."""
    read = parse_message((OWN / "forwarded_message.eml").read_bytes())
    assert read.text == (
        "See below.\n\n----- Attached message -----\nFrom: Tiler <tiler@roof.example>\n"
        "To: sam@example.net\nDate: none\nSubject: Roof\n\nThe tiles come on Friday."
    )


def test_encoded_runs_are_replaced_by_their_size() -> None:
    """E1: base64 and uuencoded runs inside a text."""
    read = parse_message((OWN / "encoded_run.eml").read_bytes())
    assert read.text == (
        "Before.\n[uuencoded file pic.gif, 1263 characters, left out]\n"
        "[encoded data, 1386 characters, left out]\nAfter."
    )


def test_the_alternative_that_says_something_is_shown_once() -> None:
    plain, html = b"Content-Type: text/plain\n\n \n", b"Content-Type: text/html\n\n<p>Hello</p>"
    raw = mixed(plain, html).replace(b"multipart/mixed", b"multipart/alternative")
    assert parse_message(raw).text.strip() == "Hello"
    both = mixed(plain.replace(b" \n", b"Hi\n"), html).replace(b"/mixed", b"/alternative")
    assert parse_message(both).text.strip() == "Hi"


@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        (b"caf\xc3\xa9", "utf-8", "café"),
        (b"caf\xc3\xa9", None, "café"),
        (b"caf\xe9", "utf-8", "café"),
        (b"caf\xe9", None, "café"),
        (b"\x93x\x94 \x96", "iso-8859-1", "“x” –"),
        (b"caf\xe9", "no-such-charset", "café"),
        (b"caf\xc3\xa9", "us-ascii", "café"),
        (b"abc", "idna", "abc"),
        (b"abc", "x\x00y", "abc"),
        (b"abc", "hex", "abc"),
        (b"\x1b$B$3\x1b(B", "iso-2022-jp", "こ"),
        (b"\xbd\xba\xc6\xbc\xc7\xd8", "ks_c_5601-1987", "스티해"),
        ("Привет, как дела?".encode("cp1251"), None, "Привет, как дела?"),
        ("Привет, как дела?".encode("koi8-r"), "koi8-r", "Привет, как дела?"),
        (b"a+2AA-b", "utf-7", "a\ufffdb"),
        (b"", None, ""),
    ],
)
def test_bytes_become_the_text_they_were(data: bytes, declared: str | None, text: str) -> None:
    """E1: unknown charset, wrong charset, windows-1252 without a charset."""
    assert decode_text(data, declared) == text


@given(st.binary(max_size=300), st.one_of(st.none(), st.text(max_size=12)))
def test_no_bytes_and_no_charset_make_decoding_raise(data: bytes, declared: str | None) -> None:
    decode_text(data, declared).encode("utf-8")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b" =?utf-8?B?w6Q=?= =?utf-8?Q?=C3=B6?=", "äö"),
        (b" =?utf-8?B?w6Q=?= and =?utf-8?Q?=C3=B6?=", "ä and ö"),
        (b" =?utf-8?B?w?= =?utf-8?B?6Q=?=", "=?utf-8?B?w?= é"),
        (b" =?utf-8?Q?a=0D=0AFrom:_b?=", "a From: b"),
        (b" =?utf-8?Q?a_b?=", "a b"),
        (b" =?bad?X?zz?=", "=?bad?X?zz?="),
        (b" =?utf-8*en?Q?hi?=", "hi"),
        (b" folded\r\n value", "folded value"),
        (b" caf\xe9", "café"),
    ],
)
def test_header_text_is_one_line_of_what_was_meant(raw: bytes, text: str) -> None:
    assert header_text(raw) == text


@given(st.text())
def test_decoding_words_never_raises_and_leaves_plain_text_alone(text: str) -> None:
    assert decode_words(text) == text or "=?" in text


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b'attachment; filename="../../etc/passwd"', "passwd"),
        (b'attachment; filename="C:\\\\dir\\\\x.exe"', "x.exe"),
        (b'attachment; filename*0="long"; filename*1="er.txt"', "longer.txt"),
        (b"attachment; filename*=utf-8''%e2%82%ac.txt; filename=e.txt", "€.txt"),
        (b"attachment; filename==?utf-8?B?w6QudHh0?=", "ä.txt"),
        (b'attachment; filename="a\x00b\x1b[1m.txt"', "a b [1m.txt"),
        ('attachment; filename="a\u202egpj.exe"'.encode(), "agpj.exe"),
        (b'attachment; filename=".."', ""),
        (b'attachment; filename="' + b"x" * 300 + b'.pdf"', "x" * 100 + ".pdf"),
    ],
)
def test_file_names_from_outside_cannot_climb_or_hide(raw: bytes, name: str) -> None:
    assert safe_filename(parse_parameterised(raw).parameters["filename"]) == name


@given(st.text(max_size=80))
def test_a_safe_file_name_stays_one_short_component(text: str) -> None:
    name = safe_filename(text)
    assert len(name) <= 120
    assert not set(name) & set('/\\<>:"|?*')
    assert name.isprintable() or not name.isascii()
    assert name not in {".", ".."}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Mon, 30 Nov 2026 09:15:00 +0100", "Mon, 30 Nov 2026 09:15:00 +0100"),
        ("30 Nov 2026 09:15 EST", "Mon, 30 Nov 2026 09:15:00 -0500"),
        ("Mon, 30 Nov 26 09:15:00 -0000", "Mon, 30 Nov 2026 09:15:00 +0000"),
        ("Mon, 30 Nov 2026 09:15:00 (comment) +0530", "Mon, 30 Nov 2026 09:15:00 +0530"),
        ("Mon, 30 Nov 2026 09:15:00 +9999", None),
        ("Mon, 31 Feb 2026 09:15:00 +0000", None),
        ("Fri, 31 Dec 9999 23:00:00 -1200", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates_keep_the_offset_that_was_written(text: str, shown: str | None) -> None:
    moment = parse_date(text)
    assert (None if moment is None else format_date(moment)) == shown


@given(st.text(alphabet=string.printable, max_size=60))
def test_no_text_makes_reading_a_date_raise(text: str) -> None:
    moment = parse_date(text)
    assert moment is None or moment.tzinfo is not None


@pytest.mark.parametrize(
    ("value", "message_id"),
    [
        (b"<a@b>", "<a@b>"),
        (b"<[abc]@x>", "<[abc]@x>"),
        (b"<a b@x>", "<ab@x>"),
        (b"\r\n <folded@x>", "<folded@x>"),
        (b"bare@example.org", "<bare@example.org>"),
        (b"(comment) <a@b> <c@d>", "<a@b>"),
    ],
)
def test_message_ids_are_read_whole(value: bytes, message_id: str) -> None:
    assert read_head(b"Message-ID: " + value + b"\n\n").message_id == message_id


def test_a_message_without_an_id_gets_the_same_one_every_time() -> None:
    one, other = message(Message_ID=""), message(Message_ID="", Subject="Coffee")
    assert read_head(one).id == read_head(one).id
    assert read_head(one).id != read_head(other).id
    assert is_synthetic(read_head(one).id)
    assert read_head(one).message_id is None


def test_all_reference_fields_count_and_each_id_once() -> None:
    head = read_head(b"References: <a@x> <b@x>\nReferences: <b@x> <c@x>\nIn-Reply-To: <c@x>\n\n")
    assert head.references == ("<a@x>", "<b@x>", "<c@x>")
    assert head.parents == ("<a@x>", "<b@x>", "<c@x>")


def test_flowed_paragraphs_are_joined_and_the_signature_mark_stays() -> None:
    assert unflow("one \ntwo\n> q \n> r\n-- \nSam", delete_space=False) == (
        "one two\n> q r\n-- \nSam"
    )
    assert unflow("ab \ncd", delete_space=True) == "abcd"


@given(st.text(alphabet=" ab>\n-", max_size=60), st.booleans())
def test_joining_flowed_lines_loses_no_letter(text: str, delete_space: bool) -> None:
    letters = [char for char in text if char in "ab"]
    assert [char for char in unflow(text, delete_space=delete_space) if char in "ab"] == letters


def test_short_encoded_looking_lines_stay() -> None:
    text = "\n".join(["A" * 64] * 4) + "\n"
    assert tidy(text) == text
