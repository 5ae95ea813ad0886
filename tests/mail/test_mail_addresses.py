"""Who wrote, and to whom an answer goes."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makers.mail import message, read_head
from tools.mail.addresses import (
    Address,
    AddressError,
    checked_address,
    checked_mailbox,
    parse_addresses,
)
from tools.mail.addressing import (
    MAX_QUOTED_CHARACTERS,
    quoted,
    reply_recipients,
    reply_references,
    reply_subject,
    resolve_recipient,
    thread_root,
    why_unanswerable,
)
from tools.mail.heads import Head
from tools.mail.parse import parse_message

OWN = frozenset({"sam@example.net", "s.reed@example.net"})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ada@example.org", [("", "ada@example.org")]),
        ("Ada <ada@example.org>", [("Ada", "ada@example.org")]),
        (
            '"Reed, Sam" <s@x.example>, b@y.example',
            [("Reed, Sam", "s@x.example"), ("", "b@y.example")],
        ),
        ("ada@example.org (Ada L.)", [("Ada L.", "ada@example.org")]),
        ("boss@owner.example <evil@x.example>", [("boss@owner.example", "evil@x.example")]),
        ('"boss@owner.example" <evil@x.example>', [("boss@owner.example", "evil@x.example")]),
        ("<boss@owner.example> <evil@x.example>", [("", "evil@x.example")]),
        ("Team: a@x.example, B <b@x.example>;", [("", "a@x.example"), ("B", "b@x.example")]),
        ("undisclosed-recipients:;", []),
        ("=?utf-8?Q?Reed=2C_Sam?= <s@x.example>", [("Reed, Sam", "s@x.example")]),
        ("=?utf-8?Q?a=0D=0ABcc:_e?= <s@x.example>", [("a Bcc: e", "s@x.example")]),
        ("a@x.example b@y.example", [("", "a@x.example"), ("", "b@y.example")]),
        ("<@relay.example,@b.example:joe@where.example>", [("", "joe@where.example")]),
        ("joe @ where . example", [("", "joe@where.example")]),
        ("MAILER DAEMON <>", [("MAILER DAEMON", "")]),
        ("root", [("", "root")]),
        (", ,a@x.example,,", [("", "a@x.example")]),
        ('"unclosed <a@x.example>', [("unclosed", "a@x.example")]),
        ("a@x.example (never closed", [("never closed", "a@x.example")]),
        ("<mailto:a@x.example>", [("", "a@x.example")]),
        ("", []),
    ],
)
def test_an_address_list_is_read_as_it_was_meant(text: str, found: list[tuple[str, str]]) -> None:
    """The angle brackets always win: what stands before them is a name, whatever it looks like."""
    assert [(each.name, each.address) for each in parse_addresses(text)] == found


@given(st.text(alphabet='ab@.<>,;:"()\\ =?\n', max_size=60))
def test_no_text_makes_reading_addresses_raise(text: str) -> None:
    for address in parse_addresses(text):
        assert "\n" not in address.name + address.address
        assert " " not in address.address


NAMES = st.text(
    alphabet=st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=12
)


@given(st.lists(NAMES, max_size=3), st.sampled_from(["a@x.example", "b.c@y.example"]))
def test_an_address_written_out_reads_back_the_same(words: list[str], bare: str) -> None:
    address = Address(name=" ".join(words), address=bare)
    if "=?" not in address.name:
        assert checked_mailbox(str(address)) == checked_mailbox(str(checked_mailbox(str(address))))
        assert parse_addresses(str(address)) == (address,)


@pytest.mark.parametrize(
    ("text", "wire"),
    [
        ("Ada@Example.ORG", "Ada@example.org"),
        ("a.b+tag@x.example", "a.b+tag@x.example"),
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
        ("ada@faß.example", "ada@xn--fa-hia.example"),
        ("ada@例え.テスト", "ada@xn--r8jz45g.xn--zckzah"),
    ],
)
def test_domains_go_out_in_ascii(text: str, wire: str) -> None:
    assert checked_address(text) == wire


@pytest.mark.parametrize(
    "text",
    [
        "", "ada", "@x.example", "ada@", "a b@x.example", "ada@x..example", "ada@-x.example",
        ".a@x.example", "a..b@x.example", '"q"@x.example', "jdöe@x.example", "ada@[127.0.0.1]",
        "a@b@x.example", "ada@x.example\r\nBcc: e@x.example", "ada@x.example\x00", "a" * 65 + "@x.example",
        "a@" + "x." * 130 + "example", "ada@ex ample.org", "ada@x\u202e.example",
    ],
)  # fmt: skip
def test_what_is_no_plain_address_is_never_written_to(text: str) -> None:
    """E3: nor is anything that could become a second command or a second header."""
    with pytest.raises(AddressError):
        checked_address(text)


@pytest.mark.parametrize(
    "text", ["", "a@x.example, b@x.example", "Team: a@x.example, b@x.example;"]
)
def test_one_entry_is_one_recipient(text: str) -> None:
    with pytest.raises(AddressError, match="exactly one address"):
        checked_mailbox(text)


@pytest.mark.parametrize("text", ["A\n <a@x.example>", "a@x.example\r\n", "A\r<a@x.example>"])
def test_a_line_break_in_an_address_is_refused(text: str) -> None:
    """E3."""
    with pytest.raises(AddressError, match="line break"):
        checked_mailbox(text)


def test_a_contact_is_known_by_its_exact_name_only() -> None:
    contacts = {"ada": "Ada Lovelace <ada@example.org>"}
    assert resolve_recipient("ada", contacts).address == "ada@example.org"
    for other in ("Ada", "ada ", "ad"):
        with pytest.raises(AddressError, match="neither an address nor the exact name"):
            resolve_recipient(other, contacts)


def head(**fields: str) -> Head:
    return read_head(message(**fields))


def addresses(recipients: Any) -> tuple[list[str], list[str]]:
    return [each.address for each in recipients.to], [each.address for each in recipients.cc]


GROUP = {
    "From": "Ada <ada@example.org>",
    "To": "Sam <sam@example.net>, Bo <bo@example.org>, S.Reed@Example.net",
    "Cc": "Cy <cy@example.org>, bo@example.org, ada@example.org",
}


@pytest.mark.parametrize(
    ("fields", "reply_all", "to", "cc"),
    [
        (GROUP, False, ["ada@example.org"], []),
        (GROUP, True, ["ada@example.org", "bo@example.org"], ["cy@example.org"]),
        ({**GROUP, "Reply_To": "desk@example.org"}, False, ["desk@example.org"], []),
        (
            {**GROUP, "Reply_To": "desk@example.org"},
            True,
            ["desk@example.org", "bo@example.org"],
            ["cy@example.org", "ada@example.org"],
        ),
        ({**GROUP, "Reply_To": "sam@example.net"}, False, ["ada@example.org"], []),
        ({**GROUP, "From": "Sam <SAM@example.net>"}, False, ["bo@example.org"], []),
        (
            {**GROUP, "From": "s.reed@example.net"},
            True,
            ["bo@example.org"],
            ["cy@example.org", "ada@example.org"],
        ),
        ({"From": "sam@example.net", "To": "sam@example.net"}, True, ["sam@example.net"], []),
        (
            {"From": "Ada <ada@example.org>, Bo <bo@example.org>", "To": "sam@example.net"},
            False,
            ["ada@example.org", "bo@example.org"],
            [],
        ),
        ({"From": "boss@owner.example <evil@x.example>"}, False, ["evil@x.example"], []),
        ({**GROUP, "To": "undisclosed-recipients:;", "Cc": ""}, True, ["ada@example.org"], []),
    ],
    ids=[
        "sender only", "all but me", "reply-to", "reply-to and all", "reply-to is me",
        "own message", "own message to all", "note to self", "two senders", "spoofed name", "nobody named",
    ],
)  # fmt: skip
def test_an_answer_goes_to(
    fields: dict[str, str], reply_all: bool, to: list[str], cc: list[str]
) -> None:
    """E2: sender only or all but me, Reply-To, aliases out, my own message to its recipients."""
    recipients = reply_recipients(head(**fields), OWN, reply_all=reply_all)
    assert addresses(recipients) == (to, cc)


@pytest.mark.parametrize(
    "fields",
    [{"From": "MAILER-DAEMON <>"}, {"From": ""}, {"From": "nobody"}, {"From": "a@[10.0.0.1]"}],
)
def test_a_message_without_a_usable_sender_cannot_be_answered(fields: dict[str, str]) -> None:
    with pytest.raises(AddressError) as refused:
        reply_recipients(head(**fields), OWN, reply_all=False)
    assert "10.0.0.1" not in str(refused.value)  # nothing a stranger wrote


PEOPLE = st.sampled_from(
    ["sam@example.net", "S.REED@example.net", "ada@example.org", "bo@example.org", "Bo@Example.org"]
)


@given(
    st.lists(PEOPLE, min_size=1, max_size=3),
    st.lists(PEOPLE, max_size=4),
    st.lists(PEOPLE, max_size=4),
    st.booleans(),
)
def test_no_answer_names_anybody_twice_or_the_owner_beside_others(
    sender: list[str], to: list[str], cc: list[str], reply_all: bool
) -> None:
    """E2: whatever the headers hold, each person is named once, and the owner only if alone."""
    fields = {"From": ", ".join(sender), "To": ", ".join(to), "Cc": ", ".join(cc)}
    try:
        found = reply_recipients(head(**fields), OWN, reply_all=reply_all)
    except AddressError:
        assert not to
        assert {each.casefold() for each in sender} & OWN
        return
    keys = [each.key for each in (*found.to, *found.cc)]
    assert len(keys) == len(set(keys))
    assert not OWN & set(keys) or len(keys) == 1 + len(found.cc)
    assert found.to


@pytest.mark.parametrize(
    ("subject", "answer"),
    [
        ("Tea", "Re: Tea"),
        ("Re: Tea", "Re: Tea"),
        ("RE: re: AW: SV:Tea", "Re: Tea"),
        ("Re[2]: Tea", "Re: Tea"),
        ("Fwd: Tea", "Re: Fwd: Tea"),
        ("Regarding: Tea", "Re: Regarding: Tea"),
        ("回复：茶", "Re: 茶"),
        ("a\tb  c", "Re: a b c"),
        ("", "Re:"),
        (None, "Re:"),
    ],
)
def test_an_answer_has_exactly_one_re(subject: str | None, answer: str) -> None:
    """E2."""
    assert reply_subject(subject) == answer


@pytest.mark.parametrize(
    ("fields", "references", "root"),
    [
        ({}, ("<tea-1@example.org>",), "<tea-1@example.org>"),
        (
            {"References": "<a@x> <b@x>", "In_Reply_To": "<b@x>"},
            ("<a@x>", "<b@x>", "<tea-1@example.org>"),
            "<a@x>",
        ),
        ({"In_Reply_To": "<b@x>"}, ("<b@x>", "<tea-1@example.org>"), "<b@x>"),
        ({"In_Reply_To": "<b@x> <c@x>"}, ("<tea-1@example.org>",), "<b@x>"),
        ({"Message_ID": "", "References": "<a@x>"}, ("<a@x>",), "<a@x>"),
        ({"References": "<a@x> <ü@x>"}, ("<a@x>", "<tea-1@example.org>"), "<a@x>"),
    ],
    ids=["first", "chain", "only in-reply-to", "two in-reply-to", "no id", "unwritable id"],
)
def test_an_answer_refers_to_the_whole_chain(
    fields: dict[str, str], references: tuple[str, ...], root: str
) -> None:
    """E2: In-Reply-To and the whole References (RFC 5322 section 3.6.4)."""
    assert reply_references(head(**fields)) == references
    assert thread_root(head(**fields)) == root


def test_the_original_is_quoted_with_who_and_when() -> None:
    text = quoted(head(), "Tea?\n\n> yes\nno\n")
    assert text == (
        "On Mon, 30 Nov 2026 09:00:00 +0100, Ada Lovelace <ada@example.org> wrote:\n"
        "> Tea?\n>\n>> yes\n> no"
    )


def test_a_very_long_original_is_quoted_in_part_and_says_so() -> None:
    text = quoted(head(Date=""), "x" * (MAX_QUOTED_CHARACTERS + 7))
    assert text.startswith("Ada Lovelace <ada@example.org> wrote:\n> x")
    assert text.endswith("> [7 more characters are not quoted]")


@pytest.mark.parametrize(
    ("name", "answerable"),
    [
        ("bounce.eml", False),
        ("bounce_delay.eml", False),
        ("no_reply.eml", False),
        ("list.eml", True),
        ("away.eml", True),
        ("plain.eml", True),
    ],
)
def test_a_machine_that_reads_nothing_is_not_answered(name: str, answerable: bool) -> None:
    """E4: and a person who writes through a list still is."""
    raw = (Path(__file__).parents[1] / "data" / "mail" / name).read_bytes()
    assert (why_unanswerable(parse_message(raw)) is None) is answerable


def test_a_no_reply_sender_with_another_reply_to_is_answered() -> None:
    raw = message(From="no-reply@shop.example", Reply_To="desk@shop.example")
    assert why_unanswerable(parse_message(raw)) is None


def test_the_moment_is_kept_with_its_offset() -> None:
    moment = head().date
    assert moment is not None
    assert moment.astimezone(UTC) == datetime(2026, 11, 30, 8, tzinfo=UTC)
