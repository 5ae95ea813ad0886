"""The sample post: realistic, of today, the same for the same moment."""

import email
import email.policy
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.tour.mailbox import ADDRESS, sample_messages, write_mailbox
from makers.tour import NOW


def _parsed():
    return [
        email.message_from_bytes(sample.raw, policy=email.policy.default)
        for sample in sample_messages(NOW)
    ]


def test_the_same_moment_gives_the_same_bytes():
    assert sample_messages(NOW) == sample_messages(NOW)


def _elapsed(start, end):
    return end.astimezone(UTC) - start.astimezone(UTC)


@pytest.mark.parametrize(
    "now",
    [
        NOW,
        datetime(2026, 1, 1, 0, 5, tzinfo=ZoneInfo("Pacific/Kiritimati")),
        datetime(2026, 3, 29, 3, 30, tzinfo=ZoneInfo("Europe/Oslo")),
        datetime(2028, 2, 29, 23, 59, tzinfo=ZoneInfo("America/St_Johns")),
    ],
    ids=["morning", "new-year", "clock-change", "leap-day"],
)
def test_every_message_is_of_the_27_hours_before(now):
    samples = sample_messages(now)
    dates = [parsedate_to_datetime(email.message_from_bytes(s.raw)["Date"]) for s in samples]
    assert all(
        timedelta() < _elapsed(date, now) <= timedelta(hours=27, minutes=1) for date in dates
    )
    assert [s.at for s in samples] == dates
    assert not any(b"{{" in s.raw for s in samples)


def test_two_mornings_share_no_message_id():
    first = {email.message_from_bytes(s.raw)["Message-ID"] for s in sample_messages(NOW)}
    later = sample_messages(NOW + timedelta(days=1))
    assert len(first) == len(sample_messages(NOW)) == 14
    assert first.isdisjoint(email.message_from_bytes(s.raw)["Message-ID"] for s in later)


def test_no_message_has_a_defect_and_every_text_decodes():
    for message in _parsed():
        parts = list(message.walk())
        assert not any(part.defects for part in parts), message["Subject"]
        for part in parts:
            if "Content-Type" in part and part.get_content_maintype() == "text":
                assert part.get_content().strip()


def test_the_post_holds_one_of_each_kind():
    messages = _parsed()
    subjects = [message["Subject"] for message in messages]
    assert "Rückfrage zu den geölten Eichendielen" in subjects
    assert sum(subject.endswith("Shelves for the reading room") for subject in subjects) == 4
    assert sum(message.get_content_type() == "text/html" for message in messages) == 1
    assert sum(message.get_content_type() == "multipart/report" for message in messages) == 1
    assert sum("List-Unsubscribe" in message for message in messages) == 1
    assert sum(message.get("Auto-Submitted") == "auto-replied" for message in messages) == 2
    [pdf] = [part for message in messages for part in message.iter_attachments()
             if part.get_content_type() == "application/pdf"]  # fmt: skip
    assert pdf.get_content().startswith(b"%PDF-")
    assert all(ADDRESS in message["To"] for message in messages if "ashford" not in message["From"])


def test_days_named_in_the_text_are_working_days_after_today():
    [request] = [m for m in _parsed() if m["Subject"].startswith("Site meeting")]
    assert "Wednesday 2 December at 10:00 or Thursday 3 December at 14:30" in request.get_content()


def test_written_as_a_maildir_with_what_was_read_marked_so(tmp_path: Path):
    assert write_mailbox(tmp_path / "mail", now=NOW) == 14
    new = list((tmp_path / "mail" / "new").iterdir())
    cur = list((tmp_path / "mail" / "cur").iterdir())
    assert (len(new), len(cur)) == (8, 6)
    assert not list((tmp_path / "mail" / "tmp").iterdir())
    assert all(path.name.endswith(":2,S") for path in cur)
    assert {path.read_bytes() for path in new + cur} == {s.raw for s in sample_messages(NOW)}
