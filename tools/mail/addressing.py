"""Pure. To whom an answer goes, what it is called, what it refers to, and what it quotes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tools.mail.addresses import Address, AddressError, checked_address, checked_mailbox
from tools.mail.automatic import AutomaticKind
from tools.mail.dates import format_date
from tools.mail.header_lines import is_writable_id
from tools.mail.heads import Head, without_reply_marks
from tools.mail.parse import MailMessage

MAX_RECIPIENTS = 100
MAX_QUOTED_CHARACTERS = 20_000

# Nobody reads an answer to these; the others may be a person writing through a list.
_UNANSWERABLE = frozenset(
    {
        AutomaticKind.BOUNCE,
        AutomaticKind.BOUNCE_DELAY,
        AutomaticKind.READ_RECEIPT,
        AutomaticKind.FEEDBACK_REPORT,
        AutomaticKind.DMARC_REPORT,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipients:
    """Checked recipients of an answer, each address once."""

    to: tuple[Address, ...]
    cc: tuple[Address, ...]


def why_unanswerable(message: MailMessage) -> AutomaticKind | None:
    """Which kind of machine wrote the message, where an answer would reach nobody; else None."""
    if message.automatic is None:
        return None
    kind = message.automatic.kind
    unread = kind is AutomaticKind.NO_REPLY and not message.head.reply_to
    return kind if unread or kind in _UNANSWERABLE else None


def reply_recipients(head: Head, own: frozenset[str], *, reply_all: bool) -> Recipients:
    """The sender (Reply-To first, RFC 5322 section 3.6.2), or everyone but the owner.

    `own` are the case folded addresses of the owner. A message of the owner's own is answered to
    its recipients. To answers the sender and with `reply_all` everyone in To; Cc stays Cc.

    Raises: AddressError when nobody is left to write to, or an address cannot be written to. Its
    text quotes nothing of the message: a refusal is steward's own word.
    """
    mine = any(address.key in own for address in head.sender)
    first = head.to if mine else (head.reply_to or head.sender)
    more_to = head.to if reply_all else ()
    to = _without(first, own) or (() if mine else _without(head.sender, own))
    to = to or tuple(address for address in first if address.address)[:1]
    cc = head.cc if reply_all else ()
    to_checked = _checked([*to, *_without(more_to, own)])
    taken = frozenset(address.key for address in to_checked)
    cc_checked = tuple(each for each in _checked(_without(cc, own)) if each.key not in taken)
    if not to_checked:
        raise AddressError("the message names nobody to answer; write to a person with mail_send")
    if len(to_checked) + len(cc_checked) > MAX_RECIPIENTS:
        raise AddressError(
            f"the answer would go to more than {MAX_RECIPIENTS} people; answer the sender only"
        )
    return Recipients(to=to_checked, cc=cc_checked)


def _without(addresses: Iterable[Address], own: frozenset[str]) -> tuple[Address, ...]:
    return tuple(each for each in addresses if each.address and each.key not in own)


def _checked(addresses: Iterable[Address]) -> tuple[Address, ...]:
    checked: dict[str, Address] = {}
    for each in addresses:
        try:
            address = Address(name=each.name[:200], address=checked_address(each.address))
        except AddressError:
            raise AddressError(
                "one of its addresses cannot be written to; answer the sender only, or read it "
                "and write with mail_send"
            ) from None
        checked.setdefault(address.key, address)
    return tuple(checked.values())


def reply_subject(subject: str | None) -> str:
    """The subject with exactly one "Re:", whatever language's marks it had."""
    return f"Re: {' '.join(without_reply_marks(subject or '').split())}".rstrip()


def reply_references(head: Head) -> tuple[str, ...]:
    """The whole References of an answer (RFC 5322 section 3.6.4), the answered message last.

    Without References the message's only In-Reply-To stands in. What cannot stand in a header is
    left out.
    """
    eldest = head.references or (head.in_reply_to if len(head.in_reply_to) == 1 else ())
    chain = [each for each in eldest if each != head.message_id]
    whole = [*chain, head.message_id] if head.message_id else chain
    return tuple(each for each in whole if is_writable_id(each))


def thread_root(head: Head) -> str:
    """The identifier that names the whole thread."""
    return head.parents[0] if head.parents else head.id


def quoted(head: Head, text: str) -> str:
    """The original as a mail program quotes it: who wrote when, then every line after `> `."""
    body = text.strip("\n")
    cut = len(body) - MAX_QUOTED_CHARACTERS
    if cut > 0:
        body = f"{body[:MAX_QUOTED_CHARACTERS]}\n[{cut} more characters are not quoted]"
    lines = [
        ">" if not line else f"{'>' if line.startswith('>') else '> '}{line}"
        for line in body.split("\n")
    ]
    who = ", ".join(str(address) for address in head.sender) or "somebody"
    when = f"On {format_date(head.date)}, " if head.date is not None else ""
    return "\n".join([f"{when}{who} wrote:", *lines])


def resolve_recipient(text: str, contacts: Mapping[str, str]) -> Address:
    """The mailbox that an argument names: a contact by its exact name, else an address.

    Raises: AddressError saying which argument is neither.
    """
    if text in contacts:
        return checked_mailbox(contacts[text])
    if "@" not in text and "\n" not in text and "\r" not in text:
        raise AddressError(
            f"{text!r} is neither an address nor the exact name of a contact; "
            "write the whole address, such as ada@example.org"
        )
    return checked_mailbox(text)


def answered_id(head: Head) -> str:
    """The In-Reply-To of an answer: the Message-ID its sender gave, "" without a usable one."""
    usable = head.message_id is not None and is_writable_id(head.message_id)
    return head.message_id if usable and head.message_id else ""
