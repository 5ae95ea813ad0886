"""Completing a mail: every argument of a call resolved into what a reviewer reads and delivery sends."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from mimetypes import MimeTypes
from typing import Any

from pydantic import ValidationError

from tools.blobs import BlobError, BlobStore
from tools.contract import Completed, CompletionError, Drawn, FileTaint, PathJail
from tools.errors import JailError
from tools.ids import new_id
from tools.mail import listing, reader
from tools.mail.addresses import Address, AddressError, checked_address
from tools.mail.addressing import (
    MAX_RECIPIENTS,
    answered_id,
    quoted,
    reply_recipients,
    reply_references,
    reply_subject,
    resolve_recipient,
    thread_root,
    why_unanswerable,
)
from tools.mail.args import AttachedFile, ReplyArgs, SendArgs, StagedMail
from tools.mail.compose import AttachedBytes, compose, wire_body
from tools.mail.folders import folders_of
from tools.mail.header_lines import HeaderError, refuse_control
from tools.mail.heads import bracketed
from tools.mail.outgoing import outgoing_of
from tools.mail.parameters import safe_filename
from tools.mail.parse import MailMessage
from tools.mail.reader import Found
from tools.mail.settings import Mail, MailAccount
from tools.mail.stored import MAX_MESSAGE_BYTES
from tools.result import Item

DESCRIBED_CHARACTERS = 80
MAX_ATTACHED_BYTES = 25 * 1024 * 1024  # what the large providers still take once it is base64

_TYPES = MimeTypes()
"""The library's own table; `mimetypes.guess_type` would read files of this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What completion may touch."""

    mail: Mail
    blobs: BlobStore
    jail: PathJail
    file_taint: FileTaint
    now: datetime


def complete_send(args: SendArgs, desk: Desk) -> Completed:
    """A new mail. Raises: CompletionError."""
    account = sending_account(desk.mail, args.account)
    to, cc, bcc = _recipients(args, desk.mail)
    subject = _subject(args.subject)
    staged = StagedMail(
        **{"from": str(_own_address(account))},
        account=account.name,
        to=to,
        cc=cc,
        bcc=bcc,
        subject=subject,
        body=_body(args.body),
        attachments=_attach(args.attachments, desk),
    )
    drawn = _drawn_from_files(args.attachments, desk)
    try:
        return _completed(staged, account, desk.now, drawn)
    except (AddressError, HeaderError) as error:
        raise CompletionError(f"the mail cannot be written: {error}") from error


def complete_reply(args: ReplyArgs, desk: Desk) -> Completed:
    """An answer with everything that the answered message decides. Raises: CompletionError."""
    found = _source(desk.mail, args)
    message = reader.open_message(found)
    if message is None:
        raise CompletionError("the message can no longer be read; list the mailbox again")
    home = desk.mail.account(found.account)
    account = sending_account(desk.mail, args.account or _can_send(home))
    why = why_unanswerable(message)
    if why is not None:
        raise CompletionError(
            f"a machine wrote that message: {why}; nobody reads an answer to it. To reach a "
            "person use mail_send"
        )
    try:
        recipients = reply_recipients(
            message.head, own_addresses(desk.mail), reply_all=args.reply_all
        )
    except AddressError as error:
        raise CompletionError(f"cannot answer that message: {error}") from error
    staged = StagedMail(
        **{"from": str(_own_address(account))},
        account=account.name,
        to=[str(each) for each in recipients.to],
        cc=[str(each) for each in recipients.cc],
        bcc=[],
        subject=reply_subject(message.head.subject),
        body=_body(f"{_body(args.body)}\n{quoted(message.head, message.text)}"),
        attachments=_attach(args.attachments, desk),
        message_id=bracketed(args.message_id),
        **_chain(message),
    )
    drawn = (_quoted(args, found, message), *_drawn_from_files(args.attachments, desk))
    try:
        return _completed(staged, account, desk.now, drawn)
    except (AddressError, HeaderError):  # its text may quote the message, and the model reads this
        raise CompletionError(
            "an answer to that message cannot be written as a mail; write to a person with mail_send"
        ) from None


def _quoted(args: ReplyArgs, found: Found, message: MailMessage) -> Drawn:
    """The answered message as a reader of the mailbox would have returned it."""
    identifier = bracketed(args.message_id)
    place = listing.Place(
        number=1,
        of=1,
        account=found.account,
        folder=found.stored.folder,
        shown_id=identifier,
        size_bytes=found.stored.size_bytes,
        read_bytes=min(MAX_MESSAGE_BYTES, found.stored.size_bytes),
    )
    item = Item(
        provider_id=identifier,
        title=listing.title(message.head),
        text=listing.whole(message.head, message, place),
    )
    return Drawn(what=_short(f"quoted {identifier}"), private=True, untrusted=True, item=item)


def _drawn_from_files(paths: Sequence[str], desk: Desk) -> tuple[Drawn, ...]:
    """A workspace file is the owner's private data, perhaps with words of others in it."""
    return tuple(
        Drawn(
            what=_short(f"attached {path}"),
            private=True,
            untrusted=desk.file_taint.is_untrusted(desk.jail.resolve(path)),
        )
        for path in dict.fromkeys(paths)
    )


def _short(what: str) -> str:
    return (
        what if len(what) <= DESCRIBED_CHARACTERS else f"{what[: DESCRIBED_CHARACTERS - 1]}\u2026"
    )


def _chain(message: MailMessage) -> dict[str, Any]:
    return {
        "thread_id": thread_root(message.head),
        "in_reply_to": answered_id(message.head),
        "references": list(reply_references(message.head)),
    }


def sending_account(mail: Mail, name: str | None) -> MailAccount:
    """The account to send from. Raises: CompletionError naming the accounts that can."""
    able = [account for account in mail.accounts if account.smtp is not None]
    if not able:
        raise CompletionError("no mail account has an smtp server; tell the owner to add one")
    names = ", ".join(account.name for account in able)
    if name is None:
        if len(able) > 1:
            raise CompletionError(f"several accounts can send; set account to one of: {names}")
        return able[0]
    for account in able:
        if account.name == name:
            return account
    raise CompletionError(f"no account of that name can send; set account to one of: {names}")


def own_addresses(mail: Mail) -> frozenset[str]:
    """Every address of the owner, case folded: all accounts, with their aliases."""
    return frozenset(
        address.casefold()
        for account in mail.accounts
        for address in (account.address, *account.aliases)
    )


def _can_send(account: MailAccount | None) -> str | None:
    return account.name if account is not None and account.smtp is not None else None


def _own_address(account: MailAccount) -> Address:
    try:
        return Address(name=account.display_name, address=checked_address(account.address))
    except AddressError as error:
        raise CompletionError(f"account {account.name}: {error}; tell the owner") from error


def _recipients(args: SendArgs, mail: Mail) -> tuple[list[str], list[str], list[str]]:
    """To, cc and bcc, each person once, where first named. Raises: CompletionError."""
    seen: set[str] = set()
    lists: list[list[str]] = []
    for name, entries in (("to", args.to), ("cc", args.cc), ("bcc", args.bcc)):
        resolved: list[str] = []
        for entry in entries:
            try:
                address = resolve_recipient(entry, mail.contacts)
            except AddressError as error:
                raise CompletionError(f"{name}: {error}") from error
            if address.key not in seen:
                seen.add(address.key)
                resolved.append(str(address))
        lists.append(resolved)
    if len(seen) > MAX_RECIPIENTS:
        raise CompletionError(f"a mail goes to at most {MAX_RECIPIENTS} people; send fewer")
    return lists[0], lists[1], lists[2]


def _subject(text: str) -> str:
    try:
        refuse_control("subject", text)
    except HeaderError as error:
        raise CompletionError(f"{error}; write it on one line") from error
    return " ".join(text.split())


def _body(text: str) -> str:
    if "\x00" in text:
        raise CompletionError("body: a mail holds no zero byte; send the data as an attachment")
    return wire_body(text)


def _attach(paths: Sequence[str], desk: Desk) -> list[AttachedFile]:
    """Each file's bytes in the blob store, as they are now. Raises: CompletionError."""
    files: list[AttachedFile] = []
    left = MAX_ATTACHED_BYTES
    for path in paths:
        try:
            with desk.jail.open_read(desk.jail.resolve(path)) as file:
                data = file.read(left + 1)
        except JailError as error:
            raise CompletionError(f"attachments: {error}") from error
        except OSError as error:
            raise CompletionError(f"attachments: cannot read {path}: {error.strerror}") from error
        if len(data) > left:
            raise CompletionError(
                f"attachments: together larger than {MAX_ATTACHED_BYTES} bytes, which mail servers "
                "refuse; send less, or say where the file can be fetched"
            )
        left -= len(data)
        files.append(_attached(path, data, desk.blobs))
    return files


def _attached(path: str, data: bytes, blobs: BlobStore) -> AttachedFile:
    name = safe_filename(path) or "attachment"
    guessed, encoding = _TYPES.guess_type(name)
    # A message or a multipart may not be base64 (RFC 2046 5.2.1); what is compressed is only bytes.
    whole = guessed is None or encoding or guessed.startswith(("message/", "multipart/"))
    return AttachedFile(
        name=name,
        media_type="application/octet-stream" if whole or guessed is None else guessed,
        size_bytes=len(data),
        sha256=blobs.put(data),
    )


def _source(mail: Mail, args: ReplyArgs) -> Found:
    """The one message to answer, looked for in trash and junk last. Raises: CompletionError."""
    wanted = bracketed(args.message_id)
    for account in mail.accounts:
        folders = folders_of(account)
        for group in ([each for each in folders if not each.is_aside], folders):
            found = reader.find(account, group, mail.cache, wanted)
            if len(found) > 1:
                raise CompletionError(
                    "different messages carry that Message-ID, so it is not clear which is meant; "
                    "read them with mail_get_thread and give the Message-ID line shown there"
                )
            if found:
                return found[0]
    raise CompletionError(
        "no message has that Message-ID; copy the Message-ID line of a message that mail_recent, "
        "mail_search or mail_get_thread showed"
    )


def _completed(
    staged: StagedMail, account: MailAccount, now: datetime, drawn: tuple[Drawn, ...]
) -> Completed:
    """The arguments as JSON, and the Message-ID that names this mail for ever.

    Raises: AddressError, HeaderError: a draft that could not be composed must not wait for the owner.
    """
    domain = checked_address(account.address).rpartition("@")[2]
    key = f"<{new_id(now)}.{secrets.token_hex(6)}@{domain}>"
    refuse_unwritable(staged, key, now)
    args = staged.model_dump(by_alias=True, mode="json")
    return Completed(args=args, delivery_key=key, drawn=drawn)


def check_mail(completed: Mapping[str, Any], mail: Mail, blobs: BlobStore, now: datetime) -> None:
    """Nothing happens if this mail could be composed and handed to its account's server.

    Raises: CompletionError naming the field, in words for the owner.
    """
    try:
        staged = StagedMail.model_validate(completed)
        sending_account(mail, staged.account)
        for file in staged.attachments:
            _check_blob(file, blobs)
        if wire_body(staged.body).rstrip("\n") != staged.body.rstrip("\n"):
            raise CompletionError(
                "body: a carriage return stands in it; end lines with a line feed"
            )
        _body(staged.body)
        refuse_unwritable(staged, "<check@steward.invalid>", now)
    except ValidationError as error:
        where = ".".join(str(step) for step in error.errors()[0]["loc"])
        raise CompletionError(f"the field {where} is not valid") from None
    except (AddressError, HeaderError) as error:
        raise CompletionError(str(error)) from error


def _check_blob(file: AttachedFile, blobs: BlobStore) -> None:
    try:
        size = blobs.path(file.sha256).stat().st_size
    except (BlobError, OSError):
        raise CompletionError(
            f"attachments: steward keeps no file with the sha256 {file.sha256}"
        ) from None
    if size != file.size_bytes:
        raise CompletionError(
            f"attachments: the file with the sha256 {file.sha256} has {size} bytes, "
            f"not {file.size_bytes}"
        )


def refuse_unwritable(staged: StagedMail, key: str, now: datetime) -> None:
    """Nothing happens if its headers can be written. Raises: AddressError, HeaderError."""
    empty = tuple(
        AttachedBytes(name=file.name, media_type=file.media_type, data=b"")
        for file in staged.attachments
    )
    compose(outgoing_of(staged, empty)[0], message_id=key, date=now)
