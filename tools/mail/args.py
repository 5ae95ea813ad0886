"""The arguments of the mail tools, and what a staged mail holds."""

from datetime import date
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

AccountArgument = Annotated[
    str | None,
    Field(description="Name of one mail account, e.g. work; every account if left out"),
]
SenderAccount = Annotated[
    str | None,
    Field(
        description="Name of the mail account to send from, e.g. work; needed only where several "
        "can send"
    ),
]
Recipients = Annotated[list[str], Field(max_length=100)]
Attachments = Annotated[
    list[str],
    Field(max_length=50, description="Files of the workspace to attach, e.g. reports/march.pdf"),
]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RecentArgs(_Arguments):
    """What `mail_recent` takes."""

    days: Annotated[
        int | None,
        Field(
            ge=1,
            le=36_500,
            description="Only messages sent in the last so many days, e.g. 2; of any age if left out",
        ),
    ] = None
    limit: Annotated[int, Field(ge=1, le=100, description="Messages to show at most, e.g. 20")] = 20
    folder: Annotated[
        str | None,
        Field(description="Name of one folder, e.g. Archive/2026; the inbox if left out"),
    ] = None
    account: AccountArgument = None


class SearchArgs(_Arguments):
    """What `mail_search` takes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    query: Annotated[
        str,
        Field(
            max_length=500,
            description="Words that must all stand in the message, in its header lines or its text, "
            'e.g. invoice march; "" for any',
        ),
    ] = ""
    sender: Annotated[
        str,
        Field(
            alias="from",
            max_length=200,
            description="Part of the sender's name or address, e.g. ada@example.org",
        ),
    ] = ""
    recipient: Annotated[
        str,
        Field(
            alias="to",
            max_length=200,
            description="Part of the name or address of anyone in To or Cc, e.g. team@example.org",
        ),
    ] = ""
    subject: Annotated[
        str, Field(max_length=200, description="Part of the subject, e.g. offer 4711")
    ] = ""
    since: Annotated[
        date | None, Field(description="First day, in the owner's time zone, e.g. 2026-03-01")
    ] = None
    until: Annotated[
        date | None, Field(description="Last day, in the owner's time zone, e.g. 2026-03-31")
    ] = None
    limit: Annotated[int, Field(ge=1, le=100, description="Messages to show at most, e.g. 20")] = 20
    folder: Annotated[
        str | None,
        Field(
            description="Name of one folder, e.g. Sent; every folder but trash, junk and drafts if "
            "left out"
        ),
    ] = None
    account: AccountArgument = None


MessageIdArgument = Annotated[
    str,
    Field(
        max_length=1_000,
        description="The Message-ID line of a listed message, e.g. <4711@example.org>",
    ),
]


class ThreadArgs(_Arguments):
    """What `mail_get_thread` takes."""

    message_id: MessageIdArgument
    account: AccountArgument = None


class SendArgs(_Arguments):
    """What `mail_send` takes."""

    to: Annotated[
        Recipients,
        Field(
            min_length=1,
            description="Recipients, each an address, a name with address, or a contact's name, "
            "e.g. Ada Lovelace <ada@example.org>",
        ),
    ]
    cc: Annotated[
        Recipients, Field(description="Copies, in the same forms, e.g. ada@example.org")
    ] = []
    bcc: Annotated[
        Recipients,
        Field(description="Copies nobody else sees, in the same forms, e.g. ada@example.org"),
    ] = []
    subject: Annotated[str, Field(max_length=900, description="The subject, e.g. Offer for March")]
    body: Annotated[
        str, Field(max_length=1_000_000, description="The whole text, e.g. Dear Ada, ...")
    ]
    attachments: Attachments = []
    account: SenderAccount = None


class ReplyArgs(_Arguments):
    """What `mail_reply` takes."""

    message_id: MessageIdArgument
    body: Annotated[
        str,
        Field(
            max_length=1_000_000,
            description="The answer alone, e.g. Thank you, Tuesday suits me. The original is quoted "
            "below it",
        ),
    ]
    reply_all: Annotated[
        bool,
        Field(
            description="Answer everyone named in the message, e.g. true for a group; else the sender only"
        ),
    ] = False
    attachments: Attachments = []
    account: SenderAccount = None


class AttachedFile(_Arguments):
    """One attachment of a staged mail: its bytes lie in the blob store under the hash."""

    name: Annotated[str, Field(min_length=1, max_length=255)]
    media_type: Annotated[str, Field(pattern=r"^[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+$")]
    size_bytes: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class StagedMail(_Arguments):
    """A mail with everything resolved: what a reviewer reads and what delivery sends.

    `message_id` is the message being answered, as the mailbox names it; `thread_id` the first
    message of its thread. Both are "" for a new mail.
    """

    account: str
    sender: Annotated[str, Field(alias="from")]
    to: list[str]
    cc: list[str]
    bcc: list[str]
    subject: str
    body: str
    attachments: list[AttachedFile]
    message_id: str = ""
    thread_id: str = ""
    in_reply_to: str = ""
    references: list[str] = []
