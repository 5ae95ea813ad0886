"""The tools that read mail. Nothing they do leaves a mark in a mailbox."""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from tools.contract import Tool, ToolContext
from tools.mail import listing, reader
from tools.mail.args import RecentArgs, SearchArgs, ThreadArgs
from tools.mail.folders import Folder, folders_of
from tools.mail.heads import bracketed
from tools.mail.reader import Answer, Criteria, Found
from tools.mail.settings import Mail, MailAccount
from tools.mail.stored import MAX_MESSAGE_BYTES
from tools.result import Item, ToolResult

PREVIEW_CHARACTERS = 1_600
MAX_THREAD_MESSAGES = 100


class MailRecent(Tool):
    """Lists the newest messages."""

    async def call(self, args: RecentArgs, ctx: ToolContext) -> ToolResult:
        """Blocks as `tools.mail.listing` documents, newest first, with the count of all."""
        mail = ctx.need("mail", Mail)
        since = None if args.days is None else ctx.now() - timedelta(days=args.days)
        return await asyncio.to_thread(_recent, mail, args, since)

    def truncation_hint(self, args: RecentArgs) -> str:
        """A smaller limit, or fewer days."""
        return f"narrow with limit={max(1, args.limit // 2)} or days=2"


class MailSearch(Tool):
    """Finds messages."""

    async def call(self, args: SearchArgs, ctx: ToolContext) -> ToolResult:
        """Blocks as `tools.mail.listing` documents, newest first, with what was not searched."""
        mail = ctx.need("mail", Mail)
        return await asyncio.to_thread(_search, mail, args, ctx.timezone)

    def truncation_hint(self, args: SearchArgs) -> str:
        """A smaller limit, or more criteria."""
        return f"narrow with limit={max(1, args.limit // 2)}, from, subject or since"


class MailGetThread(Tool):
    """Reads a thread."""

    async def call(self, args: ThreadArgs, ctx: ToolContext) -> ToolResult:
        """Every message of the thread whole, oldest first."""
        mail = ctx.need("mail", Mail)
        return await asyncio.to_thread(_thread, mail, args)

    def truncation_hint(self, args: ThreadArgs) -> str:
        """A thread cannot be narrowed; what it quotes can be searched for."""
        del args
        return "the newest message is the last one; search for words of it with mail_search"


def _recent(mail: Mail, args: RecentArgs, since: datetime | None) -> ToolResult:
    places = _places(mail, args.account, args.folder, only_inbox=True)
    if isinstance(places, ToolResult):
        return places
    answer = reader.recent(places, mail.cache, since=since, limit=args.limit)
    age = "" if args.days is None else f" of the last {_count(args.days, 'day')}"
    hint = "; raise limit (at most 100), or use mail_search" if args.limit < 100 else ""
    return _listed(answer, f"messages{age}", hint)


def _search(mail: Mail, args: SearchArgs, zone: ZoneInfo) -> ToolResult:
    places = _places(mail, args.account, args.folder, only_inbox=False)
    if isinstance(places, ToolResult):
        return places
    criteria = Criteria(
        words=tuple(args.query.casefold().split()),
        sender=args.sender.casefold().strip(),
        recipient=args.recipient.casefold().strip(),
        subject=args.subject.casefold().strip(),
        since=_midnight(args.since, zone),
        until=_midnight(args.until + timedelta(days=1), zone) if args.until else None,
    )
    answer = reader.search(places, mail.cache, criteria, limit=args.limit)
    return _listed(answer, "messages that fit", "; narrow with from, to, subject, since or until")


def _thread(mail: Mail, args: ThreadArgs) -> ToolResult:
    accounts = _accounts(mail, args.account)
    if isinstance(accounts, ToolResult):
        return accounts
    wanted = bracketed(args.message_id)
    for account in accounts:
        answer = reader.thread(account, mail.cache, wanted)
        if answer.found:
            return _whole(answer)
    return ToolResult.error(
        "no message has that Message-ID; copy the Message-ID line of a message that mail_recent or "
        "mail_search listed"
    )


def _midnight(day: date | None, zone: ZoneInfo) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), zone).astimezone(UTC)


def _accounts(mail: Mail, name: str | None) -> Sequence[MailAccount] | ToolResult:
    if not mail.accounts:
        return ToolResult.error("no mail account is configured; tell the owner to add one")
    if name is None:
        return mail.accounts
    account = mail.account(name)
    if account is None:
        known = ", ".join(each.name for each in mail.accounts)
        return ToolResult.error(f"there is no such mail account; the accounts are: {known}")
    return (account,)


def _places(
    mail: Mail, account: str | None, folder: str | None, *, only_inbox: bool
) -> list[tuple[MailAccount, Folder]] | ToolResult:
    accounts = _accounts(mail, account)
    if isinstance(accounts, ToolResult):
        return accounts
    places = [
        (each, found)
        for each in accounts
        for found in reader.chosen_folders(each, folder, only_inbox=only_inbox)
    ]
    if places:
        return places
    names = [found.name for each in accounts for found in folders_of(each)]
    if not names:
        paths = ", ".join(str(each.path) for each in accounts)
        return ToolResult.error(f"cannot read the mailbox at {paths}: no Maildir or mbox is there")
    return ToolResult.error(
        f"there is no such folder; the folders are: {', '.join(dict.fromkeys(names))}"
    )


def _listed(answer: Answer, what: str, hint: str) -> ToolResult:
    if not answer.found:
        notes = "".join(f"\n{note}" for note in _notes(answer))
        return ToolResult.ok(f"No {what}.{notes}")
    blocks: list[str] = []
    items: list[Item] = []
    for place, found in _placed(answer.found):
        message = reader.open_preview(found, PREVIEW_CHARACTERS)
        text = listing.block(found.head, message, place)
        blocks.append(text)
        items.append(_item(found, place, text))
    opening = _opening(answer, what, hint)
    return ToolResult.ok("\n\n".join([opening, *blocks]), external=True, items=items)


def _whole(answer: Answer) -> ToolResult:
    shown = answer.found[-MAX_THREAD_MESSAGES:]
    left_out = len(answer.found) - len(shown)
    blocks: list[str] = []
    items: list[Item] = []
    for place, found in _placed(shown):
        message = reader.open_message(found)
        text = listing.whole(found.head, message, place)
        blocks.append(text)
        items.append(_item(found, place, text))
    older = f"; {left_out} older ones are left out" if left_out else ""
    opening = f"Thread of {_count(len(answer.found), 'message')}, oldest first{older}."
    return ToolResult.ok("\n\n".join([opening, *blocks]), external=True, items=items)


def _placed(found: Sequence[Found]) -> Iterator[tuple[listing.Place, Found]]:
    """Each message with its place; of two that share a Message-ID the second shows its own."""
    claimed: dict[str, str] = {}
    for number, each in enumerate(found, start=1):
        owner = claimed.setdefault(each.head.id, each.head.fingerprint)
        yield (
            listing.Place(
                number=number,
                of=len(found),
                account=each.account,
                folder=each.stored.folder,
                shown_id=each.head.id if owner == each.head.fingerprint else each.head.fingerprint,
                size_bytes=each.stored.size_bytes,
                read_bytes=min(MAX_MESSAGE_BYTES, each.stored.size_bytes),
            ),
            each,
        )


def _item(found: Found, place: listing.Place, text: str) -> Item:
    return Item(provider_id=place.shown_id, title=listing.title(found.head), text=text)


def _opening(answer: Answer, what: str, hint: str) -> str:
    shown = len(answer.found)
    if answer.total is None:
        line = f"The newest {shown} {what}, newest first; there may be more{hint}."
    elif answer.total > shown:
        line = f"The newest {shown} of {answer.total} {what}, newest first{hint}."
    else:
        line = f"All {shown} {what}, newest first."
    return "\n".join([line, *_notes(answer)])


def _notes(answer: Answer) -> list[str]:
    notes = [f"Note: {note}." for note in answer.notes]
    if answer.unreadable:
        notes.append(f"Note: {_count(answer.unreadable, 'message')} could not be read.")
    return notes


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
