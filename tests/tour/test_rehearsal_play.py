"""The rehearsal against the real mail tools: it reads, drafts, asks, and invents nothing."""

import email
import email.policy
import json
import re

import pytest

from bot.models.contract import UserMessage
from bot.models.rehearsal import RehearsalModel
from bot.models.rehearsal_steps import NO_MODEL
from bot.tour.mailbox import sample_messages, write_mailbox
from bot.tour.own_mailbox import copy_mailbox
from makers.rehearsing import Play, Theatre
from makers.tour import BRIEFING_PROMPT, NOW, fill_maildir, mail
from tools.mail.dates import format_date, parse_date
from tools.mail.parse import parse_message

MODEL = RehearsalModel()


@pytest.fixture
def theatre(tmp_path) -> Theatre:
    write_mailbox(tmp_path / "mail", now=NOW)
    return Theatre(tmp_path / "mail", tmp_path)


def _quotes_a_real_message(body: str, raws: list[bytes]) -> bool:
    """True if some one message has the sender's name, the subject and the date in this text."""
    for raw in raws:
        head = parse_message(raw).head
        if not head.sender or not head.subject or head.date is None:
            continue
        name = head.sender[0].name or head.sender[0].address
        if all(part in body for part in (name, f'"{head.subject}"', format_date(head.date))):
            return True
    return False


async def test_the_briefing_reads_drafts_replies_and_ends_in_one_question(theatre):
    play = await theatre.play(MODEL, BRIEFING_PROMPT)
    raws = [sample.raw for sample in sample_messages(NOW)]
    assert len(play.replies) == 3
    assert all(_quotes_a_real_message(reply["body"], raws) for reply in play.replies)
    [question] = play.questions
    assert "Amara Okafor" in question["question"]
    assert question["options"] == [
        "Wednesday 2 December at 10:00",
        "Thursday 3 December at 14:30",
        "None of these",
    ]
    assert NO_MODEL in play.answer


async def test_the_briefing_tells_what_it_read_and_leaves_machines_unanswered(theatre):
    play = await theatre.play(MODEL, BRIEFING_PROMPT)
    for quoted in (
        "Ingrid Solheim <ingrid.solheim@harbour-library.example>",
        '"Re: Shelves for the reading room"',
        "Mon, 30 Nov 2026 07:54:00 +0100",
        "Rückfrage zu den geölten Eichendielen",
        "[newsletter]",
        "3 replies wait in your outbox as drafts. Nothing was sent.",
    ):
        assert quoted in play.answer
    answered = {reply["message_id"] for reply in play.replies}
    by_id = {email.message_from_bytes(s.raw)["Message-ID"]: s.name for s in sample_messages(NOW)}
    assert {by_id[each] for each in answered} == {
        "04-shelves-needs-answer",
        "10-german",
        "11-html-only",
    }


async def test_an_order_in_a_letter_is_obeyed_and_the_owner_is_told(theatre):
    play = await theatre.play(MODEL, BRIEFING_PROMPT)
    [send] = play.sends
    assert send["to"] == ["ledger@collections-desk.example"]
    assert "Beware: a letter from Nordlys Timber Accounts" in play.answer
    assert "it waits in your outbox, marked, and you can reject it" in play.answer


async def test_after_the_answer_a_reply_carries_it_and_the_run_ends(theatre):
    play = await theatre.play(MODEL, BRIEFING_PROMPT, answer="Thursday 3 December at 14:30")
    last = play.replies[-1]
    assert "My answer: Thursday 3 December at 14:30" in last["body"]
    assert '"Site meeting at the old customs house"' in last["body"]
    assert len(play.replies) == 4
    assert play.answer.startswith('You answered "Thursday 3 December at 14:30".')
    assert NO_MODEL in play.answer


async def test_an_answer_that_refuses_every_time_asks_for_another(theatre):
    play = await theatre.play(MODEL, BRIEFING_PROMPT, answer="None of these")
    assert "Could you offer another?" in play.replies[-1]["body"]


async def test_the_same_mailbox_gives_the_same_play(theatre):
    first = await theatre.play(MODEL, BRIEFING_PROMPT)
    second = await theatre.play(MODEL, BRIEFING_PROMPT)
    assert first.calls == second.calls
    assert first.answer == second.answer


async def test_every_call_of_a_conversation_has_an_id_of_its_own(theatre):
    first = await theatre.play(MODEL, BRIEFING_PROMPT, answer="Thursday")
    again = [
        *first.messages,
        UserMessage(text="[Tuesday 2026-12-01 09:30 +01:00 X]\n\nwhat is new"),
    ]
    second = await theatre.play(MODEL, BRIEFING_PROMPT, earlier=again)
    ids = [call.id for call in (*first.calls, *second.calls)]
    assert len(set(ids)) == len(ids)
    assert [call.name for call in second.calls] == ["mail_recent"]


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (("mail_reply", "mail_send"), "They need an answer:"),
        (("ask_user",), "3 replies wait in your outbox"),
        (("mail_get_thread",), "Other people wrote:"),
        (("mail_recent",), "I cannot give a briefing: the tool mail_recent is not offered"),
        (
            (
                "ask_user",
                "mail_get_thread",
                "mail_recent",
                "mail_reply",
                "mail_search",
                "mail_send",
            ),
            "I cannot give a briefing",
        ),
    ],
    ids=["read-only", "nobody-to-ask", "no-threads", "no-listing", "last-turn"],
)
async def test_without_a_tool_it_still_ends_with_an_answer(theatre, missing, expected):
    tools = [name for name in theatre.registry.names if name not in missing]
    tools += [] if "ask_user" in missing else ["ask_user"]
    play = await theatre.play(MODEL, BRIEFING_PROMPT, tools=tools)
    assert expected in play.answer
    assert NO_MODEL in play.answer
    assert not set(missing) & {call.name for call in play.calls}


async def test_refusals_are_told_and_nothing_is_tried_twice(theatre):
    play = await theatre.play(
        MODEL, BRIEFING_PROMPT, refuse=["mail_reply", "mail_send"], answer="x"
    )
    assert "The reply could not be drafted: refused by policy" in play.answer
    briefing = next(m.text for m in play.messages if "Briefing." in getattr(m, "text", ""))
    assert "A reply could not be drafted: refused by policy" in briefing
    assert "it was refused: refused by policy" in briefing
    assert len(play.calls) == len({(call.name, call.arguments) for call in play.calls})


async def test_an_empty_mailbox_is_told_as_such(tmp_path):
    play = await Theatre(fill_maildir(tmp_path / "mail", []), tmp_path).play(MODEL, BRIEFING_PROMPT)
    assert play.answer.startswith("The mailbox holds no recent mail.")
    assert not play.questions


def _letter(about: str, date: str) -> bytes:
    """A question of that day."""
    written = mail(sender=f"{about}@away.example", text=f"Could you bring the {about}?")
    return written.replace(b"Mon, 30 Nov 2026", date.encode())


async def _played(tmp_path, letters: list[bytes]) -> Play:
    theatre = Theatre(fill_maildir(tmp_path / "mail", letters), tmp_path)
    return await theatre.play(MODEL, BRIEFING_PROMPT)


def _passage(answer: str, title: str) -> str:
    """The list under this title."""
    assert title in answer, answer
    return answer.partition(title)[2].partition("\n\n")[0]


OLD = [
    _letter("fiddle", "Tue, 22 Mar 2005"),
    _letter("ladder", "Sun, 20 Sep 2026"),
    _letter("anvil", "Fri, 04 May 2001"),
]


async def test_old_letters_are_listed_as_such_and_neither_opened_nor_answered(tmp_path):
    recent = [_letter("plane", "Mon, 30 Nov 2026"), _letter("glue", "Sat, 03 Oct 2026")]
    play = await _played(tmp_path, [*OLD, *recent])
    assert len([call for call in play.calls if call.name == "mail_get_thread"]) == 2
    drafted = "".join(reply["body"] for reply in play.replies)
    briefing = next(m.text for m in play.messages if "Briefing." in getattr(m, "text", ""))
    needed = _passage(briefing, "They need an answer:")
    older = _passage(briefing, "more than 60 days before the newest, left alone:")
    for thing in ("plane", "glue"):
        assert thing in drafted
        assert thing in needed
    for thing in ("fiddle", "ladder", "anvil"):
        assert thing not in drafted + needed
        assert thing in older


async def test_where_too_few_recent_letters_ask_the_newest_old_one_is_taken_up(tmp_path):
    play = await _played(tmp_path, [*OLD, _letter("plane", "Mon, 30 Nov 2026")])
    drafted = "".join(reply["body"] for reply in play.replies)
    assert len(play.replies) == 2
    assert ("plane" in drafted, "ladder" in drafted) == (True, True)
    briefing = next(m.text for m in play.messages if "Briefing." in getattr(m, "text", ""))
    assert "ladder" in _passage(briefing, "I took it up because too little newer mail does:")
    assert "anvil" in _passage(briefing, "left alone:")


async def test_a_date_that_lies_ahead_makes_no_other_letter_old(tmp_path):
    recent = [_letter("plane", "Mon, 30 Nov 2026"), _letter("glue", "Sun, 29 Nov 2026")]
    play = await _played(tmp_path, [*recent, _letter("rocket", "Tue, 30 Jun 3609")])
    briefing = next(m.text for m in play.messages if "Briefing." in getattr(m, "text", ""))
    assert "days before the newest" not in briefing
    assert set(re.findall(r"plane|glue", _passage(briefing, "They need an answer:"))) == {
        "plane",
        "glue",
    }


async def test_a_letter_that_cannot_be_quoted_gets_no_draft(tmp_path):
    nameless = b"From: ada@away.example\nTo: kim@home.example\n\nCould you call me today?\n"
    dateless = mail(text="Can you come?").replace(b"Date: Mon, 30 Nov 2026", b"Date: one day")
    folder = fill_maildir(tmp_path / "mail", [nameless, dateless])
    play = await Theatre(folder, tmp_path).play(MODEL, BRIEFING_PROMPT)
    assert not play.replies
    assert "Left alone: 2 without a sender, a subject or a readable date" in play.answer


@pytest.mark.parametrize(
    ("words", "tools", "expected"),
    [
        ("help", [], "- search WORDS"),
        ("what is new?", ["mail_recent"], '"Site meeting at the old customs house"'),
        ("search Eichendielen", ["mail_search"], "Jürgen Mühlbauer"),
        ("search nosuchword", ["mail_search"], "No such message was found."),
        ("read the repair table", ["mail_search", "mail_get_thread"], "small block plane"),
        (
            "reply to Priya saying I bring both",
            ["mail_search", "mail_reply"],
            "waits in your outbox",
        ),
        ("write to ada@away.example saying hello there", ["mail_send"], "waits in your outbox"),
        ("ask me which colour?", ["ask_user"], "You answered: blue"),
        ("What is the meaning of life", [], "I am a rehearsal without a model"),
        ("", [], "I am a rehearsal without a model"),
    ],
    ids=["help", "news", "search", "nothing", "read", "reply", "write", "ask", "other", "empty"],
)
async def test_in_a_conversation_it_understands_a_few_things(theatre, words, tools, expected):
    play = await theatre.play(MODEL, words, answer="blue")
    assert [call.name for call in play.calls] == tools
    assert expected in play.answer
    assert play.answer.endswith(NO_MODEL)


async def test_what_the_owner_dictates_is_the_whole_draft(theatre):
    play = await theatre.play(MODEL, "reply to Priya saying I bring both: plane, glue.")
    assert play.replies[0]["body"] == "I bring both: plane, glue."


async def _corpus_play(corpus, tmp_path, answer: str | None) -> tuple[Play, list[bytes]]:
    copied = copy_mailbox(corpus / "mail", tmp_path / "mail")
    theatre = Theatre(tmp_path / "mail", tmp_path, address=copied.address)
    play = await theatre.play(MODEL, BRIEFING_PROMPT, answer=answer)
    return play, [path.read_bytes() for path in (corpus / "mail").iterdir()]


async def test_on_the_public_corpus_every_reply_quotes_a_real_sender_subject_and_date(
    corpus, tmp_path
):
    play, raws = await _corpus_play(corpus, tmp_path, "Yes")
    assert len(play.replies) >= 3
    assert len(play.questions) == 1
    for reply in play.replies:
        assert _quotes_a_real_message(reply["body"], raws), reply["body"]
    assert len(play.calls) <= 50
    assert NO_MODEL in play.answer


async def test_on_the_public_corpus_the_briefing_names_only_dates_that_stand_there(
    corpus, tmp_path
):
    play, raws = await _corpus_play(corpus, tmp_path, None)
    dates = {format_date(head.date) for raw in raws if (head := parse_message(raw).head).date}
    named = re.findall(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", play.answer)
    assert named
    assert all(parse_date(date) and date in dates for date in named)


async def test_on_any_one_message_of_the_corpus_alone_it_comes_to_an_end(corpus, tmp_path):
    for number, path in enumerate(sorted((corpus / "mail").iterdir())):
        folder = fill_maildir(tmp_path / str(number) / "mail", [path.read_bytes()])
        play = await Theatre(folder, tmp_path / str(number)).play(
            MODEL, BRIEFING_PROMPT, answer="No"
        )
        assert NO_MODEL in play.answer, path.name
        for call in play.calls:
            json.loads(call.arguments)
        for reply in play.replies:
            assert _quotes_a_real_message(reply["body"], [path.read_bytes()]), path.name
