"""`steward try` as a new user meets it: through a pipe, on a terminal, twice, on their own mail."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.cli.main import main
from makers.terminal import Terminal, run_steward
from makers.tour import fill_maildir, mail, tree_digest
from makers.world import model_server
from tools.mail.dates import format_date
from tools.mail.parse import parse_message


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def environ(own_world) -> dict[str, str]:
    """The environment of somebody who never saw steward: a HOME, and nothing else."""
    return {"HOME": str(own_world), "PATH": os.environ["PATH"], "TZ": "Europe/Oslo"}


class User:
    """Types commands on the tour's home, in this process where that is enough."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.home = Path(os.environ["HOME"]) / ".cache" / "steward-tour"
        self._patch = patch

    def tries(self, *words: str) -> Done:
        """`steward try` with no home named."""
        self._patch.delenv("STEWARD_HOME", raising=False)
        return self._run("try", *words)

    def run(self, *words: str) -> Done:
        """Any other command on the tour's home, as the tour prints it."""
        self._patch.setenv("STEWARD_HOME", str(self.home))
        return self._run(*words)

    def json(self, *words: str):
        """What a listing prints for programs."""
        done = self.run(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def sent(self) -> list[bytes]:
        """Every message that was filed as sent."""
        return [path.read_bytes() for path in (self.home / "sent").glob("*/*") if path.is_file()]

    @staticmethod
    def _run(*words: str) -> Done:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
        return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture
def user(own_world, monkeypatch) -> Iterator[User]:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    return User(monkeypatch)


def test_without_a_terminal_it_plays_through_and_leaves_drafts_and_a_question(
    environ, user, tmp_path
):
    done = run_steward("try", environ=environ, cwd=tmp_path, piped="y\n" * 20)
    assert done.returncode == 0, done.stderr
    drafts = user.json("outbox", "list")
    assert [draft["status"] for draft in drafts] == ["pending"] * 4
    assert sum(draft["tool"] == "mail_reply" for draft in drafts) == 3
    assert len(user.json("questions", "list")) == 1
    assert user.sent() == []


def test_only_the_draft_that_a_letter_ordered_is_marked_as_unowned(user):
    done = user.tries("--yes")
    marked = [
        draft
        for draft in user.json("outbox", "list")
        if any(mark["code"] == "unowned" for mark in draft["marks"])
    ]
    assert [draft["tool"] for draft in marked] == ["mail_send"]
    assert f"$ steward outbox show {marked[0]['id']}" in done.stdout
    assert "ledger@collections-desk.example" in done.stdout
    hint = f"steward outbox {{}} {marked[0]['id']}"
    assert hint.format("approve") not in done.stdout + done.stderr
    shown = user.run("outbox", "show", marked[0]["id"])
    assert shown.stdout in done.stdout
    assert shown.stderr.startswith("\n" + hint.format("reject"))


def test_every_command_it_prints_to_go_on_with_works_as_printed(environ, user, tmp_path):
    done = run_steward("try", "--json", environ=environ, cwd=tmp_path)
    document = json.loads(done.stdout)
    assert document["home"] == str(user.home)
    assert len(document["drafts"]) == 4
    assert "No model was used" in document["answer"]
    for command in document["commands"]:
        assert command.startswith(f"STEWARD_HOME={user.home} ")
        assert Path(command.split()[1]).name == "steward"
        words = command.split()[2:]
        if words[:2] == ["outbox", "show"] or words in (["outbox"], ["questions"]):
            assert user.run(*words).returncode == 0, command


def test_after_the_line_it_prints_a_plain_steward_is_this_one_on_the_tours_home(
    environ, own_world, tmp_path
):
    home = own_world / 'it\'s a "tour" $HOME'
    named = {**environ, "STEWARD_HOME": str(home)}
    done = run_steward("try", "--yes", environ=named, cwd=tmp_path)
    lines = done.stdout.splitlines()
    [export] = [line for line in lines if line.startswith("  export STEWARD_HOME=")]
    commands = [line.strip() for line in lines if line.startswith("  steward ")]
    assert commands[0] == "steward outbox"
    assert [line for line in commands if line.startswith("steward outbox approve")]
    for command in ("steward outbox list --json", commands[1]):
        shell = subprocess.run(
            ["sh", "-c", f"set -eu\n{export}\n{command}"],
            env={**environ, "PATH": "/usr/bin:/bin"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert "ingrid.solheim@harbour-library.example" in shell.stdout


def test_the_first_line_it_prints_is_not_blank(user):
    assert user.tries("--yes").stdout.startswith("A tour of steward: ")


def test_an_approved_draft_is_filed_once_and_a_second_approval_says_so(user):
    user.tries("--yes")
    reply = next(d for d in user.json("outbox", "list") if d["tool"] == "mail_reply")
    first = user.run("outbox", "approve", reply["id"], "--yes")
    assert first.returncode == 0, first.stderr
    [raw] = user.sent()
    assert parse_message(raw).text.strip() == reply["args"]["body"].strip()
    second = user.run("outbox", "approve", reply["id"], "--yes")
    assert second.returncode == 1
    assert "sent" in second.stderr
    assert user.sent() == [raw]


def test_an_answer_lets_the_briefing_go_on_to_its_end(user):
    user.tries("--yes")
    [question] = user.json("questions", "list")
    done = user.run("questions", "answer", question["id"], "1", "--yes")
    assert done.returncode == 0, done.stderr
    assert f'You answered "{question["options"][0]}"' in done.stdout
    assert user.json("questions", "list") == []
    assert len(user.json("outbox", "list")) == 5


def test_a_second_try_goes_on_with_what_waits_and_adds_nothing(user):
    user.tries("--yes")
    before = user.json("outbox", "list")
    done = user.tries("--yes")
    assert done.returncode == 0
    assert f"An earlier tour waits in {user.home}" in done.stdout
    assert user.json("outbox", "list") == before


def test_when_all_is_decided_a_second_try_plays_a_fresh_morning(user):
    user.tries("--yes")
    old = {draft["id"] for draft in user.json("outbox", "list")}
    for draft in old:
        assert user.run("outbox", "reject", draft, "--reason", "seen").returncode == 0
    [question] = user.json("questions", "list")
    user.run("questions", "abandon", question["id"])
    assert user.tries("--yes").returncode == 0
    drafts = user.json("outbox", "list")
    pending = {draft["id"] for draft in drafts if draft["status"] == "pending"}
    assert len(pending) == 4
    assert pending.isdisjoint(old)
    assert old <= {draft["id"] for draft in drafts}


def test_another_mailbox_in_the_same_home_is_played_beside_what_waits(user, tmp_path):
    user.tries("--yes")
    old = {draft["id"] for draft in user.json("outbox", "list")}
    source = fill_maildir(tmp_path / "own", [mail(text=f"Is {n} right?") for n in range(3)])
    done = user.tries("--yes", "--mailbox", str(source))
    assert "(and 5 more from before this tour)" in done.stdout
    new = {draft["id"] for draft in user.json("outbox", "list")} - old
    assert len(new) == 2
    assert f"outbox approve {min(new)}" in done.stdout
    assert done.stdout.count('The marks: a "tainted" draft') == 1  # nobody there is known


def test_a_mailbox_that_names_no_recipient_is_played_and_the_lack_is_said(user, tmp_path):
    source = fill_maildir(tmp_path / "own", [mail(to="", text="Is it right?")])
    done = user.tries("--yes", "--mailbox", str(source))
    assert done.returncode == 0
    assert "steward does not know your address" in done.stdout
    assert "--address YOU@HOST" in done.stdout
    named = user.tries("--yes", "--mailbox", str(source), "--address", "kim@home.example")
    assert "does not know your address" not in named.stdout


def test_at_a_terminal_the_lacking_address_is_asked_for(environ, user, tmp_path):
    source = fill_maildir(tmp_path / "own", [mail(to="", text="Is it right?")])
    with Terminal("try", "--mailbox", str(source), environ=environ, cwd=tmp_path) as terminal:
        asked = "Your address (or Enter to go on without): "
        terminal.answer([(asked, "kim")])
        terminal.expect("kim is no address such as you@example.org.")
        terminal.answer([(asked, "kim@home.example")])
        terminal.expect("taken to be kim@home.example")
    account = tomllib.loads((user.home / "config.toml").read_text())["mail"]["accounts"]["tour"]
    assert account["address"] == "kim@home.example"


def test_an_address_that_is_none_is_a_usage_error(user):
    done = user.tries("--yes", "--address", "kim")
    assert done.returncode == 2
    assert "'kim' is no address such as you@example.org" in done.stderr


def test_a_home_of_the_owners_own_is_refused_in_one_line(environ, tmp_path):
    home = tmp_path / "mine"
    home.mkdir()
    (home / "config.toml").write_text("")
    before = tree_digest(home)
    done = run_steward("try", "--yes", environ={**environ, "STEWARD_HOME": str(home)}, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "is a steward home of your own" in done.stderr
    assert tree_digest(home) == before


def test_on_the_persons_own_mailbox_every_reply_quotes_a_real_message(user, corpus):
    done = user.tries("--yes", "--mailbox", str(corpus / "mail"))
    assert done.returncode == 0, done.stderr
    heads = [parse_message(path.read_bytes()).head for path in (corpus / "mail").iterdir()]
    real = [
        (head.sender[0].name or head.sender[0].address, f'"{head.subject}"', format_date(head.date))
        for head in heads
        if head.sender and head.subject and head.date
    ]
    drafts = user.json("outbox", "list")
    assert len(drafts) >= 2
    assert len(user.json("questions", "list")) == 1
    for draft in drafts:
        body = draft["args"]["body"]
        assert any(all(part in body for part in parts) for parts in real), body


def test_a_relative_mailbox_is_copied_and_left_as_it_was(user, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = fill_maildir(tmp_path / "own", [mail(text="Could you call me?")])
    before = tree_digest(source)
    done = user.tries("--yes", "--mailbox", "own")
    assert done.returncode == 0, done.stderr
    assert f"a copy of {source}, a Maildir: 1 message." in done.stdout
    assert tree_digest(source) == before


def test_a_mailbox_that_is_none_is_a_usage_error(user, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = user.tries("--yes", "--mailbox", "nowhere")
    assert done.returncode == 2
    assert done.stderr == (
        f"steward try: no mailbox at {tmp_path}/nowhere; name a Maildir, a folder of .eml files or "
        "an mbox\n"
    )


def test_at_a_terminal_a_draft_is_shown_approved_and_the_question_answered(environ, user, tmp_path):
    with Terminal("try", environ=environ, cwd=tmp_path) as terminal:
        terminal.expect("Now the morning briefing runs")
        terminal.answer(
            [
                ("(Enter) ", ""),
                ("(Enter) ", ""),
                ("(Enter) ", ""),
                ("Shall I show one of the replies", "y"),
                ("Do you want to approve it?", "y"),
            ]
        )
        terminal.answer(
            [
                ("Send exactly this? [y/N]", "y"),
                ("(Enter) ", ""),
                ("Your answer (1-3, your own words, or Enter to leave it): ", "2"),
            ]
        )
        passage = terminal.expect("Go on with the ordinary commands.")
        assert terminal.end() == 0
    assert "You answered" in passage
    assert "[y/N]" not in passage
    assert terminal.seen.count("What shall I answer?") == 1
    assert len(user.sent()) == 1
    assert user.json("questions", "list") == []
    drafts = user.json("outbox", "list")
    assert "14:30" in drafts[0]["args"]["body"]  # the second option, not the number


def test_an_answer_that_begins_with_a_dash_is_still_an_answer(environ, user, tmp_path):
    with Terminal("try", environ=environ, cwd=tmp_path) as terminal:
        terminal.answer([("(Enter) ", "")] * 3)
        terminal.answer([("Shall I show", ""), ("approve it?", ""), ("(Enter) ", "")])
        terminal.answer([("Your answer (", "--perhaps: on Friday")])
        assert terminal.end() == 0
    assert "My answer: --perhaps: on Friday" in user.json("outbox", "list")[0]["args"]["body"]


def test_what_is_neither_yes_nor_no_is_asked_again(environ, user, tmp_path):
    with Terminal("try", environ=environ, cwd=tmp_path) as terminal:
        terminal.answer([("(Enter) ", "")] * 3)
        terminal.answer([("Shall I show", ""), ("approve it?", "yees")])
        terminal.answer([("Please type y or n", ""), ("Do you want to approve it?", "n")])
        terminal.answer([("(Enter) ", ""), ("Your answer (", "")])
        assert terminal.end() == 0
    assert user.sent() == []


def test_the_first_line_at_a_terminal_stands_out_and_shows_no_escape(environ, tmp_path):
    with Terminal("try", environ={**environ, "TERM": "xterm"}, cwd=tmp_path) as terminal:
        terminal.expect("(Enter) ")
    assert terminal.raw.startswith(b"\x1b[1mA tour of steward: it reads everything")
    assert terminal.seen.startswith("A tour of steward")
    assert "\\x1b" not in terminal.seen


def test_a_second_tour_in_the_same_home_waits_for_the_first(environ, user, tmp_path):
    with Terminal("try", environ=environ, cwd=tmp_path) as terminal:
        terminal.expect("(Enter) ")
        second = user.tries("--yes")
        assert (second.returncode, second.stdout) == (1, "")
        assert second.stderr == (
            f"steward try: a tour is playing in {user.home}; wait for it, or set STEWARD_HOME to "
            "another folder\n"
        )
        terminal.type("\x04")
        assert terminal.end() == 0
    assert len(user.json("outbox", "list")) == 4


def test_a_mailbox_that_cannot_be_read_is_no_mailbox_without_questions(environ, user, tmp_path):
    """R3: the briefing read nothing, the tour says so and fails, and another try is a fresh one."""
    with Terminal("try", environ=environ, cwd=tmp_path) as terminal:
        terminal.expect("(Enter) ")
        shutil.rmtree(user.home / "mail")
        terminal.type("\n")
        terminal.expect("The mailbox could not be read: ")
        assert terminal.end() == 1
    assert "drafted nothing" not in terminal.seen
    assert user.tries("--yes").returncode == 0
    assert len(user.json("outbox", "list")) == 4


def test_a_model_server_that_is_accepted_gives_the_briefing(environ, user, tmp_path):
    turns = [
        {"calls": [{"name": "mail_recent", "arguments": {"limit": 5}}]},
        {"text": "The scripted server read the mail.", "when": {"tool": "customs house"}},
    ]
    with model_server(turns) as server:
        which = f"scripted at {server.base_url}"
        with Terminal("try", "--port", str(server.port), environ=environ, cwd=tmp_path) as terminal:
            terminal.answer([(f"There is a model: {which}.", "y"), ("(Enter) ", "")])
            terminal.expect("The scripted server read the mail.")
            terminal.expect(f"The model {which} gave the briefing.")
            assert terminal.end() == 0
        assert (server.refused, server.script.unplayed) == ([], [])
    config = tomllib.loads((user.home / "config.toml").read_text())
    assert which == f"scripted at {config['models']['server']['base_url']}"
    assert f"Model:   {which}" in terminal.seen
    assert "No model was used" not in terminal.seen


def test_a_model_server_that_nobody_was_asked_about_is_named_and_not_used(user):
    with model_server([]) as server:
        done = user.tries("--yes", "--port", str(server.port))
        assert [(seen.method, seen.path) for seen in server.journal] == [("GET", "/v1/models")]
        where = server.base_url
    assert done.returncode == 0
    assert (
        f"A model server answers at {where} (scripted); without --yes, at a terminal, the tour offers it."
    ) in done.stdout
    assert "The rehearsal gave the briefing; no model was used." in done.stdout


def test_plain_enter_all_the_way_approves_and_answers_nothing(environ, user, tmp_path):
    with Terminal("try", environ=environ, cwd=tmp_path) as terminal:
        for prompt in ("(Enter) ", "(Enter) ", "(Enter) ", "Shall I show", "approve it?"):
            terminal.answer([(prompt, "")])
        terminal.answer([("(Enter) ", ""), ("Your answer (", "")])
        assert terminal.end() == 0
    assert user.sent() == []
    assert len(user.json("questions", "list")) == 1
    assert all(draft["status"] == "pending" for draft in user.json("outbox", "list"))


def test_the_end_of_input_at_a_terminal_is_no_to_everything(environ, user, tmp_path):
    with Terminal("try", environ=environ, cwd=tmp_path) as terminal:
        terminal.expect("(Enter) ")
        terminal.type("\x04")
        assert terminal.end() == 0
    assert user.sent() == []
    assert len(user.json("questions", "list")) == 1


def test_ctrl_c_leaves_with_one_line_that_says_how_to_go_on(environ, user, tmp_path):
    with Terminal("try", environ=environ, cwd=tmp_path) as terminal:
        terminal.expect("(Enter) ")
        terminal.interrupt()
        terminal.expect(f"Stopped. Go on with: STEWARD_HOME={user.home} ")
        assert terminal.end() == 130
        assert "Traceback" not in terminal.seen
    assert user.tries("--yes").returncode == 0
    assert len(user.json("outbox", "list")) == 4
