"""Whose an identifier is, and which marks a draft carries because of it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makers.outbox import SHAPE, Records, Words, World, now, read_item
from outbox.journal import Origin
from outbox.judge import Judge
from outbox.marks import (
    Mark,
    MarkCode,
    Subject,
    blocks_unread,
    find_marks,
    marks_from_json,
    needs_confirmation,
)
from outbox.provenance import Standing, Vouched, parse_all, trace
from outbox.source import SOURCE_TEXT_LIMIT, Answering, drawn_text, find_source
from tools.contract import Completed, Drawn, ReviewShape
from tools.result import Item
from tools.taint import CLEAN, UNKNOWN, Source, Taint

ADA = next(iter(parse_all(["address:ada@example.org"])))
LINK = next(iter(parse_all(["link:https://evil.example/a"])))


def told(*pieces, **vouched):
    """The provenance of a session that went like this."""
    words = Words()
    for origin, text in pieces:
        words.add(origin, text, source="mail_recent in turn 1")
    return trace(words.said, Vouched(**vouched))


OWN = {
    "typed by the owner": [(Origin.OWNER, "write to ada@example.org")],
    "in the configuration": [(Origin.CONFIGURED, "my boss is Ada@Example.org")],
    "typed, then in a stranger's mail": [
        (Origin.OWNER, "write to ada@example.org"),
        (Origin.THIRD_PARTY, "from ada@example.org"),
    ],
    "guessed by the agent, then typed": [
        (Origin.AGENT, "ada@example.org?"),
        (Origin.OWNER, "yes, ada@example.org"),
    ],
    "in the owner's file, then typed": [
        (Origin.PRIVATE, "ada@example.org"),
        (Origin.OWNER, "yes, ada@example.org"),
    ],
}
NOT_OWN = {
    "in a stranger's mail": ([(Origin.THIRD_PARTY, "ada@example.org")], Standing.THIRD_PARTY),
    "in a stranger's mail, then typed in an answer": (
        [(Origin.THIRD_PARTY, "ada@example.org"), (Origin.OWNER, "use ada@example.org")],
        Standing.THIRD_PARTY,
    ),
    "in a stranger's mail, defanged, then typed": (
        [(Origin.THIRD_PARTY, "ada[at]example[.]org"), (Origin.OWNER, "ada@example.org")],
        Standing.THIRD_PARTY,
    ),
    "in a stranger's mail, with a zero-width space, then typed": (
        [(Origin.THIRD_PARTY, "ada@exa\u200bmple.org"), (Origin.OWNER, "ada@example.org")],
        Standing.THIRD_PARTY,
    ),
    "a homograph of what the owner typed": (
        [(Origin.OWNER, "\u0430da@example.org")],
        Standing.NOWHERE,
    ),
    "a neighbour of what the owner typed": (
        [(Origin.OWNER, "notada@example.org and ada@example.org.uk")],
        Standing.NOWHERE,
    ),
    "only in the owner's file": ([(Origin.PRIVATE, "ada@example.org")], Standing.ELSEWHERE),
    "only in the agent's words": ([(Origin.AGENT, "ada@example.org")], Standing.ELSEWHERE),
    "nowhere": ([(Origin.OWNER, "write to Ada")], Standing.NOWHERE),
}


@pytest.mark.parametrize("pieces", OWN.values(), ids=OWN.keys())
def test_an_identifier_is_the_owners_where_his_words_had_it_first(pieces):
    """O11, O16."""
    assert told(*pieces).standing(ADA) is Standing.OWN


@pytest.mark.parametrize(("pieces", "standing"), NOT_OWN.values(), ids=NOT_OWN.keys())
def test_an_identifier_is_not_the_owners_otherwise(pieces, standing):
    """O16: what a stranger brought first stays the stranger's, also after the owner typed it."""
    assert told(*pieces).standing(ADA) is standing


SWAYED = "the agent, once it had read others"
KINDS = [Origin.OWNER, Origin.CONFIGURED, Origin.THIRD_PARTY, Origin.PRIVATE, Origin.AGENT, SWAYED]
KINDS += [Origin.VERDICT]
RIVALS = {Origin.THIRD_PARTY, SWAYED}


@pytest.mark.parametrize(
    ("order", "standing"),
    [
        ([SWAYED], Standing.AGENT),
        ([SWAYED, Origin.OWNER], Standing.AGENT),
        ([SWAYED, Origin.VERDICT], Standing.AGENT),
        ([SWAYED, Origin.THIRD_PARTY, Origin.OWNER], Standing.THIRD_PARTY),
        ([Origin.OWNER, SWAYED], Standing.OWN),
        ([Origin.AGENT, Origin.OWNER, SWAYED], Standing.OWN),
        ([Origin.VERDICT], Standing.ELSEWHERE),
        ([Origin.VERDICT, Origin.OWNER], Standing.OWN),
        ([Origin.VERDICT, SWAYED, Origin.OWNER], Standing.AGENT),
    ],
)
def test_what_an_agent_named_after_it_read_a_stranger_is_not_owned_by_repetition(order, standing):
    """O16: a mail that spells an address in words is heard by the model alone."""
    assert in_order(order).standing(ADA) is standing


@given(st.lists(st.sampled_from(KINDS), max_size=7))
def test_an_identifier_is_owned_exactly_where_the_owner_asked_for_it_before_any_rival(order):
    """O16: in every order of appearance."""
    firsts = [kind for kind in order if kind in {Origin.OWNER, Origin.CONFIGURED} | RIVALS]
    owned = bool(firsts) and firsts[0] not in RIVALS
    assert (in_order(order).standing(ADA) is Standing.OWN) is owned


EARLY, LATE = datetime(2020, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
TOO_LATE = {"typed": {"typed": frozenset({ADA})}, "released": {"released": {ADA: LATE}}}


@pytest.mark.parametrize("late", TOO_LATE.values(), ids=TOO_LATE.keys())
def test_an_edit_comes_too_late_for_what_an_agent_named_after_it_read_a_stranger(late):
    assert in_order([SWAYED], **late).standing(ADA) is Standing.AGENT


@pytest.mark.parametrize("kind", sorted(RIVALS))
def test_a_release_before_anybody_else_named_the_address_is_a_record(kind):
    """O16: where nobody knows when it was named, it was named first."""
    released = {"released": {ADA: EARLY}}
    assert in_order([kind], **released).standing(ADA) is Standing.OWN
    undated = [replace(span, at=None) for span in in_order_words([kind]).said]
    assert trace(undated, Vouched(**released)).standing(ADA) is not Standing.OWN


def test_a_target_the_agent_named_after_it_read_a_stranger_says_so():
    found = marks(in_order([SWAYED, Origin.OWNER]), to=["ada@example.org"], body="Hi")
    (mark,) = found
    assert mark.text == "ada@example.org first came from the agent, after it read text of others"
    assert blocks_unread(found)


def in_order(order, **vouched):
    """A session in which each of these named the address after the other."""
    return trace(in_order_words(order).said, Vouched(**vouched))


def in_order_words(order):
    words = Words()
    for kind in order:
        origin = Origin.AGENT if kind == SWAYED else kind
        words.add(origin, "it is ada@example.org", after_others=kind == SWAYED)
    return words


def test_a_record_the_owner_made_outweighs_a_strangers_mail():
    stranger = (Origin.THIRD_PARTY, "ada@example.org")
    assert told(stranger, records=frozenset({ADA})).standing(ADA) is Standing.OWN


@pytest.mark.parametrize("late", TOO_LATE.values(), ids=TOO_LATE.keys())
def test_an_edit_or_a_later_release_comes_too_late_for_what_a_stranger_brought(late):
    """O16."""
    stranger = (Origin.THIRD_PARTY, "ada@example.org")
    assert told(stranger, **late).standing(ADA) is Standing.THIRD_PARTY
    assert told(**late).standing(ADA) is Standing.OWN


def marks(provenance, shape=SHAPE, taint=CLEAN, **args):
    """The marks of a draft with these arguments."""
    subject = Subject(session_id="s", args=args, shape=shape, taint=taint)
    return find_marks(subject, provenance)


def codes(found):
    return [mark.code.value for mark in found]


def test_a_draft_to_somebody_the_owner_named_carries_no_mark():
    known = told((Origin.OWNER, "tell ada@example.org"))
    assert marks(known, to=["Ada <ada@example.org>"], subject="Hi", body="Hi") == ()


def test_an_unowned_recipient_is_marked_at_its_path_with_the_call_it_came_from():
    """O11."""
    known = told((Origin.OWNER, "tell ada@example.org"), (Origin.THIRD_PARTY, "eve@evil.example"))
    (mark,) = marks(known, to=["ada@example.org"], cc=["eve@evil.example"], body="Hi")
    assert mark.as_json() == {
        "code": "unowned",
        "text": "eve@evil.example first stood in third-party text (mail_recent in turn 1)",
        "path": "cc[0]",
        "source": "mail_recent in turn 1",
    }


@pytest.mark.parametrize(
    "recipient",
    [
        "13",
        "ada@exa\u200bmple.org",
        "ada@example.org, eve@evil.example",
        "\uff41da@example.org",
        '"ada@example.org" <eve@evil.example>',
        "\u0430da@example.org",
        "evil=ada@example.org",
    ],
)
def test_a_recipient_that_only_looks_like_the_owners_is_unowned(recipient):
    """O11, O16: "13" does not match "June 13"; no disguise passes for a known address."""
    known = told((Origin.OWNER, "on June 13 tell ada@example.org"))
    found = marks(known, to=[recipient], body="Hi")
    assert "unowned" in codes(found)
    assert blocks_unread(found)


def test_of_a_tool_that_names_no_recipients_every_argument_but_the_prose_may_be_one():
    shape = ReviewShape(body="text", source_id="answers")
    args = {
        "account": "NO9386011117947",
        "answers": "x@evil.example",
        "text": "see eve@evil.example",
        "options": {"also": "eve@evil.example"},
    }
    found = marks(told(), shape=shape, **args)
    assert [(mark.code.value, mark.path) for mark in found] == [
        ("unowned", "account"),
        ("unowned", "options.also"),
    ]


def test_a_link_a_stranger_brought_is_marked_wherever_it_stands():
    known = told(
        (Origin.OWNER, "tell ada@example.org"),
        (Origin.THIRD_PARTY, "click hxxps://evil[.]example/a"),
    )
    found = marks(known, to=["ada@example.org"], body="see https://EVIL.example/a!")
    assert [(mark.code.value, mark.path) for mark in found] == [("link", "body")]
    assert needs_confirmation(found)
    assert not blocks_unread(found)


def test_another_link_to_a_strangers_host_is_marked_too():
    known = told((Origin.THIRD_PARTY, "https://evil.example/a"))
    assert codes(marks(known, body="https://evil.example/?stolen=words")) == ["link"]


@pytest.mark.parametrize(
    "body",
    [
        "https://pay.evil.example/x",
        "//evil.example/x",
        "https:/evil.example/x",
        "wss://a.b.evil.example/x",
        "https://r.example/?u=https%3A%2F%2Fpay.evil.example",
        "[write](mailto:desk@evil.example?subject=yes)",
        "mailto:desk%40evil.example",
    ],
)
def test_a_link_that_leads_to_a_stranger_is_marked_however_it_is_spelled(body):
    known = told((Origin.THIRD_PARTY, "https://evil.example/a or desk@evil.example"))
    assert codes(marks(known, body=body)) == ["link"]


@pytest.mark.parametrize(
    "body",
    [
        "https://mine.evil.example/x",
        "https://evil.example.org/x",
        "mailto:ada@evil.example",
        "evil",
    ],
    ids=["a domain the owner named", "another domain", "another address", "no link"],
)
def test_a_link_that_leads_to_no_stranger_is_not_marked(body):
    known = told(
        (Origin.OWNER, "mine.evil.example/a is mine"),
        (Origin.THIRD_PARTY, "https://evil.example/a or desk@evil.example"),
    )
    assert marks(known, body=body) == ()


@pytest.mark.parametrize(
    "pieces",
    [
        [(Origin.OWNER, "https://evil.example/a"), (Origin.THIRD_PARTY, "https://evil.example/a")],
        [(Origin.AGENT, "https://evil.example/a")],
        [],
    ],
    ids=["the owner had it first", "the agent made it", "nobody had it"],
)
def test_a_link_no_stranger_brought_is_not_marked(pieces):
    assert marks(told(*pieces), body="https://evil.example/a") == ()


def test_many_links_are_one_mark_that_counts_them():
    links = " ".join(f"https://evil.example/{n}" for n in range(9))
    (mark,) = marks(told((Origin.THIRD_PARTY, links)), body=links)
    assert mark.text.endswith("/0, https://evil.example/1, https://evil.example/2 and 6 more")


FILE = Source(tool="fs_read", turn=1, what="notes.md")
MAIL = tuple(Source(tool="mail_get_thread", turn=2, what=f"message {n}") for n in range(3))
MORE = tuple(Source(tool=f"server__read{n}", turn=3, what="a page") for n in range(4))


@pytest.mark.parametrize(
    ("private", "untrusted", "said"),
    [
        ((), (FILE,), "files of others (1 read)"),
        ((FILE,), (), "private data"),
        ((FILE,), MAIL, "mail of others (3 reads) and private data"),
        (MAIL, (*MAIL, FILE), "mail of others (3 reads), files of others (1 read) and private data"),
        ((), MORE, "server__read0 (1 read), server__read1 (1 read), server__read2 (1 read) and 1 more"),
    ],
    ids=["untrusted", "private", "both", "several kinds", "many"],
)  # fmt: skip
def test_taint_is_marked_in_a_few_words_with_every_call_behind_it(private, untrusted, said):
    """O11."""
    taint = Taint(private=private, untrusted=untrusted)
    (mark,) = marks(told(), taint=taint)
    assert mark.text == f"written after reading {said}"
    assert mark.source == "; ".join(dict.fromkeys(map(str, (*untrusted, *private))))
    assert not needs_confirmation([mark])


def test_a_draft_without_a_record_of_its_taint_is_marked_as_fully_tainted():
    assert codes(marks(told(), taint=UNKNOWN)) == ["tainted"]


@pytest.mark.parametrize(
    ("code", "asks", "blocks"),
    [
        ("tainted", False, False),
        ("first-time", False, False),
        ("link", True, False),
        ("quoted", True, False),
        ("private", True, False),
        ("moved-on", True, False),
        ("past", True, False),
        ("unowned", True, True),
        ("opaque", True, True),
    ],
)
def test_each_mark_asks_for_what_the_design_says(code, asks, blocks):
    """O11."""
    mark = Mark(code=MarkCode(code), text="")
    assert (needs_confirmation([mark]), blocks_unread([mark])) == (asks, blocks)
    assert marks_from_json([mark.as_json()]) == (mark,)


def test_every_mark_there_is_was_judged_above():
    assert len(MarkCode) == 9


# --- the message being answered


def source(words, *, drawn=(), arguments=None, **args):
    made = Completed(args=args, delivery_key="k", drawn=drawn)
    call = Answering(tool="post_send", shape=SHAPE, arguments=arguments or {}, completed=made)
    return find_source(None, words, "s", call)  # this SessionText asks no database


def test_the_source_is_the_newest_read_of_that_very_message():
    """O10."""
    words = Words(
        read=[
            read_item("<a@x>", "a snippet", seq=3),
            read_item("<b@x>", "another message", seq=9),
            read_item("<a@x>", "the whole message", seq=7),
        ]
    )
    found = source(words, in_reply_to="<a@x>", thread="shared by all")
    assert found == {
        "state": "found",
        "provider_id": "<a@x>",
        "title": "A title",
        "text": "the whole message",
        "cut_characters": 0,
        "seq": 7,
        "tool": "mail_get_thread",
    }


def test_a_reply_to_what_was_never_read_says_that_its_source_is_gone():
    """O10."""
    gone = source(Words(read=[read_item("<b@x>", "other")]), in_reply_to="<a@x>")
    assert gone == {"state": "gone", "provider_id": "<a@x>"}


@pytest.mark.parametrize("value", [None, "", "  "])
def test_what_answers_nothing_has_no_source(value):
    """O10."""
    words = Words(read=[read_item("", "never this one")])
    assert source(words, in_reply_to=value) is None
    assert source(words) is None


def test_a_long_source_is_bounded_and_says_how_much_is_missing():
    """O10."""
    words = Words(read=[read_item("<a@x>", "x" * (SOURCE_TEXT_LIMIT + 5))])
    found = source(words, in_reply_to="<a@x>")
    assert len(found["text"]) == SOURCE_TEXT_LIMIT
    assert found["cut_characters"] == 5


def test_where_the_completed_call_does_not_name_its_source_the_models_words_do():
    words = Words(read=[read_item("<a@x>", "text")])
    found = source(words, to=[], arguments={"in_reply_to": "<a@x>"})
    assert found["state"] == "found"


QUOTED = Drawn(
    what="quoted <a@x>",
    private=True,
    untrusted=True,
    item=Item(provider_id="<a@x>", title="Mal: Plan", text="see https://evil.example/a"),
)


def test_a_message_that_only_the_completion_read_is_the_source():
    """O10: as it was when the draft was made."""
    found = source(Words(), drawn=(QUOTED,), in_reply_to="<a@x>")
    assert (found["state"], found["text"]) == ("found", "see https://evil.example/a")
    assert (found["seq"], found["tool"]) == (None, "post_send")
    assert "quoted" not in found


def test_what_the_agent_saw_of_the_source_is_shown_and_what_is_quoted_is_kept_beside_it():
    """O10: a snippet was read, the whole message is quoted."""
    words = Words(read=[read_item("<a@x>", "see...", seq=3)])
    found = source(words, drawn=(QUOTED,), in_reply_to="<a@x>")
    assert (found["text"], found["seq"], found["quoted"]) == ("see...", 3, QUOTED.item.text)


@pytest.mark.parametrize("read", [[], [read_item("<a@x>", "see...")]], ids=["unread", "snippet"])
def test_the_quoted_text_is_a_strangers(read):
    (span,) = drawn_text(
        "post_send", source(Words(read=read), drawn=(QUOTED,), in_reply_to="<a@x>"), now()
    )
    assert (span.origin, span.text) == (Origin.THIRD_PARTY, QUOTED.item.text)
    assert span.source == "post_send (quoted <a@x>)"


@pytest.mark.parametrize(
    "replying_to",
    [None, {"state": "gone", "provider_id": "<a@x>"}, source(Words(read=[read_item("a", "b")]), in_reply_to="a")],
    ids=["no reply", "gone", "only the agent read it"],
)  # fmt: skip
def test_what_completion_did_not_read_it_did_not_bring(replying_to):
    assert drawn_text("post_send", replying_to, now()) == ()


def test_a_judge_names_whose_each_identifier_is(tmp_path):

    world = World(tmp_path)
    words = Words()
    words.add(Origin.OWNER, "tell ada@example.org")
    stranger = "ada@example.org https://evil.example/a"
    words.add(Origin.THIRD_PARTY, stranger, source="mail_recent in turn 1")
    judge = Judge(
        text=words,
        records=Records(known=frozenset({"address:bob@example.org"})),
        content=world.blobs.find,
    )
    args = {"to": ["ada@example.org", "bob@example.org"], "body": "https://evil.example/a"}
    subject = Subject(session_id="s", args=args, shape=SHAPE, taint=CLEAN)
    with world.store.read() as session:
        assert [tuple(row.values()) for row in judge.arguments(session, subject)] == [
            ("to[0]", "address", "ada@example.org", "own", None),
            ("to[1]", "address", "bob@example.org", "own", None),
            ("body", "link", "https://evil.example/a", "third-party", "mail_recent in turn 1"),
        ]
