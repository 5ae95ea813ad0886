"""Whom the owner has written to himself: what steward sent for him does not count."""

from pathlib import Path

import pytest

from bot.owner_records import MailRecords
from makers.mail import account, maildir, message
from makers.outbox import World
from outbox.tables import Attempt, AttemptOutcome
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
