"""`steward outbox` on the command line, with a real mail server in another process."""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from pathlib import Path

import pytest

from makers.mail import FakeSmtp, smtp_process
from makers.world import World, mail_section, model_section, model_server

DONE = {"text": "Staged."}
LIST_FIELDS = {
    "id", "status", "kind", "tool", "summary", "args", "args_before", "edited", "revision",
    "taint", "marks", "session", "agent", "producer", "created_at", "decided_by", "reason", "error",
}  # fmt: skip


def mail_to(
    *to: str, subject: str = "Lunch", body: str = "Dear you,\n\nyes.\n"
) -> dict[str, object]:
    arguments = {"to": list(to), "subject": subject, "body": body}
    return {"name": "mail_send", "arguments": arguments}


Staged = Callable[..., list[str]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FakeSmtp]:
    with smtp_process(tmp_path / "smtp") as running:
        yield running


@pytest.fixture
def staged(world: World, server: FakeSmtp) -> Staged:
    """Stage these calls by a real run; gives the drafts' ids in the order of the calls."""

    def stage(
        *calls: dict[str, object],
        outbox: str = "scripts = true",
        prompt: str = "Write to ada@x.example and bob@x.example",
    ) -> list[str]:
        with model_server([{"calls": list(calls)}, DONE]) as model:
            port = f'{{ host = "127.0.0.1", port = {server.port}, tls = "none" }}'
            world.configure(
                model_section(model.base_url),
                mail_section(world, port).replace(str(world.sent), str(server.maildir)),
                f"[outbox]\n{outbox}\n",
            )
            report = world.steward("run", prompt, "--json").json
        assert len(report["staged"]) == len(calls)
        return list(report["staged"])

    return stage


def draft(world: World, draft_id: str) -> dict[str, object]:
    return dict(world.steward("outbox", "show", draft_id, "--json").json)


def test_list_and_show_have_every_promised_field(world: World, staged: Staged) -> None:
    (draft_id,) = staged(mail_to("ada@x.example"))
    (row,) = world.steward("outbox", "list", "--json").json
    assert set(row) >= LIST_FIELDS
    shown = draft(world, draft_id)
    assert set(shown) >= LIST_FIELDS | {"replying_to", "provenance", "attempts"}


def test_what_was_shown_is_what_arrives_and_a_second_approval_says_when_and_by_whom(
    world: World, staged: Staged, server: FakeSmtp
) -> None:
    """O4"""
    body = "Dear Ada,\n\n  indented, with a trailing blank \nand Grüße.\n\n-- \nRobin\n"
    (draft_id,) = staged(mail_to("ada@x.example", subject="Größe?", body=body))
    shown = draft(world, draft_id)["args"]
    world.steward("outbox", "approve", draft_id, "--yes")
    (raw,) = server.messages()
    sent = message_from_bytes(raw, policy=policy.default)
    assert isinstance(shown, dict)
    assert sent["Subject"] == shown["subject"] == "Größe?"
    assert sent["To"] == "ada@x.example"
    assert sent.get_content().replace("\r\n", "\n") == shown["body"] == body
    again = world.steward("outbox", "approve", draft_id, "--yes", code=1)
    assert f"draft {draft_id} was already sent at" in again.err
    assert "by owner via cli" in again.err
    assert len(server.accepted()) == 1


def test_an_address_the_owner_typed_is_owned_and_another_is_not(
    world: World, staged: Staged
) -> None:
    """O11"""
    typed, invented = staged(mail_to("ada@x.example"), mail_to("carol@x.example"))
    codes = {
        draft_id: {mark["code"] for mark in draft(world, draft_id)["marks"]}  # type: ignore[attr-defined]
        for draft_id in (typed, invented)
    }
    assert codes == {typed: set(), invented: {"unowned"}}


def test_the_hint_under_a_draft_to_a_stranger_says_first_how_to_reject_it(
    world: World, staged: Staged
) -> None:
    typed, invented = staged(mail_to("ada@x.example"), mail_to("carol@x.example"))
    hints = [world.steward("outbox", "show", each).err.strip() for each in (typed, invented)]
    assert hints[0].startswith(f"steward outbox approve {typed} ")
    assert hints[1].startswith(f"steward outbox reject {invented} --reason TEXT ")


def test_several_ids_by_yes_skip_the_unowned_and_end_non_zero(
    world: World, staged: Staged, server: FakeSmtp
) -> None:
    """O11, O17"""
    owned, unowned = staged(mail_to("ada@x.example"), mail_to("carol@x.example"))
    done = world.steward("outbox", "approve", unowned, owned, "--yes", code=1)
    assert f"draft {unowned} goes somewhere you never named" in done.err
    assert [draft(world, each)["status"] for each in (owned, unowned)] == ["sent", "pending"]
    assert len(server.accepted()) == 1


def test_yes_without_a_terminal_is_refused_unless_scripts_are_allowed(
    world: World, staged: Staged, server: FakeSmtp
) -> None:
    """O17"""
    (draft_id,) = staged(mail_to("ada@x.example"), outbox="scripts = false")
    refused = world.steward("outbox", "approve", draft_id, "--yes", code=2)
    assert "--yes needs a terminal" in refused.err
    assert server.accepted() == []


def test_after_an_edit_yes_needs_the_revision_that_was_read(
    world: World, staged: Staged, server: FakeSmtp, tmp_path: Path
) -> None:
    """O3, O17"""
    (draft_id,) = staged(mail_to("ada@x.example"))
    text = tmp_path / "body.txt"
    text.write_text("Dear Ada,\n\nno.\n")
    edited = world.steward("outbox", "edit", draft_id, "--body-file", str(text))
    assert "revision 2" in edited.out
    refused = world.steward("outbox", "approve", draft_id, "--yes", code=1)
    assert "--revision 2" in refused.err
    stale = world.steward("outbox", "approve", draft_id, "--yes", "--revision", "1", code=1)
    assert "changed after you read it" in stale.err
    world.steward("outbox", "approve", draft_id, "--yes", "--revision", "2")
    assert b"no." in server.messages()[0]
    shown = draft(world, draft_id)
    assert isinstance(shown["args_before"], dict)
    assert shown["args_before"]["body"] == "Dear you,\n\nyes.\n"
    assert shown["edited"]


def test_an_edit_that_cannot_be_read_keeps_the_original(
    world: World, staged: Staged, tmp_path: Path
) -> None:
    """O3"""
    (draft_id,) = staged(mail_to("ada@x.example"))
    broken = tmp_path / "args.json"
    broken.write_text('{"to": [')
    refused = world.steward("outbox", "edit", draft_id, "--args-file", str(broken), code=1)
    assert "line 1" in refused.err
    assert draft(world, draft_id)["revision"] == 1


def test_an_edit_to_nothing_new_is_no_write(world: World, staged: Staged, tmp_path: Path) -> None:
    """O3"""
    (draft_id,) = staged(mail_to("ada@x.example"))
    same = tmp_path / "args.json"
    same.write_text(json.dumps(draft(world, draft_id)["args"]))
    done = world.steward("outbox", "edit", draft_id, "--args-file", str(same))
    assert "unchanged" in done.out
    assert draft(world, draft_id)["revision"] == 1


@pytest.mark.parametrize("piped", [False, True], ids=["file", "pipe"])
def test_an_address_that_a_file_brings_is_not_the_owners(
    world: World, staged: Staged, tmp_path: Path, piped: bool
) -> None:
    """O11: whoever wrote the file, the owner typed nothing of it."""
    (draft_id,) = staged(mail_to("ada@x.example"))
    shown = draft(world, draft_id)
    assert shown["marks"] == []
    text = json.dumps({**dict(shown["args"]), "to": ["dora@x.example"]})  # type: ignore[call-overload]
    brought = tmp_path / "args.json"
    brought.write_text(text)
    source, given = ("-", text) if piped else (str(brought), "")
    world.steward("outbox", "edit", draft_id, "--args-file", source, piped=given)
    (mark,) = draft(world, draft_id)["marks"]  # type: ignore[misc]
    assert mark["code"] == "unowned"
    assert "dora@x.example" in mark["text"]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["edit", "ID", "--args-file", "-"], id="edit"),
        pytest.param(
            ["reconcile", "ID", "--outcome", "delivered", "--evidence", "seen"], id="reconcile"
        ),
    ],
)
def test_a_program_without_a_terminal_changes_no_draft_unless_scripts_are_allowed(
    world: World, staged: Staged, words: list[str]
) -> None:
    """O17"""
    (draft_id,) = staged(mail_to("ada@x.example"), outbox="scripts = false")
    before = draft(world, draft_id)
    named = [draft_id if word == "ID" else word for word in words]
    refused = world.steward("outbox", *named, code=2, piped=json.dumps({"to": ["eve@x.example"]}))
    assert "needs a terminal, unless [outbox] scripts = true" in refused.err
    assert refused.err.count("\n") == 1
    assert draft(world, draft_id) == before


def test_a_rejection_needs_no_terminal(world: World, staged: Staged) -> None:
    """O17: it sends nothing."""
    (draft_id,) = staged(mail_to("ada@x.example"), outbox="scripts = false")
    world.steward("outbox", "reject", draft_id, "--reason", "no")
    assert draft(world, draft_id)["status"] == "rejected"


def test_a_selection_that_names_nothing_is_an_error(world: World, staged: Staged) -> None:
    """O2"""
    first, second = staged(mail_to("ada@x.example"), mail_to("bob@x.example"))
    shared = first[: next(n for n in range(17) if first[n] != second[n])]
    assert "fits several drafts" in world.steward("outbox", "show", shared, code=1).err
    assert "there is no draft" in world.steward("outbox", "approve", "zz", "--yes", code=1).err
    assert world.steward("outbox", "approve", "--yes", code=2).err
    neither = world.steward("outbox", "reject", "--reason", "no", code=2)
    assert "name the drafts to reject, or give --all" in neither.err
    both = world.steward("outbox", "reject", first, "--all", "--reason", "no", code=2)
    assert "not both" in both.err


def test_a_failed_release_keeps_its_error_and_a_batch_goes_on(
    world: World, tmp_path: Path, staged: Staged
) -> None:
    """O5: any refused recipient means that nothing went out to anybody."""
    refused, fine = staged(
        mail_to("ada@x.example", "refused@x.example", subject="One"),
        mail_to("bob@x.example", subject="Two"),
        prompt="Write to ada@x.example, refused@x.example and bob@x.example",
    )
    with smtp_process(tmp_path / "picky", "rcpt-550") as picky:
        config = world.home / "config.toml"
        text = config.read_text()
        before = text[text.index("smtp = ") :].partition("\n")[0]
        config.write_text(
            text.replace(
                before, f'smtp = {{ host = "127.0.0.1", port = {picky.port}, tls = "none" }}'
            )
        )
        done = world.steward("outbox", "approve", refused, fine, "--yes", code=1)
        assert "refused@x.example refused: 550" in done.err
        assert [each["to"] for each in picky.accepted()] == [["bob@x.example"]]
    kept = draft(world, refused)
    assert kept["status"] == "pending"
    assert "refused@x.example" in str(kept["error"])


def test_a_server_that_is_down_lands_on_the_draft(
    world: World, staged: Staged, server: FakeSmtp
) -> None:
    """O6"""
    (draft_id,) = staged(mail_to("ada@x.example"))
    config = world.home / "config.toml"
    config.write_text(config.read_text().replace(str(server.port), "9"))
    down = world.steward("outbox", "approve", draft_id, "--yes", code=1)
    assert "127.0.0.1" in down.err
    kept = draft(world, draft_id)
    assert (kept["status"], bool(kept["error"])) == ("pending", True)


def test_a_rejections_reason_reaches_the_agent(world: World, staged: Staged) -> None:
    """O12: it rides with the session's next prompt where no run of its own came first."""
    (draft_id,) = staged(mail_to("ada@x.example"))
    session = str(draft(world, draft_id)["session"])
    told = world.steward("outbox", "reject", draft_id, "--reason", "Ada is on leave")
    assert "its agent hears why when 'steward up' runs" in told.out
    with model_server([{"text": "I see."}]) as model:
        config = (world.home / "config.toml").read_text()
        start = config.index("base_url")
        line = config[start:].partition("\n")[0]
        (world.home / "config.toml").write_text(
            config.replace(line, f'base_url = "{model.base_url}"')
        )
        world.steward("run", "Anything else?", "--resume", session)
        last = model.journal[-1].messages[-1]["content"]
    assert "Ada is on leave" in last
    assert draft_id in last
    assert draft(world, draft_id)["reason"] == "Ada is on leave"


def test_a_release_is_noted_for_the_sessions_next_run(world: World, staged: Staged) -> None:
    (draft_id,) = staged(mail_to("ada@x.example"))
    session = str(draft(world, draft_id)["session"])
    world.steward("outbox", "approve", draft_id, "--yes")
    shown = world.steward("sessions", "show", session, "--json").json
    notes = [event["text"] for event in shown["events"] if event["kind"] == "note"]
    assert len(notes) == 1
    assert "it was sent" in notes[0]


def test_a_database_that_is_locked_for_three_seconds_delays_and_loses_nothing(
    world: World, staged: Staged, server: FakeSmtp
) -> None:
    """R1"""
    (draft_id,) = staged(mail_to("ada@x.example"))
    other = sqlite3.connect(world.home / "steward.db", check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(3.0, other.rollback)
    release.start()
    try:
        world.steward("outbox", "approve", draft_id, "--yes")
    finally:
        release.join()
        other.close()
    assert draft(world, draft_id)["status"] == "sent"
    assert len(server.accepted()) == 1


def test_a_page_goes_on_below_the_last_id(world: World, staged: Staged) -> None:
    first, second = staged(mail_to("ada@x.example"), mail_to("bob@x.example"))
    newest, oldest = sorted((first, second), reverse=True)
    (top,) = world.steward("outbox", "list", "--limit", "1", "--json").json
    (below,) = world.steward("outbox", "list", "--after", top["id"], "--json").json
    assert (top["id"], below["id"]) == (newest, oldest)
