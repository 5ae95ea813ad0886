"""What a draft holds that no model has seen: the quoted message, the attached files, an edit."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from makers.world import World, letter

Scripted = Callable[..., World]
SCRIPTS = "[outbox]\nscripts = true"
DONE = {"text": "Staged."}
REPLY = {
    "calls": [
        {"name": "mail_reply", "arguments": {"message_id": "<pay@evil.example>", "body": "No."}}
    ]
}
READ_LIST = {"calls": [{"name": "mail_recent", "arguments": {}}]}


def send(*attachments: str) -> dict[str, list[object]]:
    given = {"to": ["ada@x.example"], "subject": "s", "body": "b", "attachments": [*attachments]}
    return {"calls": [{"name": "mail_send", "arguments": given}]}


@pytest.fixture
def billed(scripted: Scripted, world: World) -> Scripted:
    """A mailbox with a letter whose link stands far below its first words."""
    text = "words " * 100 + "\nPay at https://pay.evil.example/now or desk@evil.example"
    world.write_mail(
        "2.mail", letter("Mal <mal@evil.example>", "Bill", text, message_id="<pay@evil.example>")
    )
    return scripted


def only_draft(world: World) -> dict[str, object]:
    (row,) = world.steward("outbox", "list", "--json").json
    return dict(world.steward("outbox", "show", row["id"], "--json").json)


def codes(draft: dict[str, object]) -> list[str]:
    return [mark["code"] for mark in draft["marks"]]  # type: ignore[attr-defined]


def test_a_reply_in_a_clean_session_is_tainted_by_what_it_quotes_and_the_session_is_not(
    billed: Scripted,
) -> None:
    """O10, O11: the model is told the draft's id and saw no word of the message."""
    world = billed([REPLY, DONE])
    report = world.steward("run", "Answer <pay@evil.example> with no", "--json").json
    assert report["taint"] == {"private": False, "untrusted": False}
    draft = only_draft(world)
    assert draft["taint"] == {"private": True, "untrusted": True}
    assert codes(draft) == ["tainted", "unowned", "link"]
    assert "mail_reply in turn 1 (quoted <pay@evil.example>)" in str(draft["marks"])
    source = draft["replying_to"]
    assert isinstance(source, dict)
    assert (source["state"], source["seq"], source["tool"]) == ("found", None, "mail_reply")
    shown = world.steward("outbox", "show", str(draft["id"])).out
    assert "(read when drafting, never by the agent): Mal <mal@evil.example>: Bill" in shown


def test_a_link_that_only_the_quote_holds_stays_marked_after_an_edit(
    billed: Scripted, tmp_path: Path
) -> None:
    """O11: the session had read a snippet without it."""
    world = billed([READ_LIST, REPLY, DONE], SCRIPTS)
    world.steward("run", "Answer the bill")
    draft = only_draft(world)
    assert "link" in codes(draft)
    (tmp_path / "args.json").write_text(json.dumps({**draft["args"], "subject": "Re: no"}))  # type: ignore[dict-item]
    world.steward("outbox", "edit", str(draft["id"]), "--args-file", str(tmp_path / "args.json"))
    edited = only_draft(world)
    assert (edited["revision"], codes(edited)) == (2, codes(draft))


def test_an_address_that_a_draft_showed_the_owner_is_not_his_by_repeating_it(
    billed: Scripted,
) -> None:
    """O16: no model had read it when the owner was shown it."""
    again = {
        "calls": [
            {
                "name": "mail_send",
                "arguments": {"to": ["desk@evil.example"], "subject": "s", "body": "b"},
            }
        ]
    }
    world = billed([REPLY, DONE, again, DONE])
    session = world.steward("run", "Answer <pay@evil.example>", "--json").json["session"]
    world.steward("run", "And never to desk@evil.example!", "--resume", session)
    drafts = world.steward("outbox", "list", "--json").json
    assert drafts[0]["args"]["to"] == ["desk@evil.example"]
    assert "unowned" in codes(drafts[0])


def test_a_text_is_shown_whole_and_a_program_is_asked_for_by_itself(billed: Scripted) -> None:
    """O11: in the workspace the owner named, so the files are his own."""
    both = {"calls": [*send("plan.txt", "invoice.pdf.exe")["calls"], *send()["calls"]]}
    world = billed([both, DONE], SCRIPTS)
    owned = world.home.parent / "project"
    owned.mkdir()
    (owned / "plan.txt").write_text("First tea,\nthen work.\n")
    (owned / "invoice.pdf.exe").write_bytes(b"MZ\x90\x00\xff")
    world.steward("run", "Send both to ada@x.example", "--workspace", str(owned))
    plain, draft = world.steward("outbox", "list", "--json").json
    assert draft["taint"] == {"private": True, "untrusted": False}
    assert (codes(draft), codes(plain)) == (["tainted", "opaque"], [])
    draft_id = str(draft["id"])
    shown = world.steward("outbox", "show", draft_id).out
    assert "attachment 1, plan.txt (text/plain, 22 bytes):\n  │ First tea,\n  │ then work." in shown
    assert "looks like .pdf and ends in .exe" in shown
    batch = world.steward("outbox", "approve", draft_id, plain["id"], "--yes", code=1)
    assert f"draft {draft_id} holds something that cannot be shown here" in batch.err


def test_the_bytes_of_an_attachment_can_be_written_to_a_file(billed: Scripted) -> None:
    world = billed([send("plan.txt", "odd.bin"), DONE])
    owned = world.home.parent / "project"
    owned.mkdir()
    (owned / "plan.txt").write_text("tea")
    (owned / "odd.bin").write_bytes(bytes(range(256)))
    world.steward("run", "Send both to ada@x.example", "--workspace", str(owned))
    draft_id = str(only_draft(world)["id"])
    (owned / "odd.bin").write_bytes(b"changed since")
    child = world.child("outbox", "show", draft_id, "--attachment", "2", text=False)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (0, bytes(range(256))), err
    missing = world.steward("outbox", "show", draft_id, "--attachment", "3", code=1)
    assert "has 2 attachments; there is no 3" in missing.err


def test_a_file_of_others_marks_the_draft_that_attaches_it(billed: Scripted) -> None:
    """L31: a file in scratch that nobody saw written."""
    world = billed([send("found.txt"), DONE])
    world.work.mkdir(parents=True, exist_ok=True)
    (world.work / "found.txt").write_text("who wrote me?")
    report = world.steward("run", "Send it to ada@x.example", "--json").json
    assert report["taint"] == {"private": False, "untrusted": False}
    draft = only_draft(world)
    assert draft["taint"] == {"private": True, "untrusted": True}
    assert "mail_send in turn 1 (attached found.txt)" in str(draft["marks"])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"to": ["a@x.example, b@x.example"]}, "not exactly one address"),
        ({"account": "nobody"}, "no account of that name can send"),
        ({"references": ["<a@x>\r\nBcc: <e@x>"]}, "References"),
        ({"body": "a\rb"}, "a carriage return stands in it"),
        (
            {"attachments": [{"name": "a", "media_type": "text/plain", "size_bytes": 1, "sha256": "0" * 64}]},
            "keeps no file with the sha256",
        ),
    ],
    ids=["two addresses", "account", "references", "carriage return", "sha256"],
)  # fmt: skip
def test_an_edit_that_could_not_be_sent_keeps_the_original(
    billed: Scripted, tmp_path: Path, change: dict[str, object], why: str
) -> None:
    """O3, E3"""
    world = billed([send(), DONE], SCRIPTS)
    world.steward("run", "Write to ada@x.example")
    draft = only_draft(world)
    (tmp_path / "args.json").write_text(json.dumps({**draft["args"], **change}))  # type: ignore[dict-item]
    refused = world.steward(
        "outbox", "edit", str(draft["id"]), "--args-file", str(tmp_path / "args.json"), code=1
    )
    assert "kept as it was" in refused.err
    assert why in refused.err
    assert only_draft(world)["revision"] == 1
