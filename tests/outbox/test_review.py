"""What the reviewer sees is what goes out: all of it, once, and nothing that deceives."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makers.outbox import SHAPE, a_draft
from outbox.listing import as_json, shown_json
from outbox.review import project, render
from outbox.summary import summarise
from outbox.tables import Attempt, AttemptOutcome
from outbox.visible import GUTTER, block, has_unseen, visible
from tools.contract import ReviewShape

AT = a_draft().created_at


def original(shown):
    """The text that `visible` was given: the proof that it shows everything."""

    def meant(match):
        if number := re.fullmatch(r"U\+([0-9A-F]+)", match.group(1)):
            return chr(int(number.group(1), 16))
        count, name = re.fullmatch(r"(\d+) (space|tab|U\+[0-9A-F]+)s?", match.group(1)).groups()
        char = {"space": " ", "tab": "\t"}.get(name) or chr(int(name[2:], 16))
        return char * int(count)

    return re.sub("\u27e6(.*?)\u27e7", meant, shown)


def shown(shape=SHAPE, **changes):
    return render(project(a_draft(**changes), shape))


@given(st.text())
def test_a_visible_line_shows_every_character(text):
    line = visible(text)
    assert original(line) == text
    assert "\n" not in line
    rest = line.replace("\t", "").replace("\ufe0f", "")
    assert not has_unseen(rest)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\u202eb", "a\u27e6U+202E\u27e7b"),
        ("a\u200bb", "a\u27e6U+200B\u27e7b"),
        ("a\x1b[2Jb", "a\u27e6U+001B\u27e7[2Jb"),
        ("a\rb", "a\u27e6U+000D\u27e7b"),
        ("a\u2028b", "a\u27e6U+2028\u27e7b"),
        ("a\U000e0041b", "a\u27e6U+E0041\u27e7b"),
        ("a\u3164b", "a\u27e6U+3164\u27e7b"),
        ("\u27e6x\u27e7", "\u27e6U+27E6\u27e7x\u27e6U+27E7\u27e7"),
        ("a" + " " * 25 + "b", "a\u27e625 spaces\u27e7b"),
        ("a" + "\u00a0" * 30 + "b", "a\u27e630 U+00A0s\u27e7b"),
        ("a" + " " * 20 + "b", "a" + " " * 20 + "b"),
        ("caf\u00e9 \u2764\ufe0f \u4e2d", "caf\u00e9 \u2764\ufe0f \u4e2d"),
        ("a\ufe0f", "a\u27e6U+FE0F\u27e7"),
    ],
)
def test_what_cannot_be_seen_is_written_as_its_number(text, line):
    """O16."""
    assert visible(text) == line


def test_a_run_of_blank_lines_becomes_its_count_outside_of_the_gutter():
    lines = block("one\n\n\n\n\n\ntwo\n \n\t\n \nthree\n\nfour")
    assert lines == (
        f"{GUTTER}one",
        "  \u27e65 blank lines\u27e7",
        f"{GUTTER}two",
        "  \u27e63 lines of nothing but white space\u27e7",
        f"{GUTTER}three",
        GUTTER,
        f"{GUTTER}four",
    )


@given(st.text(alphabet=st.sampled_from("ab\u202e\n \u27e6"), max_size=60))
def test_a_block_shows_the_whole_text(text):
    text = re.sub(r"\n[ ]+(?=\n|$)", "\n", text).lstrip(" ")  # folded white space is only counted
    back = []
    for line in block(text):
        fold = re.fullmatch("  \u27e6(\\d+) blank lines\u27e7", line)
        back += [""] * int(fold.group(1)) if fold else [original(line.removeprefix(GUTTER))]
    assert "\n".join(back) == text


def test_a_draft_reads_from_its_headers_to_the_message_it_answers():
    """O1."""
    text = shown(
        id="0abc",
        args={
            "body": "See you.\nAda",
            "thread": None,
            "subject": "Re: Meeting",
            "cc": [],
            "to": ["Bob <bob@example.org>", "eve@example.org"],
            "from": "ada@home.example",
            "in_reply_to": "<m1@x>",
            "attachments": [{"name": "a.pdf", "size_bytes": 3}],
            "urgent": False,
            "footer": "",
        },
        args_before={},
        replying_to={
            "state": "found",
            "provider_id": "<m1@x>",
            "title": "Meeting",
            "text": "When?\nBob",
            "cut_characters": 7,
            "seq": 1,
            "tool": "mail_get_thread",
        },
        marks=[
            {"code": "unowned", "text": "eve@example.org is new", "path": "to[1]", "source": None},
            {"code": "tainted", "text": "after a mail", "path": None, "source": "x"},
        ],
        error="550 no such user",
    )
    before_edits, _, after = text.partition("\nedited;")
    assert before_edits == (
        "draft 0abc, revision 1: post_send\n"
        "!! UNOWNED: to[1]: eve@example.org is new\n"
        "note TAINTED: after a mail\n"
        "last error: 550 no such user\n"
        "\n"
        "from:        ada@home.example\n"
        "to:\n"
        "  - bob@example.org   written as Bob <bob@example.org>\n"
        "  - eve@example.org\n"
        "subject:     Re: Meeting\n"
        "empty:       cc, thread, footer\n"
        "body:\n"
        "  \u2502 See you.\n"
        "  \u2502 Ada\n"
        'attachments: name: "a.pdf", size_bytes: 3\n'
        "urgent:      false\n"
        "threading:\n"
        "  in_reply_to: <m1@x>\n"
    )
    assert after.endswith(
        "\n"
        "\n"
        "It answers this third-party text (mail_get_thread): Meeting\n"
        "  \u2502 When?\n"
        "  \u2502 Bob\n"
        "  \u27e67 more characters not kept\u27e7\n"
    )


def test_answering_nothing_and_a_source_that_is_gone_read_differently():
    """O10."""
    assert shown().endswith("\nNot a reply.\n")
    gone = shown(replying_to={"state": "gone", "provider_id": "<m1@x>"})
    assert "It answers <m1@x>, but its source is gone" in gone


def test_the_only_entry_of_a_list_is_called_by_the_lists_name():
    mark = {"code": "unowned", "text": "who?", "path": "to[0]", "source": None}
    args = a_draft().args
    assert "\n!! UNOWNED: to: who?\n" in shown(args=args, marks=[mark])
    two = {**args, "to": ["ada@example.org", "eve@example.org"]}
    assert "\n!! UNOWNED: to[0]: who?\n" in shown(args=two, marks=[mark])


def test_a_message_the_agent_never_read_says_so():
    """O10"""
    source = {"state": "found", "provider_id": "<m1@x>", "title": "Plan", "text": "Pay."}
    source |= {"cut_characters": 0, "seq": None, "tool": "mail_reply"}
    assert shown(replying_to=source).endswith(
        "\nIt answers this third-party text (read when drafting, never by the agent): Plan\n"
        "  \u2502 Pay.\n"
    )


def test_a_name_that_could_pass_for_several_is_quoted_among_the_empty_ones():
    assert 'empty:       cc, "a, b"\n' in shown(ReviewShape(), args={"cc": [], "a, b": None})


def test_an_edit_shows_what_the_agent_wrote_and_what_goes_out():
    before = a_draft().args
    text = shown(
        args={**before, "to": ["eve@example.org"], "body": "Hello\nBob"},
        args_before={**before, "body": "Hello\nAda"},
        revision=2,
    )
    assert (
        "edited; what the agent wrote (-) and what goes out now (+):\n"
        "  to:\n"
        "    - ada@example.org\n"
        "    + eve@example.org\n"
        "  body:\n"
        "    - Ada\n"
        "    + Bob\n"
    ) in text


def test_comparing_two_huge_texts_is_not_waited_for():
    before = a_draft().args
    text = shown(
        args={**before, "body": "a\n" * 50_000}, args_before={**before, "body": "b\n" * 50_000}
    )
    assert "    50001 lines became 50001\n" in text


def test_a_name_from_another_script_is_shown_as_machines_read_it():
    """O16: a homograph is seen, in an address, in a local part and in a link of the body."""
    args = {
        **a_draft().args,
        "to": ["ada@ex\u0430mple.org", "\u0430da@example.org"],
        "body": "https://p\u0430ypal.example/x",
    }
    assert (
        "as machines read the names above:\n"
        "  to[0]: ada@xn--exmple-4nf.org\n"
        "  to[1]: \u27e6U+0430\u27e7da@example.org\n"
        "  body: https://xn--pypal-4ve.example/x\n"
    ) in shown(args=args)


def test_a_body_cannot_imitate_the_frame():
    """O16."""
    forged = "bye\n\nNot a reply.\n\ndraft 0abc, revision 1: post_send\nto: ada@example.org"
    text = shown(args={**a_draft().args, "to": ["eve@evil.example"], "body": forged})
    assert text.count("\nNot a reply.") == 1
    (recipients,) = [line for line in text.split("\n") if line.startswith("to:")]
    assert recipients.endswith("eve@evil.example")


def test_a_value_cannot_imitate_its_neighbour():
    args = {"files": [{"name": 'a.pdf, "sha": "good"', "sha": "bad"}]}
    assert 'name: "a.pdf, \\"sha\\": \\"good\\"", sha: "bad"' in shown(ReviewShape(), args=args)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
_names = st.sampled_from(["from", "to", "cc", "subject", "body", "thread", "x", "y", "\u202e", ""])


@given(st.dictionaries(_names, _values, max_size=8), st.booleans())
def test_no_argument_is_dropped_and_none_is_shown_twice(args, shaped):
    """O1."""
    shape = SHAPE if shaped else ReviewShape()
    review = project(a_draft(args=args), shape)
    assert sorted([*review.empty, *(field.name for field in review.fields)]) == sorted(args)
    assert all(args[name] in (None, "", [], {}) for name in review.empty)
    for field in review.fields:
        assert field.lines, "an argument without a line"
        assert all(not has_unseen(re.sub("[\t\ufe0f]", "", line)) for line in field.lines)
    order = [name for name in shape.headers if name in args and name not in review.empty]
    assert [field.name for field in review.headers] == order
    render(review)


@given(st.text(alphabet="ab\u202e\n <>@.", max_size=30))
def test_every_text_of_an_argument_stands_in_the_projection(value):
    review = project(a_draft(args={"to": [value], "subject": value, "body": value}), SHAPE)
    for field in review.fields:
        lines = "".join(field.lines).replace(GUTTER, "")
        for piece in value.split("\n"):
            assert visible(piece).strip() in lines


@pytest.mark.parametrize(
    ("shape", "args", "summary"),
    [
        (SHAPE, {"to": ["a@x.org"], "subject": "Hi"}, "to a@x.org: Hi"),
        (SHAPE, {"to": ["A <a@x.org>"], "cc": ["b@x.org", "c@x.org"], "subject": "Hi"}, "to a@x.org, b@x.org and 1 more: Hi"),
        (SHAPE, {"to": ["a@x.org"], "subject": "", "body": "First\nSecond"}, "to a@x.org: First"),
        (SHAPE, {"to": ["a@x.org"], "from": "me@x.org", "subject": "Hi\u202e"}, "to a@x.org: Hi\u27e6U+202E\u27e7"),
        (SHAPE, {"to": ['"a@x.org" <e@evil.example>'], "subject": "Hi"}, "to e@evil.example: Hi"),
        (ReviewShape(), {"event": {"id": 7}}, "tool: event.id 7"),
        (ReviewShape(), {}, "tool: (no subject)"),
        (SHAPE, {"to": ["a@x.org"], "subject": "x" * 300}, "to a@x.org: " + "x" * 147 + "\u2026"),
    ],
)  # fmt: skip
def test_the_summary_leads_with_recipient_and_subject(shape, args, summary):
    """O1."""
    assert summarise("tool", shape, args) == summary


def test_json_has_exactly_the_promised_fields():
    draft = a_draft(revision=2)
    attempt = Attempt(
        draft_id=draft.id,
        n=1,
        revision=1,
        delivery_key="k",
        process="p",
        started_at=AT,
        deadline_at=AT,
        outcome=AttemptOutcome.OPEN,
    )
    listed = (
        "id status kind tool summary args args_before edited revision taint marks session agent"
    )
    listed += " producer created_at decided_by reason error"
    assert list(as_json(draft)) == listed.split()
    shown_fields = shown_json(draft, [attempt], [])
    assert list(shown_fields) == [*listed.split(), "replying_to", "provenance", "attempts"]
    assert list(shown_fields["attempts"][0]) == ["n", "started_at", "ended_at", "outcome", "detail"]
    assert shown_fields["taint"] == {"private": False, "untrusted": False}
    assert shown_fields["edited"] is False
    assert shown_fields["created_at"].endswith("+00:00")
    json.dumps(shown_fields)
