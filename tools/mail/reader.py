"""Questions to the mailboxes of an account: the recent messages, a search, one thread, one message.

Runs in a worker thread; reads headers first and bodies only where they decide. What a question did
not look at is part of its answer.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tools.mail.folders import Folder, folders_of, list_folder
from tools.mail.heads import Head
from tools.mail.parse import MailMessage, parse_message, preview_message
from tools.mail.read_cache import ReadCache
from tools.mail.settings import MailAccount
from tools.mail.stored import Stored, read_head_of, read_stored
from tools.mail.threads import Entry, thread_of

_CLOCK_SLACK = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One message of an answer, not yet opened. `moment` is when it was sent, as far as known."""

    account: str
    stored: Stored
    head: Head
    moment: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Messages in the order asked for. `total` counts all that fit, None where that is not known.

    `unreadable` messages could not be opened; `notes` say what was not looked at.
    """

    found: tuple[Found, ...]
    total: int | None
    unreadable: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """What a search asks; words and needles are case folded, all of them must be there."""

    words: tuple[str, ...] = ()
    sender: str = ""
    recipient: str = ""
    subject: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """How much text one search may read."""

    bodies: int = 3_000
    bytes_in_all: int = 300_000_000


DEFAULT_BOUND = Bound()


@dataclass(slots=True)
class _Places:
    """The messages of some folders, newest arrival first."""

    messages: list[tuple[str, Stored]] = field(default_factory=list)
    unreadable: int = 0


def moment_of(head: Head, stored: Stored) -> datetime:
    """When a message was sent: its Date, unless it is missing or lies after the arrival.

    An imported mailbox keeps its years, and spam dated 3609 is not the newest mail for ever.
    """
    if head.date is None or head.date > stored.delivered + _CLOCK_SLACK:
        return stored.delivered
    return head.date.astimezone(UTC)


def open_message(found: Found) -> MailMessage | None:
    """The whole message, or None when it can no longer be read."""
    try:
        return parse_message(read_stored(found.stored))
    except OSError:
        return None


def open_preview(found: Found, characters: int) -> MailMessage | None:
    """The message with the beginning of its text, or None when it cannot be read."""
    try:
        return preview_message(read_stored(found.stored), characters)
    except OSError:
        return None


def chosen_folders(account: MailAccount, name: str | None, *, only_inbox: bool) -> list[Folder]:
    """The folder of that name (any case), else the inbox, else every folder but trash and junk."""
    folders = folders_of(account)
    if name is not None:
        return [folder for folder in folders if folder.name.casefold() == name.casefold()]
    inbox = [folder for folder in folders if folder.name.upper() == "INBOX"]
    if only_inbox and inbox:
        return inbox
    return [folder for folder in folders if not folder.is_aside]


def recent(
    places: Sequence[tuple[MailAccount, Folder]],
    cache: ReadCache,
    *,
    since: datetime | None,
    limit: int,
) -> Answer:
    """The newest messages first. Arrival bounds the moment, so old files are never opened."""
    listed = _listed(places, cache)
    newest: list[tuple[datetime, int, Found]] = []
    unreadable, fitting = listed.unreadable, 0
    for index, (account, stored) in enumerate(listed.messages):
        latest = stored.delivered + _CLOCK_SLACK
        if since is not None and latest < since:
            break
        if since is None and len(newest) == limit and latest < newest[0][0]:
            break
        head = read_head_of(stored, cache)
        if head is None:
            unreadable += 1
            continue
        moment = moment_of(head, stored)
        if since is not None and moment < since:
            continue
        fitting += 1
        item = (moment, -index, Found(account=account, stored=stored, head=head, moment=moment))
        heapq.heappushpop(newest, item) if len(newest) == limit else heapq.heappush(newest, item)
    found = tuple(item[2] for item in sorted(newest, key=lambda item: item[:2], reverse=True))
    total = fitting if since is not None else len(listed.messages) - unreadable
    return Answer(found=found, total=total, unreadable=unreadable)


def search(
    places: Sequence[tuple[MailAccount, Folder]],
    cache: ReadCache,
    criteria: Criteria,
    *,
    limit: int,
    bound: Bound = DEFAULT_BOUND,
) -> Answer:
    """The newest messages that fit. Words may stand in the header lines or in the text."""
    listed = _listed(places, cache)
    unreadable = listed.unreadable
    fitting: list[Found] = []
    for account, stored in listed.messages:
        if criteria.since is not None and stored.delivered + _CLOCK_SLACK < criteria.since:
            break
        head = read_head_of(stored, cache)
        if head is None:
            unreadable += 1
            continue
        moment = moment_of(head, stored)
        if _head_fits(head, moment, criteria):
            fitting.append(Found(account=account, stored=stored, head=head, moment=moment))
    fitting.sort(key=lambda found: found.moment, reverse=True)
    if not criteria.words:
        return Answer(found=tuple(fitting[:limit]), total=len(fitting), unreadable=unreadable)
    found, complete, note = _with_words(fitting, criteria.words, bound, limit)
    return Answer(
        found=tuple(found),
        total=len(found) if complete else None,
        unreadable=unreadable,
        notes=() if note is None else (note,),
    )


def _with_words(
    candidates: Sequence[Found], words: tuple[str, ...], bound: Bound, limit: int
) -> tuple[list[Found], bool, str | None]:
    """The candidates that hold every word; whether all were looked at; where reading stopped."""
    found: list[Found] = []
    bodies = read_bytes = 0
    for candidate in candidates:
        if len(found) == limit:
            return found, False, None
        missing = _missing(words, _head_text(candidate.head))
        if missing and (bodies == bound.bodies or read_bytes > bound.bytes_in_all):
            note = (
                f"the text of the newest {bodies} of {len(candidates)} messages was searched; "
                "narrow with from, to, subject, since or until to reach older ones"
            )
            return found, False, note
        if missing:
            bodies += 1
            read_bytes += candidate.stored.size_bytes
            message = open_message(candidate)
            if message is None or _missing(missing, _body_text(message)):
                continue
        found.append(candidate)
    return found, True, None


def thread(account: MailAccount, cache: ReadCache, message_id: str) -> Answer:
    """The messages of one thread, oldest first; nothing found where no message has that id."""
    folders = folders_of(account)
    listed = _listed([(account, folder) for folder in folders], cache)
    aside = {folder.name for folder in folders if folder.is_aside}
    entries: list[Entry] = []
    for position, (_, stored) in enumerate(listed.messages):
        head = read_head_of(stored, cache)
        wanted = head is not None and message_id in (head.id, head.fingerprint)
        if head is not None and (wanted or stored.folder not in aside):
            entries.append(Entry(position=position, head=head, moment=moment_of(head, stored)))
    members = thread_of(message_id, entries)
    found = tuple(
        Found(
            account=account.name,
            stored=listed.messages[entry.position][1],
            head=entry.head,
            moment=entry.moment,
        )
        for entry in members
    )
    return Answer(found=found, total=len(found), unreadable=listed.unreadable)


def find(
    account: MailAccount, folders: Iterable[Folder], cache: ReadCache, message_id: str
) -> list[Found]:
    """The messages of that identifier or fingerprint, newest first, copies of one left out.

    More than one means that somebody used a Message-ID that was another message's.
    """
    found: dict[str, Found] = {}
    for _, stored in _listed([(account, folder) for folder in folders], cache).messages:
        head = read_head_of(stored, cache)
        if head is not None and message_id in (head.id, head.fingerprint):
            one = Found(
                account=account.name, stored=stored, head=head, moment=moment_of(head, stored)
            )
            found.setdefault(head.fingerprint, one)
    return list(found.values())


def _listed(places: Sequence[tuple[MailAccount, Folder]], cache: ReadCache) -> _Places:
    listed = _Places()
    for account, folder in places:
        messages, unreadable = list_folder(folder, cache)
        listed.messages += [(account.name, stored) for stored in messages]
        listed.unreadable += unreadable
    listed.messages.sort(key=lambda each: (each[1].delivered, each[1].path, each[1].span or (0, 0)))
    listed.messages.reverse()
    return listed


def _head_fits(head: Head, moment: datetime, criteria: Criteria) -> bool:
    if criteria.since is not None and moment < criteria.since:
        return False
    if criteria.until is not None and moment >= criteria.until:
        return False
    wanted = (
        (criteria.sender, head.sender),
        (criteria.recipient, (*head.to, *head.cc)),
    )
    for needle, addresses in wanted:
        if needle and not any(
            needle in f"{each.name} {each.address}".casefold() for each in addresses
        ):
            return False
    return criteria.subject in (head.subject or "").casefold()


def _head_text(head: Head) -> str:
    people = (*head.sender, *head.to, *head.cc)
    return " ".join(
        [head.subject or "", *(f"{each.name} {each.address}" for each in people)]
    ).casefold()


def _body_text(message: MailMessage) -> str:
    names = " ".join(attachment.name for attachment in message.attachments)
    return f"{message.text} {names}".casefold()


def _missing(words: tuple[str, ...], text: str) -> tuple[str, ...]:
    return tuple(word for word in words if word not in text)
