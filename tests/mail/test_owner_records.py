"""Whom the owner has written to himself: what steward sent for him does not count."""

from datetime import datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from bot.owner_records import MailRecords
from makers.mail import account, maildir, message
from makers.outbox import World, now
from outbox.tables import Attempt, AttemptOutcome, ReleasedTo
from tools.mail.settings import Mail

BY_HAND = "<hand@example.net>"
DRAFTED = "<drafted@example.net>"
EARLIER = "<earlier@example.net>"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_only_mail_sent_by_hand_makes_a_recipient_known(world: World, tmp_path: Path) -> None:
    """O11: no mail that a draft or an attempt of steward's bears the key of, however it was sent."""
    draft = world.put(delivery_key=DRAFTED)
    with world.store.effect() as session:
        session.add(
            Attempt(
                draft_id=draft.id,
                n=1,
                revision=1,
                delivery_key=EARLIER,
                process="-",
                started_at=draft.created_at,
                deadline_at=draft.created_at,
                outcome=AttemptOutcome.UNKNOWN,
            )
        )
    sent = maildir(
        tmp_path / "Sent",
        {
            f"{n}:2,S": message(To=f"{name}@example.org", Message_ID=key)
            for n, (name, key) in enumerate(
                [("hand", BY_HAND), ("drafted", DRAFTED), ("earlier", EARLIER)]
            )
        },
    )
    mail = Mail(accounts=(account(maildir(tmp_path / "Mail"), sent=sent),))
    known = MailRecords(lambda: mail, world.store).identifiers()
    assert known == {"address:hand@example.org", "address:sam@example.net"}
    world.store.close()


def mail_of_days_ago(folder: Path, days: int, to: str) -> None:
    at: datetime = now() - timedelta(days=days)
    text = message(To=to, Message_ID=f"<{days}@rewritten.example>", Date=format_datetime(at))
    (folder / "cur" / f"{int(at.timestamp())}.{days}.host:2,S").write_bytes(text)


def test_the_copy_of_a_released_draft_under_another_id_is_no_mail_by_hand(
    world: World, tmp_path: Path
) -> None:
    """O11: a provider rewrote the key; only mail from before the draft shows the owner wrote."""
    draft = world.put(created_at=now() - timedelta(days=5))
    with world.store.effect() as session:
        for name in ("planted", "friend"):
            session.add(
                ReleasedTo(
                    identifier=f"address:{name}@example.org", draft_id=draft.id, session_id="s"
                )
            )
    sent = maildir(tmp_path / "Sent", {})
    mail_of_days_ago(sent, 5, "planted@example.org, friend@example.org, hand@example.org")
    mail_of_days_ago(sent, 4, "planted@example.org")
    mail_of_days_ago(sent, 30, "friend@example.org")
    mail = Mail(accounts=(account(maildir(tmp_path / "Mail"), sent=sent),))
    known = MailRecords(lambda: mail, world.store).identifiers()
    assert known == {
        "address:friend@example.org",
        "address:hand@example.org",
        "address:sam@example.net",
    }
    world.store.close()
