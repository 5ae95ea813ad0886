"""The tools that send mail: completed when they are called, delivered when the owner released them."""

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from tools.blobs import BlobError, BlobStore
from tools.contract import (
    Completed,
    Delivery,
    DeliveryOutcome,
    GoAhead,
    Sender,
    ToolContext,
    Verification,
)
from tools.mail import sent_mail
from tools.mail.addresses import AddressError
from tools.mail.args import AttachedFile, ReplyArgs, SendArgs, StagedMail
from tools.mail.completion import Desk, check_mail, complete_reply, complete_send
from tools.mail.compose import AttachedBytes, compose
from tools.mail.header_lines import HeaderError
from tools.mail.outgoing import outgoing_of
from tools.mail.settings import Mail, MailAccount, is_loopback
from tools.mail.smtp import Envelope, submit


class _MailSender(Sender):
    """What every tool that sends mail does once its call is completed."""

    def check(self, completed: Mapping[str, Any], ctx: ToolContext) -> None:
        """Account, addresses, headers, body and attachments. Raises: CompletionError."""
        check_mail(completed, ctx.need("mail", Mail), ctx.need("blobs", BlobStore), ctx.now())

    async def deliver(
        self, completed: Mapping[str, Any], delivery_key: str, ctx: ToolContext, go_ahead: GoAhead
    ) -> Delivery:
        """Hand it to the account's server, once."""
        return await deliver_mail(completed, delivery_key, ctx, go_ahead)

    async def verify(
        self, completed: Mapping[str, Any], delivery_key: str, ctx: ToolContext
    ) -> Verification:
        """DELIVERED if a copy is in the account's sent mail; anything else proves nothing."""
        return await verify_mail(completed, delivery_key, ctx)

    def loopback_only(self, completed: Mapping[str, Any], ctx: ToolContext) -> bool:
        """True where the account's server is this machine."""
        return stays_here(completed, ctx)


class MailSend(_MailSender):
    """Sends a new mail."""

    async def complete(self, args: SendArgs, ctx: ToolContext) -> Completed:
        """Account, recipients, subject, body and the attachments' bytes. Raises: CompletionError."""
        return await asyncio.to_thread(complete_send, args, _desk(ctx))


class MailReply(_MailSender):
    """Answers a message."""

    async def complete(self, args: ReplyArgs, ctx: ToolContext) -> Completed:
        """Recipients, subject, references and the quoted original. Raises: CompletionError."""
        return await asyncio.to_thread(complete_reply, args, _desk(ctx))


def _desk(ctx: ToolContext) -> Desk:
    return Desk(
        mail=ctx.need("mail", Mail),
        blobs=ctx.need("blobs", BlobStore),
        jail=ctx.jail,
        file_taint=ctx.file_taint,
        now=ctx.now(),
    )


async def deliver_mail(
    completed: Mapping[str, Any], delivery_key: str, ctx: ToolContext, go_ahead: GoAhead
) -> Delivery:
    """Compose what the draft holds and submit it; a copy is filed where the server files none.

    The draft may have been edited, so everything is checked again. FAILED when it cannot be
    composed: an address, a header value, an attachment whose bytes changed, an account that went.
    """
    mail = ctx.need("mail", Mail)
    try:
        staged = StagedMail.model_validate(completed)
        account = _account(mail, staged.account)
        files = await asyncio.to_thread(
            _read_blobs, staged.attachments, ctx.need("blobs", BlobStore)
        )
        outgoing, recipients = outgoing_of(staged, files)
        date = ctx.now().astimezone(ctx.timezone)
        message = compose(outgoing, message_id=delivery_key, date=date)
    except ValidationError as error:
        where = ".".join(str(step) for step in error.errors()[0]["loc"])
        return _failed(f"the draft's field {where} is not valid; edit the draft")
    except (BlobError, _AccountGone) as error:
        return _failed(str(error))
    except (AddressError, HeaderError) as error:
        return _failed(f"{error}; edit the draft")
    assert account.smtp is not None
    envelope = Envelope(sender=outgoing.sender.address, recipients=recipients, message=message)
    delivery = await submit(account.smtp, envelope, go_ahead)
    if delivery.outcome is not DeliveryOutcome.SENT:
        return delivery
    problem = await asyncio.to_thread(
        sent_mail.file_sent, account, mail.cache, message, delivery_key
    )
    if problem is None:
        return delivery
    return Delivery(outcome=DeliveryOutcome.SENT, detail=f"{delivery.detail}; {problem}")


async def verify_mail(
    completed: Mapping[str, Any], delivery_key: str, ctx: ToolContext
) -> Verification:
    """DELIVERED where sent mail holds the Message-ID, else UNKNOWN: not finding proves nothing."""
    mail = ctx.need("mail", Mail)
    account = mail.account(str(completed.get("account", "")))
    if account is None:
        return Verification.UNKNOWN
    found = await asyncio.to_thread(sent_mail.holds, account, mail.cache, delivery_key)
    return Verification.DELIVERED if found else Verification.UNKNOWN


def stays_here(completed: Mapping[str, Any], ctx: ToolContext) -> bool:
    """True if the draft's account hands its mail to a server on this machine."""
    account = ctx.need("mail", Mail).account(str(completed.get("account", "")))
    return account is not None and account.smtp is not None and is_loopback(account.smtp.host)


class _AccountGone(Exception):  # noqa: N818 - an outcome, not a fault
    """The draft's account is no longer there, or can no longer send."""


def _account(mail: Mail, name: str) -> MailAccount:
    account = mail.account(name)
    if account is None or account.smtp is None:
        raise _AccountGone(f"mail account {name} is not configured to send any more")
    return account


def _read_blobs(files: list[AttachedFile], blobs: BlobStore) -> tuple[AttachedBytes, ...]:
    read: list[AttachedBytes] = []
    for file in files:
        try:
            data = blobs.read(file.sha256)
        except BlobError as error:
            raise BlobError(f"the attachment {file.name} changed: {error}") from error
        read.append(AttachedBytes(name=file.name, media_type=file.media_type, data=data))
    return tuple(read)


def _failed(detail: str) -> Delivery:
    return Delivery(outcome=DeliveryOutcome.FAILED, detail=f"{detail}; nothing was sent")
