"""E10 and the outcome of every way an SMTP conversation can end, over real sockets."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import tools.mail
from makers.mail import (
    NOW,
    FakeSmtp,
    account,
    certificate,
    clear,
    closed_port,
    context,
    maildir,
    server,
    smtp_process,
)
from tools import crashpoint
from tools.contract import CalledOff, DeliveryOutcome, ToolContext, Verification
from tools.mail.addresses import Address
from tools.mail.compose import Outgoing, compose
from tools.mail.send_tools import MailSend
from tools.mail.settings import SmtpServer, Tls
from tools.mail.smtp import Envelope, dot_stuffed, submit
from tools.manifest import load_specs

StartSmtp = Callable[..., FakeSmtp]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartSmtp]:
    with ExitStack() as running:

        def started(fault: str = "none", *options: str) -> FakeSmtp:
            return running.enter_context(smtp_process(tmp_path / "server", fault, *options))

        yield started


def envelope(*recipients: str, body: str = "Tea at four?\n") -> Envelope:
    outgoing = Outgoing(
        sender=Address(name="Sam Reed", address="sam@example.net"),
        to=tuple(Address(name="", address=each) for each in recipients),
        subject="Tea",
        body=body,
    )
    data = compose(outgoing, message_id="<tea-2@example.net>", date=NOW)
    return Envelope(sender="sam@example.net", recipients=recipients, message=data)


async def test_an_accepted_mail_is_sent_once_and_arrives_byte_for_byte(start: StartSmtp) -> None:
    fake = start()
    mail = envelope("ada@example.org", "bo@example.org", body=".\n..dots\n.\nend\n")
    delivery = await submit(server(fake.port), mail, clear)
    assert delivery.outcome is DeliveryOutcome.SENT
    assert "250" in delivery.detail
    (accepted,) = fake.accepted()
    assert accepted["to"] == ["ada@example.org", "bo@example.org"]
    assert accepted["from"] == "sam@example.net"
    assert accepted["sha256"] == hashlib.sha256(mail.message).hexdigest()
    assert fake.messages() == [mail.message]


@pytest.mark.parametrize("code", ["550", "450"])
async def test_a_refused_recipient_means_nothing_went_out(start: StartSmtp, code: str) -> None:
    """E10: one refusal among several resets the transaction, and each refused address is named."""
    fake = start(f"rcpt-{code}")
    mail = envelope("ada@example.org", "refused-1@example.org", "refused-2@example.org")
    delivery = await submit(server(fake.port), mail, clear)
    assert delivery.outcome is DeliveryOutcome.FAILED
    assert f"refused-1@example.org refused: {code}" in delivery.detail
    assert f"refused-2@example.org refused: {code}" in delivery.detail
    assert "ada@example.org" not in delivery.detail
    assert fake.accepted() == []
    assert {"event": "rset"} in fake.events()


@pytest.mark.parametrize(
    ("fault", "outcome", "held"),
    [
        ("drop-connect", DeliveryOutcome.FAILED, 0),
        ("greet-421", DeliveryOutcome.FAILED, 0),
        ("greet-554", DeliveryOutcome.FAILED, 0),
        ("drop-mail", DeliveryOutcome.FAILED, 0),
        ("drop-rcpt", DeliveryOutcome.FAILED, 0),
        ("drop-data", DeliveryOutcome.FAILED, 0),
        ("drop-body", DeliveryOutcome.FAILED, 0),
        ("dot-550", DeliveryOutcome.FAILED, 0),
        ("dot-450", DeliveryOutcome.UNKNOWN, 0),
        ("dot-421", DeliveryOutcome.UNKNOWN, 0),
        ("drop-after-dot", DeliveryOutcome.UNKNOWN, 1),
        ("garbage-after-dot", DeliveryOutcome.UNKNOWN, 1),
        ("drop-after-250", DeliveryOutcome.SENT, 1),
        ("slow", DeliveryOutcome.SENT, 1),
    ],
)
async def test_each_way_the_conversation_ends_is_called_what_it_is(
    start: StartSmtp, fault: str, outcome: DeliveryOutcome, held: int
) -> None:
    """E10: 5xx to the dot is not sent; 4xx or a drop after it is uncertain; slow is waited for."""
    fake = start(fault)
    body = "long\n" * 2_000_000 if fault == "drop-body" else "Tea?\n"  # more than sockets hold
    delivery = await submit(server(fake.port), envelope("ada@example.org", body=body), clear)
    assert delivery.outcome is outcome, delivery.detail
    assert len(fake.accepted()) == held
    if outcome is DeliveryOutcome.FAILED:
        assert "nothing was sent" in delivery.detail


async def test_silence_after_the_dot_is_uncertain_and_never_repeated(start: StartSmtp) -> None:
    """E10: the wait is bounded, and the mail was handed over exactly once."""
    fake = start("silent-after-dot")
    slow = server(fake.port, answer_timeout_seconds=0.3)
    delivery = await submit(slow, envelope("ada@example.org"), clear)
    assert delivery.outcome is DeliveryOutcome.UNKNOWN
    assert len(fake.accepted()) == 1


async def test_a_delivery_called_off_before_the_dot_sends_nothing_and_says_so(
    start: StartSmtp,
) -> None:
    """O8: the server has every byte but the dot, and so it has no mail."""
    fake = start()
    asked: list[float] = []

    def off(*, answer_within_seconds: float) -> None:
        asked.append(answer_within_seconds)
        raise CalledOff("the machine slept")

    delivery = await submit(server(fake.port), envelope("ada@example.org"), off)
    assert delivery.outcome is DeliveryOutcome.FAILED
    assert delivery.detail == "127.0.0.1: the machine slept; nothing was sent"
    assert asked == [20.0]
    assert fake.accepted() == []


async def test_a_server_that_dawdles_before_the_dot_is_left_in_time(start: StartSmtp) -> None:
    """O8: each step may be quick enough, and all of them together not."""
    fake = start("silent-rcpt")
    dawdling = server(fake.port, before_dot_timeout_seconds=0.4)
    delivery = await submit(dawdling, envelope("ada@example.org"), clear)
    assert delivery.outcome is DeliveryOutcome.FAILED
    assert "too slow: 0.4 seconds were over; nothing was sent" in delivery.detail
    assert fake.accepted() == []


async def test_a_server_that_is_not_there_is_a_plain_failure() -> None:
    delivery = await submit(server(closed_port()), envelope("ada@example.org"), clear)
    assert delivery.outcome is DeliveryOutcome.FAILED
    assert "connect failed" in delivery.detail


def encrypted(
    start: StartSmtp, folder: Path, tls: Tls, fault: str = "none"
) -> tuple[FakeSmtp, Path]:
    cert, key = certificate(folder)
    fake = start(
        fault, "--tls", tls, "--cert", str(cert), "--key", str(key), "--user", "sam",
        "--password", "open sesame",
    )  # fmt: skip
    return fake, cert


@pytest.mark.parametrize("tls", [Tls.STARTTLS, Tls.TLS])
async def test_a_password_travels_only_inside_tls(
    start: StartSmtp, tmp_path: Path, tls: Tls
) -> None:
    fake, cert = encrypted(start, tmp_path, tls)
    settings = server(fake.port, tls=tls, ca_file=cert, user="sam", password="open sesame")
    delivery = await submit(settings, envelope("ada@example.org"), clear)
    assert delivery.outcome is DeliveryOutcome.SENT, delivery.detail


@pytest.mark.parametrize("tls", [Tls.STARTTLS, Tls.TLS])
async def test_an_unknown_certificate_ends_the_conversation_before_the_password(
    start: StartSmtp, tmp_path: Path, tls: Tls
) -> None:
    fake, _ = encrypted(start, tmp_path, tls)
    settings = server(fake.port, tls=tls, user="sam", password="open sesame")
    delivery = await submit(settings, envelope("ada@example.org"), clear)
    assert delivery.outcome is DeliveryOutcome.FAILED
    assert "certificate" in delivery.detail.lower()
    assert fake.accepted() == []


async def test_a_server_without_starttls_is_never_spoken_to_in_clear(
    start: StartSmtp, tmp_path: Path
) -> None:
    fake, cert = encrypted(start, tmp_path, Tls.STARTTLS, "no-starttls")
    settings = server(fake.port, tls=Tls.STARTTLS, ca_file=cert, user="sam", password="open sesame")
    delivery = await submit(settings, envelope("ada@example.org"), clear)
    assert delivery.outcome is DeliveryOutcome.FAILED
    assert "STARTTLS" in delivery.detail
    assert fake.accepted() == []


async def test_a_wrong_password_is_said_without_the_password(
    start: StartSmtp, tmp_path: Path
) -> None:
    fake, cert = encrypted(start, tmp_path, Tls.STARTTLS, "bad-auth")
    settings = server(fake.port, tls=Tls.STARTTLS, ca_file=cert, user="sam", password="open sesame")
    delivery = await submit(settings, envelope("ada@example.org"), clear)
    assert delivery.outcome is DeliveryOutcome.FAILED
    assert "535" in delivery.detail
    assert "sesame" not in delivery.detail


@pytest.mark.parametrize("host", ["mail.example.org", "192.0.2.1", "127.0.0.1.example.org"])
def test_clear_text_to_another_machine_cannot_be_configured(host: str) -> None:
    with pytest.raises(ValueError, match="loopback"):
        SmtpServer(host=host, port=25, tls=Tls.NONE)


def test_settings_never_show_a_password() -> None:
    shown = repr(server(587, user="sam", password="open sesame"))
    assert "sesame" not in shown
    assert "sam" in shown


def test_dots_are_doubled_at_the_start_of_lines_only() -> None:
    assert dot_stuffed(b".a\r\nb.\r\n.\r\n") == b"..a\r\nb.\r\n..\r\n"
    assert dot_stuffed(b"no end") == b"no end\r\n"


def staged(**changes: Any) -> dict[str, Any]:
    facts = {
        "account": "work",
        "from": "Sam Reed <sam@example.net>",
        "to": ["Ada Lovelace <ada@example.org>"],
        "cc": [],
        "bcc": [],
        "subject": "Tea",
        "body": "At four?\n",
        "attachments": [],
        "message_id": "",
        "thread_id": "",
        "in_reply_to": "",
        "references": [],
    }
    return {**facts, **changes}


KEY = "<0123.abc@example.net>"


def sender() -> MailSend:
    specs = load_specs(Path(tools.mail.__file__).parent)
    return MailSend(next(spec for spec in specs if spec.name == "mail_send"))


def sending(tmp_path: Path, port: int, **changes: Any) -> ToolContext:
    inbox = maildir(tmp_path / "mail")
    return context(tmp_path, account(inbox, smtp=server(port), **changes))


async def test_what_arrives_is_what_the_draft_shows_dated_when_it_was_released(
    start: StartSmtp, tmp_path: Path
) -> None:
    """O9: release computes nothing but the date, and Bcc is in the envelope only."""
    fake = start()
    ctx = sending(tmp_path, fake.port)
    sha = ctx.needs["blobs"].put(b"%PDF")  # type: ignore[attr-defined]
    attached = {"name": "a.pdf", "media_type": "application/pdf", "size_bytes": 4, "sha256": sha}
    draft = staged(bcc=["secret@example.org"], attachments=[attached])
    delivery = await sender().deliver(draft, KEY, ctx, clear)
    assert delivery.outcome is DeliveryOutcome.SENT, delivery.detail
    (data,) = fake.messages()
    assert b"secret@example.org" not in data
    assert fake.accepted()[0]["to"] == ["ada@example.org", "secret@example.org"]
    assert b"Date: Mon, 30 Nov 2026 10:15:00 +0100\r\n" in data
    assert f"Message-ID: {KEY}\r\n".encode() in data
    assert b'filename="a.pdf"' in data


async def test_a_changed_attachment_is_not_sent(start: StartSmtp, tmp_path: Path) -> None:
    """O9: the bytes in the store must still be the ones that were staged."""
    fake = start()
    ctx = sending(tmp_path, fake.port)
    store = ctx.needs["blobs"]
    sha = store.put(b"as staged")  # type: ignore[attr-defined]
    store.path(sha).write_bytes(b"something else")  # type: ignore[attr-defined]
    attached = {"name": "a.txt", "media_type": "text/plain", "size_bytes": 9, "sha256": sha}
    delivery = await sender().deliver(staged(attachments=[attached]), KEY, ctx, clear)
    assert delivery.outcome is DeliveryOutcome.FAILED
    assert "the attachment a.txt changed" in delivery.detail
    assert fake.events() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"subject": "Tea\r\nBcc: evil@x.example"}, "line break"),
        ({"to": ["ada@example.org\nBcc: evil@x.example"]}, "line break"),
        ({"from": "Sam\r\n <sam@example.net>"}, "line break"),
        ({"to": []}, "no recipient"),
        ({"to": ["nonsense"]}, "no address"),
        ({"references": ["<a@b>\r\nX: y"]}, "identifier"),
        ({"in_reply_to": "no brackets"}, "identifier"),
        ({"account": "gone"}, "not configured"),
        ({"surprise": 1}, "surprise"),
        ({"body": None}, "body"),
    ],
    ids=lambda value: "" if isinstance(value, str) else "-".join(value),
)
async def test_a_draft_that_was_edited_into_nonsense_is_not_sent(
    start: StartSmtp, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    """E3: a line break in any header value is refused, also when the owner's edit brought it in."""
    fake = start()
    delivery = await sender().deliver(staged(**change), KEY, sending(tmp_path, fake.port), clear)
    assert delivery.outcome is DeliveryOutcome.FAILED
    assert said in delivery.detail
    assert fake.events() == []


async def test_a_sent_mail_is_filed_once_however_often_it_is_filed(
    start: StartSmtp, tmp_path: Path
) -> None:
    fake = start()
    ctx = sending(tmp_path, fake.port, sent=tmp_path / "mail" / ".Sent")
    assert await sender().verify(staged(), KEY, ctx) is Verification.UNKNOWN
    for _ in range(2):
        assert (await sender().deliver(staged(), KEY, ctx, clear)).outcome is DeliveryOutcome.SENT
    (copy,) = (tmp_path / "mail" / ".Sent" / "cur").iterdir()
    assert copy.name.endswith(":2,S")
    assert copy.read_bytes() == fake.messages()[0]
    assert await sender().verify(staged(), KEY, ctx) is Verification.DELIVERED


async def test_a_server_that_files_sent_mail_gets_no_second_copy(
    start: StartSmtp, tmp_path: Path
) -> None:
    fake = start()
    filed = tmp_path / "server" / "accepted"
    inbox = maildir(tmp_path / "mail")
    ctx = context(tmp_path, account(inbox, smtp=server(fake.port, files_sent=True), sent=filed))
    assert (await sender().deliver(staged(), KEY, ctx, clear)).outcome is DeliveryOutcome.SENT
    assert len(list(filed.glob("*/*"))) == 1
    assert await sender().verify(staged(), KEY, ctx) is Verification.DELIVERED


async def test_a_copy_that_cannot_be_filed_does_not_unsend_the_mail(
    start: StartSmtp, tmp_path: Path
) -> None:
    fake = start()
    blocked = tmp_path / "sent.mbox"
    blocked.write_bytes(b"From x Mon Jan  1 00:00:00 2026\n\n")
    ctx = sending(tmp_path, fake.port, sent=blocked)
    delivery = await sender().deliver(staged(), KEY, ctx, clear)
    assert delivery.outcome is DeliveryOutcome.SENT
    assert "no copy was filed" in delivery.detail


async def test_an_uncertain_delivery_is_verified_by_the_servers_own_copy(
    start: StartSmtp, tmp_path: Path
) -> None:
    """O8: the answer was lost, yet the Message-ID in Sent proves it; its absence proves nothing."""
    fake = start("drop-after-dot")
    filed = tmp_path / "server" / "accepted"
    inbox = maildir(tmp_path / "mail")
    ctx = context(tmp_path, account(inbox, smtp=server(fake.port, files_sent=True), sent=filed))
    assert (await sender().deliver(staged(), KEY, ctx, clear)).outcome is DeliveryOutcome.UNKNOWN
    assert await sender().verify(staged(), KEY, ctx) is Verification.DELIVERED
    assert await sender().verify(staged(), "<other@example.net>", ctx) is Verification.UNKNOWN


async def test_only_a_server_on_this_machine_counts_as_loopback(tmp_path: Path) -> None:
    here = sending(tmp_path, 2525)
    there = context(
        tmp_path,
        account(
            tmp_path / "mail",
            smtp=SmtpServer(host="smtp.example.org", port=587, tls=Tls.STARTTLS),
        ),
    )
    assert sender().loopback_only(staged(), here)
    assert not sender().loopback_only(staged(), there)
    assert not sender().loopback_only(staged(account="gone"), here)


async def test_every_step_of_a_delivery_is_a_crash_point(start: StartSmtp) -> None:
    fake = start()
    reached: list[str] = []
    crashpoint.install_hook(reached.append)
    try:
        await submit(server(fake.port), envelope("ada@example.org"), clear)
    finally:
        crashpoint._hook.clear()
    assert reached == ["smtp.connected", "smtp.recipients", "smtp.data", "smtp.accepted"]


async def test_two_mails_at_once_do_not_disturb_each_other(start: StartSmtp) -> None:
    fake = start()
    mails = [envelope(f"p{number}@example.org") for number in range(8)]
    deliveries = await asyncio.gather(*(submit(server(fake.port), mail, clear) for mail in mails))
    assert {each.outcome for each in deliveries} == {DeliveryOutcome.SENT}
    assert sorted(event["to"][0] for event in fake.accepted()) == [
        f"p{n}@example.org" for n in range(8)
    ]
