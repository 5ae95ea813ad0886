"""Finding, listing, editing and rejecting drafts."""

import time
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import insert, text
from sqlmodel import select

from makers.outbox import OWNER, SHAPE, World, a_draft, now
from outbox.drafts import expire, find, find_all, list_page, reject
from outbox.edit import Edit, Editor, args_from_json, key_of_same_shape, with_body
from outbox.errors import Ambiguous, NotAllowed, NotFound, Stale
from outbox.journal import Origin
from outbox.senders import check_for
from outbox.tables import Attempt, AttemptOutcome, Draft, DraftKind, DraftStatus
from tools.contract import ReviewShape


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


# --- finding and listing


@pytest.mark.parametrize(
    ("handle", "found"),
    [
        ("0aaa1111zzz", "0aaa1111zzz"),
        ("0aaa1", "0aaa1111zzz"),
        ("1zzz", "0aaa1111zzz"),
        (" 0AAA1 ", "0aaa1111zzz"),
        ("0bbb", "0bbb1111yyy"),
        ("0b", "0b"),
    ],
)
def test_a_draft_is_found_by_head_or_tail(world, handle, found):
    """O2."""
    for ident in ("0aaa1111zzz", "0aaa2222zzz", "0bbb1111yyy", "0b"):
        world.put(id=ident)
    with world.store.read() as session:
        assert find(session, handle).id == found


def test_a_handle_that_fits_several_names_some_of_them(world):
    """O2."""
    for number in range(7):
        world.put(id=f"0aaa{number}zzz")
    with world.store.read() as session:
        with pytest.raises(Ambiguous) as some:
            find(session, "zzz")
        assert str(some.value) == (
            "'zzz' fits several drafts: 0aaa0zzz, 0aaa1zzz, 0aaa2zzz, 0aaa3zzz, 0aaa4zzz, ...; "
            "type more of the one you mean"
        )
        with pytest.raises(Ambiguous, match="0aaa0zzz"):
            find(session, "0aaa")


@pytest.mark.parametrize("handle", ["", "  ", "%", "_", "0a%", "zz9", "'; drop table draft"])
def test_a_handle_that_fits_nothing_is_an_error(world, handle):
    """O2: also a wildcard, which would fit everything."""
    world.put(id="0aaa1zzz")
    with world.store.read() as session, pytest.raises(NotFound, match="steward outbox"):
        find(session, handle)


def test_a_handle_that_contradicts_the_filter_is_an_error(world):
    """O2."""
    world.put(id="0aaa", status=DraftStatus.SENT)
    with world.store.read() as session, pytest.raises(NotAllowed) as refusal:
        find(session, "0aaa", status=DraftStatus.PENDING)
    assert str(refusal.value) == "draft 0aaa is sent, not pending"


def test_naming_nothing_never_means_everything(world):
    """O2."""
    world.put(id="0aaa")
    with world.store.read() as session:
        with pytest.raises(NotFound, match="name at least one draft"):
            find_all(session, [])
        assert [draft.id for draft in find_all(session, ["0aaa", "aaa", "0aa"])] == ["0aaa"]


def test_pages_run_from_the_newest_to_the_oldest_without_gap_or_repeat(world):
    for number in range(23):
        status = DraftStatus.SENT if number % 2 else DraftStatus.PENDING
        world.put(id=f"0{number:04}", status=status)
    seen, after = [], None
    with world.store.read() as session:
        while page := list_page(session, status=DraftStatus.PENDING, limit=5, after=after):
            seen += [draft.id for draft in page]
            after = seen[-1]
    assert seen == [f"0{number:04}" for number in range(22, -1, -2)]


def test_the_first_page_of_a_hundred_thousand_drafts_is_there_at_once(world):
    row = a_draft().model_dump()
    with world.store.effect() as session:
        for start in range(0, 100_000, 10_000):
            rows = [
                {**row, "id": f"0{number:06}", "status": DraftStatus.SENT}
                for number in range(start, start + 10_000)
            ]
            session.execute(insert(Draft), rows)
    world.put(id="00000050", status=DraftStatus.PENDING)
    with world.store.read() as session:
        list_page(session, limit=1)
        began = time.perf_counter()
        assert len(list_page(session)) == 50
        assert [draft.id for draft in list_page(session, status=DraftStatus.PENDING)] == [
            "00000050"
        ]
        assert find(session, "099999").id == "0099999"
        assert time.perf_counter() - began < 0.2
        plan = session.execute(
            text(
                "EXPLAIN QUERY PLAN SELECT * FROM draft WHERE status = 'pending' AND id < 'x' "
                "ORDER BY id DESC LIMIT 50"
            )
        ).all()
        assert "draft_by_status" in str(plan)
        assert "TEMP B-TREE" not in str(plan)


# --- editing


@pytest.fixture
def editor(world):
    return Editor(
        store=world.store,
        judge=world.judge,
        fresh_key=lambda key: key_of_same_shape(key, "fresh"),
        now=now,
    )


def edited(editor, draft, shape=SHAPE, revision=None, typed=True, **changes):
    args = {**draft.args, **changes}
    edit = Edit(draft_id=draft.id, args=args, typed=typed, revision=revision)
    return editor.edit(edit, shape)


def test_an_edit_is_a_new_revision_and_the_agents_version_stays(world, editor):
    """O3."""
    draft = world.put()
    after = edited(editor, draft, subject="Other", body="Hallo")
    assert (after.revision, after.args["body"], after.args_before) == (2, "Hallo", draft.args)
    assert after.summary == "to ada@example.org: Other"
    assert after.delivery_key == draft.delivery_key
    assert edited(editor, after, body="Hej").revision == 3
    assert world.draft(draft.id).args_before == draft.args


def test_nothing_changed_is_no_write(world, editor):
    """O3."""
    draft = world.put()
    after = edited(editor, draft)
    assert (after.revision, after.updated_at) == (1, draft.updated_at)


REFUSED = {
    "an argument gone": (
        lambda args: args.pop("subject"),
        "the draft is kept as it was: 'subject' is missing",
    ),
    "an argument more": (
        lambda args: args.update(bcc=["eve@evil.example"]),
        "the draft is kept as it was: 'bcc' is not one of its arguments",
    ),
    "a recipient that is no text": (
        lambda args: args.update(to=[{"a": 1}]),
        "the draft is kept as it was: 'to' takes addresses as text only",
    ),
    "an empty recipient": (
        lambda args: args.update(to=["ada@example.org", " "]),
        "the draft is kept as it was: 'to' takes addresses as text only",
    ),
    "no recipient at all": (
        lambda args: args.update(to=[]),
        "the draft is kept as it was: nobody would receive it",
    ),
    "another type": (
        lambda args: args.update(body=["Hi"]),
        "the draft is kept as it was: 'body' must stay text, not a list",
    ),
    "a line break in the subject": (
        lambda args: args.update(subject="Hi\r\nBcc: eve@evil.example"),
        "the draft is kept as it was: 'subject' may not hold a line break",
    ),
    "a line break in a recipient": (
        lambda args: args.update(to=["ada@example.org\nBcc: eve@evil.example"]),
        "the draft is kept as it was: 'to' may not hold a line break",
    ),
    "half a character": (
        lambda args: args.update(body="\ud800"),
        "the draft is kept as it was: it holds a value that is no JSON, or half a character",
    ),
    "no number": (
        lambda args: args.update(thread=float("nan")),
        "the draft is kept as it was: it holds a value that is no JSON, or half a character",
    ),
}


@pytest.mark.parametrize(("spoil", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_an_edit_that_does_not_fit_keeps_the_draft(world, editor, spoil, says):
    """O3, E3."""
    draft = world.put()
    args = dict(draft.args)
    spoil(args)
    with pytest.raises(NotAllowed) as refusal:
        editor.edit(Edit(draft_id=draft.id, args=args, typed=True), SHAPE)
    assert str(refusal.value) == says
    assert world.draft(draft.id) == draft


def test_an_edit_that_could_not_be_sent_keeps_the_draft(world, editor):
    """O3: the sender itself says so."""
    draft = world.put()
    editor = replace(editor, check=check_for(world.desk, draft))
    edit = Edit(draft_id=draft.id, args={**draft.args, "to": ["left@example.org"]}, typed=True)
    with pytest.raises(NotAllowed, match="kept as it was: to: left@"):
        editor.edit(edit, SHAPE)
    assert world.draft(draft.id).revision == 1


def test_an_edit_is_kept_where_its_sender_cannot_be_asked(world, editor):
    """The release asks once more."""
    draft = world.put()
    world.desk.down = "the keyring is locked"
    editor = replace(editor, check=check_for(world.desk, draft))
    edit = Edit(draft_id=draft.id, args={**draft.args, "to": ["left@example.org"]}, typed=True)
    assert editor.edit(edit, SHAPE).revision == 2


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ('{"to": [}', "line 1, column 9: Expecting value"),
        ("[1]", "the arguments must be one JSON object"),
        ('{"a": 1} {"b": 2}', "line 1, column 10: Extra data"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_arguments_that_cannot_be_parsed_keep_the_draft(written, says):
    """O3."""
    with pytest.raises(NotAllowed) as refusal:
        args_from_json(written)
    assert str(refusal.value) == f"the draft is kept as it was: {says}"


def test_a_draft_that_publishes_refuses_an_edit(world, editor):
    """O3."""
    draft = world.put(kind=DraftKind.PUBLISH)
    with pytest.raises(NotAllowed, match="publishes something and is not edited"):
        edited(editor, draft, body="other")
    assert world.draft(draft.id).revision == 1


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (DraftStatus.SENDING, Stale),
        (DraftStatus.SENT, Stale),
        (DraftStatus.UNCERTAIN, NotAllowed),
        (DraftStatus.REJECTED, Stale),
        (DraftStatus.SUPERSEDED, Stale),
        (DraftStatus.EXPIRED, Stale),
    ],
)
def test_only_a_pending_draft_is_edited_or_rejected(world, editor, status, error):
    """O4, O7."""
    draft = world.put(status=status, decided_by="owner", decided_via="slack", decided_at=now())
    with pytest.raises(error, match=draft.id):
        edited(editor, draft, body="other")
    with world.store.effect() as session, pytest.raises(error, match=draft.id):
        reject(session, draft.id, decider=OWNER, reason="no", now=now())
    assert world.draft(draft.id) == draft


def test_two_edits_of_one_revision_keep_the_first(world, editor):
    """O4."""
    draft = world.put()
    edited(editor, draft, body="first", revision=1)
    with pytest.raises(Stale, match="changed after you read it; it is revision 2 now"):
        edited(editor, draft, body="second", revision=1)
    assert world.draft(draft.id).args["body"] == "first"


def test_an_edit_that_loses_a_race_in_its_own_moment_is_told(world, editor):
    """O4: the draft is edited elsewhere between this edit's reading and its writing."""
    draft = world.put()

    class Meddling(Editor):
        def _values(self, session, draft, args, shape):
            values = super()._values(session, draft, args, shape)
            with world.store.effect() as other:
                other.get(Draft, draft.id).revision = 7
            return values

    meddling = Meddling(**{name: getattr(editor, name) for name in editor.__slots__})
    with pytest.raises(Stale, match="it is revision 7 now"):
        edited(meddling, draft, body="late")
    assert world.draft(draft.id).args == draft.args


def test_an_edit_owns_only_what_was_newly_typed_in_it(world, editor):
    """O16."""
    draft = world.put(args={**a_draft().args, "to": ["ada@example.org"]}, marks=[])
    body_only = edited(editor, draft, body="Hello")
    assert [mark["path"] for mark in body_only.marks] == ["to[0]"]
    removed = edited(editor, body_only, to=["bob@example.org"])
    assert (removed.marks, removed.owner_typed) == ([], ["address:bob@example.org"])
    back = edited(editor, removed, to=["ada@example.org"])
    assert [mark["code"] for mark in back.marks] == ["unowned"]
    assert back.owner_typed == ["address:bob@example.org"]


def test_an_edit_does_not_own_what_a_stranger_brought(world, editor):
    """O16."""
    world.words.add(Origin.THIRD_PARTY, "pay eve@evil.example", source="mail_recent in turn 1")
    draft = world.put()
    after = edited(editor, draft, to=["eve@evil.example"], body="see https://evil.example/")
    assert [(mark["code"], mark["source"]) for mark in after.marks] == [
        ("unowned", "mail_recent in turn 1")
    ]


def test_an_edit_after_a_failed_attempt_gets_another_delivery_key(world, editor):
    draft = world.put(delivery_key="<one@home.example>")
    with world.store.effect() as session:
        session.add(
            Attempt(
                draft_id=draft.id,
                n=1,
                revision=1,
                delivery_key="<one@home.example>",
                process="p",
                started_at=now(),
                deadline_at=now(),
                outcome=AttemptOutcome.FAILED,
            )
        )
    after = edited(editor, draft, body="other")
    assert after.delivery_key == "<fresh@home.example>"
    assert edited(editor, after, body="third").delivery_key == "<fresh@home.example>"
    assert key_of_same_shape("evt123", "fresh") == "fresh"


def test_the_body_alone_is_edited_where_there_is_one():
    draft = a_draft()
    assert with_body(draft, SHAPE, "New") == {**draft.args, "body": "New"}
    with pytest.raises(NotAllowed, match="--json"):
        with_body(draft, ReviewShape(), "New")


# --- rejecting, expiring


def test_a_rejection_keeps_reason_person_and_door(world):
    """O12."""
    draft = world.put()
    with world.store.effect() as session:
        rejected = reject(session, draft.id, decider=OWNER, reason=" too long ", now=now())
    assert rejected.status is DraftStatus.REJECTED
    assert (rejected.reason, rejected.decided_by, rejected.decided_via) == (
        "too long",
        "owner",
        "test",
    )
    with world.store.effect() as session, pytest.raises(Stale) as refusal:
        reject(session, draft.id, decider=OWNER, reason="again", now=now())
    assert str(refusal.value).startswith(f"draft {draft.id} was rejected at 2")
    assert str(refusal.value).endswith(" by owner via test: too long")


def test_a_rejection_without_a_reason_is_refused(world):
    """O12."""
    draft = world.put()
    with world.store.effect() as session, pytest.raises(NotAllowed, match="--reason"):
        reject(session, draft.id, decider=OWNER, reason="  ", now=now())
    assert world.draft(draft.id).status is DraftStatus.PENDING


def test_only_old_pending_drafts_expire(world):
    old = now() - timedelta(days=31)
    ids = {
        status: world.put(status=status, created_at=old).id
        for status in (DraftStatus.PENDING, DraftStatus.UNCERTAIN, DraftStatus.SENT)
    }
    young = world.put().id
    with world.store.effect() as session:
        assert expire(session, now=now(), expire_days=30) == 1
        assert expire(session, now=now(), expire_days=30) == 0
    with world.store.read() as session:
        stored = dict(session.exec(select(Draft.id, Draft.status)).all())
    assert stored == {
        ids[DraftStatus.PENDING]: DraftStatus.EXPIRED,
        ids[DraftStatus.UNCERTAIN]: DraftStatus.UNCERTAIN,
        ids[DraftStatus.SENT]: DraftStatus.SENT,
        young: DraftStatus.PENDING,
    }
