"""What goes out is what the draft says: the bytes read back the same, here and elsewhere."""

import re
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.utils import parseaddr
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from makers.mail import NOW, read_head
from tools.mail.addresses import Address
from tools.mail.compose import MAX_LINE_BYTES, AttachedBytes, Outgoing, compose, wire_body
from tools.mail.header_lines import HeaderError
from tools.mail.mime import parse_structure
from tools.mail.parameters import safe_filename
from tools.mail.parse import parse_message

KEY = "<01.ab@example.net>"
ADA = Address(name="Ada Lovelace", address="ada@example.org")
SAM = Address(name="Sam Reed", address="sam@example.net")


def mail(**changes: Any) -> Outgoing:
    facts: dict[str, Any] = {"sender": SAM, "to": (ADA,), "subject": "Tea", "body": "At four?\n"}
    return Outgoing(**{**facts, **changes})


def composed(**changes: Any) -> bytes:
    return compose(mail(**changes), message_id=KEY, date=NOW)


def test_a_small_mail_is_exactly_these_bytes() -> None:
    assert composed(cc=(SAM,), in_reply_to="<a@x>", references=("<r@x>", "<a@x>")) == (
        b"Date: Mon, 30 Nov 2026 09:15:00 +0000\r\n"
        b"From: Sam Reed <sam@example.net>\r\n"
        b"To: Ada Lovelace <ada@example.org>\r\n"
        b"Cc: Sam Reed <sam@example.net>\r\n"
        b"Subject: Tea\r\n"
        b"Message-ID: <01.ab@example.net>\r\n"
        b"In-Reply-To: <a@x>\r\n"
        b"References: <r@x> <a@x>\r\n"
        b"MIME-Version: 1.0\r\n"
        b"Content-Type: text/plain; charset=us-ascii\r\n"
        b"Content-Transfer-Encoding: 7bit\r\n"
        b"\r\n"
        b"At four?\r\n"
    )


def test_the_same_input_gives_the_same_bytes() -> None:
    """Also with attachments, whose delimiter is made of nothing but the mail itself."""
    attached = (AttachedBytes(name="a.bin", media_type="application/octet-stream", data=b"\x00"),)
    assert composed(attachments=attached) == composed(attachments=attached)


VISIBLE = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp", "Cf"])
SUBJECTS = st.text(VISIBLE, max_size=120).map(lambda text: " ".join(text.split()))
NAMES = st.text(VISIBLE, max_size=60).map(lambda text: " ".join(text.split()))
BODIES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=400)


def plausible(name: str) -> bool:
    """False for a name that is itself an encoded word: reading decodes those."""
    return "=?" not in name


@given(SUBJECTS, st.lists(NAMES.filter(plausible), min_size=1, max_size=4), BODIES)
@settings(max_examples=200, deadline=None)
@example("=?utf-8?B?w6Q=?=", ["a"], "x" * 3_000)
@example("a" * 200, ["ü" * 60, '"', "\\", "a, b", "(c)"], ".\r\n.\n=\t \nFrom x\n")
def test_headers_and_body_read_back_exactly(subject: str, names: list[str], body: str) -> None:
    people = tuple(Address(name=name, address=f"p{n}@x.example") for n, name in enumerate(names))
    raw = composed(subject=subject, to=people, cc=people[:1], body=body)
    head = read_head(raw)
    assert head.subject == subject
    assert head.to == people
    assert head.cc == people[:1]
    assert head.sender == (SAM,)
    assert head.message_id == KEY
    assert head.date == NOW
    root = parse_structure(raw).root
    assert root.decoded().decode().replace("\r\n", "\n") == wire_body(body)


@given(SUBJECTS.filter(plausible), NAMES.filter(plausible), BODIES)
@settings(max_examples=100, deadline=None)
def test_the_standard_library_reads_the_same(subject: str, name: str, body: str) -> None:
    """A reader that shares no code with the writer agrees.

    Names go through its older reader: before 3.13 the newer one leaves a blank between two encoded
    words of a name, against RFC 2047 section 6.2.
    """
    raw = composed(subject=subject, to=(Address(name=name, address="p@x.example"),), body=body)
    assert str(message_from_bytes(raw, policy=policy.default)["subject"]) == subject
    read = message_from_bytes(raw, policy=policy.compat32)
    display, address = parseaddr(re.sub(r"\r?\n", "", read["to"]))
    assert (str(make_header(decode_header(display))), address) == (name, "p@x.example")
    content = read.get_payload(decode=True)
    assert isinstance(content, bytes)
    assert content.decode().replace("\r\n", "\n") == wire_body(body)


@given(SUBJECTS, BODIES, st.lists(st.tuples(NAMES, st.binary(max_size=500)), max_size=3))
@settings(max_examples=100, deadline=None)
def test_every_line_is_seven_bit_and_short_enough(
    subject: str, body: str, files: list[tuple[str, bytes]]
) -> None:
    """RFC 5321 section 4.5.3.1.6; bare CR or LF never occurs."""
    attached = tuple(
        AttachedBytes(
            name=safe_filename(name) or "x", media_type="application/octet-stream", data=data
        )
        for name, data in files
    )
    raw = composed(subject=subject, body=body, attachments=attached)
    assert raw.isascii()
    assert max(len(line) for line in raw.split(b"\r\n")) <= MAX_LINE_BYTES
    assert b"\r" not in raw.replace(b"\r\n", b"")
    assert b"\n" not in raw.replace(b"\r\n", b"")
    read = parse_message(raw)
    assert len(read.attachments) == len(files)
    parts = parse_structure(raw).root.children[1:]
    assert [part.decoded() for part in parts] == [data for _, data in files]


def test_long_headers_fold_and_read_back() -> None:
    references = tuple(f"<{number:040}@long.example>" for number in range(40))
    people = tuple(Address(name=f"Person {n}", address=f"p{n}@x.example") for n in range(60))
    raw = composed(references=references, to=people, subject="word " * 60 + "end")
    assert max(len(line) for line in raw.split(b"\r\n")) <= 78
    head = read_head(raw)
    assert head.references == references
    assert head.to == people
    assert head.subject == "word " * 60 + "end"


def test_names_of_attachments_survive() -> None:
    names = ["plain.txt", "två ord.pdf", 'quote".txt', "x" * 200 + ".bin", "日本.csv", "%41;.txt"]
    attached = tuple(AttachedBytes(name=name, media_type="text/plain", data=b"x") for name in names)
    read = message_from_bytes(composed(attachments=attached), policy=policy.default)
    assert [part.get_filename() for part in read.iter_attachments()] == names


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "a\nBcc: evil@x.example"},
        {"subject": "a\r\n\r\nbody"},
        {"subject": "a\x00b"},
        {"subject": "a\u2028b"},
        {"sender": Address(name="a\nb", address="sam@example.net")},
        {"sender": Address(name="a", address="sam@example.net>\nTo: <e@x.example")},
        {"to": (Address(name="", address="a@x.example\r\nBcc: e@x.example"),)},
        {"to": (Address(name="", address="ä@x.example"),)},
        {"in_reply_to": "<a@x>\r\nBcc: e@x.example"},
        {"in_reply_to": "a@x"},
        {"references": ("<a@x> <b@x>",)},
        {"attachments": (AttachedBytes(name="a\r\nb", media_type="text/plain", data=b""),)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_line_break_in_any_header_value_is_refused(changes: dict[str, Any]) -> None:
    """E3: so is every other control character, and an identifier that is none."""
    with pytest.raises(HeaderError):
        composed(**changes)


def test_the_key_itself_is_checked_too() -> None:
    with pytest.raises(HeaderError):
        compose(mail(), message_id="<a@b>\nBcc: <e@x>", date=NOW)


def test_there_is_no_trace_of_the_program_or_of_hidden_recipients() -> None:
    names = {name.lower() for name in re.findall(rb"(?m)^([A-Za-z-]+):", composed())}
    assert not names & {b"bcc", b"user-agent", b"x-mailer", b"received", b"sender"}
