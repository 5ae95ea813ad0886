"""Pure. A staged mail as what is composed and to whom it goes."""

from tools.mail.addresses import Address, AddressError, checked_mailbox
from tools.mail.args import StagedMail
from tools.mail.compose import AttachedBytes, Outgoing


def outgoing_of(
    staged: StagedMail, files: tuple[AttachedBytes, ...]
) -> tuple[Outgoing, tuple[str, ...]]:
    """The mail and the recipients of its envelope, Bcc among them, each once.

    Raises: AddressError for an address that cannot be written to, or for no recipient at all.
    """
    to, cc, bcc = (_mailboxes(each) for each in (staged.to, staged.cc, staged.bcc))
    everyone = {address.key: address.address for address in (*to, *cc, *bcc)}
    if not everyone:
        raise AddressError("the draft has no recipient")
    outgoing = Outgoing(
        sender=checked_mailbox(staged.sender),
        to=to,
        cc=cc,
        subject=staged.subject,
        body=staged.body,
        in_reply_to=staged.in_reply_to,
        references=tuple(staged.references),
        attachments=files,
    )
    return outgoing, tuple(everyone.values())


def _mailboxes(entries: list[str]) -> tuple[Address, ...]:
    return tuple(checked_mailbox(entry) for entry in entries)
