"""Which messages are one thread, and which kinds of machine wrote one."""

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makers.mail import NOW, message, read_head
from tools.mail.parse import parse_message
from tools.mail.threads import Entry, thread_of


def entries(*messages: dict[str, str], days: int = 1) -> list[Entry]:
    return [
        Entry(position=n, head=read_head(message(**fields)), moment=NOW + n * timedelta(days=days))
        for n, fields in enumerate(messages)
    ]


def ids(message_id: str, *messages: dict[str, str], days: int = 1) -> list[str]:
    return [entry.head.id for entry in thread_of(message_id, entries(*messages, days=days))]


ADA, SAM, BO = "Ada <ada@example.org>", "Sam <sam@example.net>", "Bo <bo@example.org>"
FIRST = {"Message_ID": "<1@x>", "From": ADA, "To": SAM, "Subject": "Tea"}
LOST = {"Message_ID": "<2@x>", "From": SAM, "To": ADA, "Subject": "Re: tea"}


def test_messages_that_name_each_other_are_one_thread_in_any_order() -> None:
    second = {"Message_ID": "<2@x>", "In_Reply_To": "<1@x>", "Subject": "quite another"}
    third = {"Message_ID": "<3@x>", "References": "<1@x> <2@x>"}
    assert ids("<2@x>", third, FIRST, second) == ["<3@x>", "<1@x>", "<2@x>"]


def test_answers_to_a_message_that_is_gone_are_one_thread() -> None:
    left = {"Message_ID": "<2@x>", "In_Reply_To": "<gone@x>"}
    right = {"Message_ID": "<3@x>", "References": "<gone@x>"}
    assert ids("<3@x>", left, right) == ["<2@x>", "<3@x>"]


def test_a_reply_that_lost_its_references_is_found_by_subject_and_people() -> None:
    assert ids("<1@x>", FIRST, LOST) == ["<1@x>", "<2@x>"]
    assert ids("<2@x>", FIRST, LOST) == ["<1@x>", "<2@x>"]


@pytest.mark.parametrize(
    ("change", "days"),
    [
        ({"Subject": "tea"}, 1),
        ({"Subject": "Re: coffee"}, 1),
        ({"From": BO}, 1),
        ({"To": BO}, 1),
        ({"In_Reply_To": "<other@x>"}, 1),
        ({}, 61),
    ],
    ids=[
        "no reply mark",
        "another subject",
        "a stranger",
        "to others",
        "has references",
        "too late",
    ],
)
def test_nothing_fuzzier_joins_a_thread(change: dict[str, str], days: int) -> None:
    assert ids("<1@x>", FIRST, {**LOST, **change}, days=days) == ["<1@x>"]


def test_messages_without_a_subject_are_not_one_thread() -> None:
    one = {**FIRST, "Subject": ""}
    assert ids("<1@x>", one, {**LOST, "Subject": "Re:"}) == ["<1@x>"]


def test_an_unknown_id_is_no_thread() -> None:
    assert ids("<9@x>", FIRST) == []
    assert ids("<gone@x>", {**FIRST, "References": "<gone@x>"}) == []


NAMES = st.sampled_from([f"<{n}@x>" for n in range(6)])


@given(st.lists(st.tuples(NAMES, st.lists(NAMES, max_size=3)), min_size=1, max_size=8))
def test_every_message_of_a_thread_gives_the_same_thread(
    chain: list[tuple[str, list[str]]],
) -> None:
    """Loops, doubled ids and messages that name themselves included."""
    messages = [
        {"Message_ID": name, "References": " ".join(parents), "Subject": str(number)}
        for number, (name, parents) in enumerate(chain)
    ]
    for name, _ in chain:
        members = ids(name, *messages)
        assert name in members
        for other in members:
            assert sorted(ids(other, *messages)) == sorted(members)


def kind(**fields: str) -> str | None:
    found = parse_message(message(**fields)).automatic
    return None if found is None else str(found.kind)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"Auto_Submitted": "no"}, None),
        ({"Auto_Submitted": "auto-replied"}, "auto-reply"),
        ({"Auto_Submitted": "auto-generated"}, "notification"),
        ({"X_Auto_Response_Suppress": "All"}, "notification"),
        ({"X_Autoreply": "yes"}, "auto-reply"),
        ({"Precedence": "auto_reply"}, "auto-reply"),
        ({"Subject": "Out of office: Tea"}, "auto-reply"),
        ({"Subject": "I am out of office paper"}, None),
        ({"Precedence": "bulk"}, "newsletter"),
        ({"Precedence": "list"}, "list"),
        ({"Precedence": "bulk", "Sender": "owner-garden@lists.example"}, "list"),
        ({"List_Id": "<a.lists.example>"}, "list"),
        ({"List_Unsubscribe": "<https://x.example/u>"}, "newsletter"),
        ({"X_BeenThere": "a@lists.example"}, "list"),
        ({"From": "noreply@x.example"}, "no-reply"),
        ({"From": "do_not-reply+7@x.example"}, "no-reply"),
        ({"From": "Noreply Smith <norbert.replyman@x.example>"}, None),
        ({"X_Failed_Recipients": "a@x.example"}, "bounce"),
        ({"Return_Path": "<>", "From": "MAILER-DAEMON@x.example"}, "bounce"),
        ({"Return_Path": "<>", "Subject": "Undeliverable: Tea"}, "bounce"),
        (
            {"From": "postmaster@x.example", "Subject": "Delayed: Tea", "Return_Path": "<>"},
            "bounce-delay",
        ),
        ({"Subject": "Undeliverable: the parcel I sent you"}, None),
        (
            {"Content_Type": "multipart/report; report-type=disposition-notification"},
            "read-receipt",
        ),
        ({"Content_Type": "multipart/report; report-type=feedback-report"}, "feedback-report"),
        ({"Content_Type": "multipart/report; report-type=delivery-status"}, "bounce"),
        (
            {"Subject": "Report Domain: x.example Submitter: mx.example Report-ID: 7"},
            "dmarc-report",
        ),
        (
            {
                "Content_Type": 'application/gzip; name="mx.example!x.example!1700000000!1700086400.xml.gz"'
            },
            "dmarc-report",
        ),
    ],
)
def test_a_machine_is_told_from_a_person(fields: dict[str, str], expected: str | None) -> None:
    """E4: by RFC 3834 and its relatives, never by what the text says."""
    assert kind(**fields) == expected


def test_what_shows_it_is_said() -> None:
    raw = (Path(__file__).parents[1] / "data" / "mail" / "away.eml").read_bytes()
    found = parse_message(raw).automatic
    assert found is not None
    assert found.shown_by == "Auto-Submitted: auto-replied (vacation)"
