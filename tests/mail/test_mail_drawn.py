"""What completing a mail takes in by itself, what may be edited, and what a refusal may say."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tools.mail
from makers.mail import NOW, account, context, delivered, maildir, message, server
from tools.arguments import decode_arguments
from tools.contract import Completed, CompletionError, Sender, ToolContext
from tools.manifest import load_specs
from tools.registry import Entry, Registry

REGISTRY = Registry(Entry(spec) for spec in load_specs(Path(tools.mail.__file__).parent))
SECRET = "ZEBRA"
STRANGER = message(
    "Pay at https://evil.example/a\n",
    From="Mal <mal@evil.example>",
    Subject="Plan",
    Message_ID="<m@evil.example>",
)


class Written:
    """A FileTaint in which files of these names hold words of others."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def is_untrusted(self, path: Path) -> bool:
        return path.name in self.names

    def any_untrusted(self, root: Path) -> bool:
        return bool(self.names)


def sending(tmp_path: Path, *raw: bytes, **files: bytes) -> ToolContext:
    """An account that can send, over a mailbox of these messages, and a workspace of these files."""
    box = maildir(tmp_path / "M")
    for number, data in enumerate(raw):
        (box / "cur" / delivered(NOW, str(number))).write_bytes(data)
    ctx = context(tmp_path, account(box, smtp=server(2525)))
    for name, data in files.items():
        (tmp_path / "workspace" / name).write_bytes(data)
    return replace(ctx, file_taint=Written("theirs"))


def sender(name: str) -> Sender:
    entry = REGISTRY.get(name)
    assert entry is not None
    assert isinstance(entry.handler, Sender)
    return entry.handler


async def complete(name: str, ctx: ToolContext, **arguments: Any) -> Completed:
    handler = sender(name)
    args = decode_arguments(handler.spec, json.dumps(arguments))
    return await handler.complete(args, ctx)


async def send(ctx: ToolContext, **arguments: Any) -> Completed:
    given = {"to": ["ada@example.org"], "subject": "s", "body": "b", **arguments}
    return await complete("mail_send", ctx, **given)


async def test_an_answer_says_that_it_quotes_a_stranger_and_brings_the_message(
    tmp_path: Path,
) -> None:
    completed = await complete(
        "mail_reply", sending(tmp_path, STRANGER), message_id="<m@evil.example>", body="No."
    )
    (drawn,) = completed.drawn
    assert (drawn.what, drawn.private, drawn.untrusted) == ("quoted <m@evil.example>", True, True)
    assert drawn.item is not None
    assert drawn.item.provider_id == completed.args["message_id"] == "<m@evil.example>"
    assert drawn.item.title == "Mal <mal@evil.example>: Plan"
    assert "Pay at https://evil.example/a" in drawn.item.text


async def test_an_attached_file_is_private_and_untrusted_where_others_may_stand_in_it(
    tmp_path: Path,
) -> None:
    ctx = sending(tmp_path, mine=b"1", theirs=b"2")
    completed = await send(ctx, attachments=["mine", "theirs"])
    told = [(each.what, each.private, each.untrusted, each.item) for each in completed.drawn]
    assert told == [("attached mine", True, False, None), ("attached theirs", True, True, None)]
    assert (await send(ctx)).drawn == ()


@pytest.mark.parametrize("name", ["mail_send", "mail_reply"])
def with_secret(**fields: str) -> bytes:
    """A message in which every value that its sender chose holds the secret word."""
    chosen = {
        "From": f"{SECRET} <{SECRET}@evil.example>",
        "Subject": SECRET,
        "Message_ID": "<m@x>",
        "X_Other": SECRET,
    }
    return message(f"{SECRET}\n", **{**chosen, **fields})


UNANSWERABLE = {
    "no-reply sender": [with_secret(From=f"<no-reply+{SECRET}@evil.example>")],
    "bounce": [with_secret(From="MAILER-DAEMON@x.org", Subject=f"Undeliverable: {SECRET}", Return_Path="<>")],
    "failed recipients": [with_secret(X_Failed_Recipients=SECRET)],
    "aggregate report": [with_secret(Subject=f"Report Domain: {SECRET} Submitter: {SECRET}")],
    "receipt": [with_secret(Content_Type=f"multipart/report; report-type=disposition-notification; boundary={SECRET}")],
    "address that cannot be written to": [with_secret(From=f"<{SECRET}\u00e9@evil.example>")],
    "domain that is none": [with_secret(From=f"<a@{SECRET}..example>")],
    "nobody to answer": [with_secret(From=SECRET, To="", Cc="")],
    "too many people": [with_secret(To=", ".join(f"{SECRET}{n}@x.org" for n in range(120)))],
    "copied identifier": [with_secret(), with_secret(Subject=f"{SECRET} 2")],
}  # fmt: skip


@pytest.mark.parametrize("raw", UNANSWERABLE.values(), ids=UNANSWERABLE.keys())
async def test_a_refusal_repeats_nothing_that_a_stranger_wrote(
    tmp_path: Path, raw: list[bytes]
) -> None:
    """Its text goes to the model without a wrapper, so it names the rule and never the mail."""
    with pytest.raises(CompletionError) as refusal:
        await complete(
            "mail_reply", sending(tmp_path, *raw), message_id="<m@x>", body="b", reply_all=True
        )
    assert SECRET.casefold() not in str(refusal.value).casefold()
    assert str(refusal.value)


WRONG: dict[str, tuple[Mapping[str, Any], str]] = {
    "no sha256": ({"sha256": "abc"}, "the field attachments.0.sha256 is not valid"),
    "unknown sha256": ({"sha256": "0" * 64}, "keeps no file with the sha256 000"),
    "wrong size": ({"size_bytes": 9}, "has 4 bytes, not 9"),
    "type with a line break": ({"media_type": "a/b\nX: y"}, "attachments.0.media_type is not valid"),
    "file name with a line break": ({"name": "a\nb"}, "filename: a header value holds no line break"),
    "unknown account": ({"account": "nobody"}, "no account of that name can send"),
    "two addresses in one entry": ({"to": ["a@x.org, b@x.org"]}, "not exactly one address"),
    "no address": ({"cc": ["ada"]}, "'ada' is no address"),
    "nobody": ({"to": [], "cc": [], "bcc": []}, "no recipient"),
    "sender that is none": ({"from": "me"}, "'me' is no address"),
    "line break in an identifier": ({"in_reply_to": "<a@x>\r\nBcc: <e@x>"}, "In-Reply-To: "),
    "line break in references": ({"references": ["<a@x>", "<b@x>\nX: y"]}, "References: "),
    "line break in the subject": ({"subject": "a\nb"}, "Subject: a header value holds no line break"),
    "lone carriage return": ({"body": "a\rb"}, "body: a carriage return stands in it"),
    "zero byte": ({"body": "a\x00b"}, "body: a mail holds no zero byte"),
    "one field more": ({"priority": "high"}, "the field priority is not valid"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "why"), WRONG.values(), ids=WRONG.keys())
async def test_what_could_not_be_sent_is_told_before_it_is(
    tmp_path: Path, change: Mapping[str, Any], why: str
) -> None:
    ctx = sending(tmp_path, note=b"text")
    args = dict((await send(ctx, attachments=["note"])).args)
    sender("mail_send").check(args, ctx)
    in_file = set(change) & {"sha256", "size_bytes", "media_type", "name"}
    if in_file:
        change = {"attachments": [{**args["attachments"][0], **change}]}
    with pytest.raises(CompletionError) as refusal:
        sender("mail_send").check({**args, **change}, ctx)
    assert why in str(refusal.value)


async def test_a_body_without_its_last_line_break_can_be_sent(tmp_path: Path) -> None:
    ctx = sending(tmp_path)
    args = (await send(ctx)).args
    sender("mail_send").check({**args, "body": "Dear Ada"}, ctx)
    sender("mail_reply").check({**args, "body": ""}, ctx)
