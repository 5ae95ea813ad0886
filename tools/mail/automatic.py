"""Pure. Whether a machine wrote a message, which kind, and what shows it.

Sources: RFC 3834 (Auto-Submitted, Return-Path), RFC 3464 and 6522 (reports), RFC 8098 (receipts),
RFC 5965 (feedback), RFC 2369 and 2919 (lists), and the private headers of the large senders.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from tools.mail.fields import Fields
from tools.mail.mime import Part


class AutomaticKind(StrEnum):
    """Kinds of mail that no person wrote to the owner alone."""

    BOUNCE = "bounce"
    BOUNCE_DELAY = "bounce-delay"
    AUTO_REPLY = "auto-reply"
    LIST = "list"
    NEWSLETTER = "newsletter"
    NO_REPLY = "no-reply"
    NOTIFICATION = "notification"
    READ_RECEIPT = "read-receipt"
    FEEDBACK_REPORT = "feedback-report"
    DMARC_REPORT = "dmarc-report"


@dataclass(frozen=True, slots=True, kw_only=True)
class Automatic:
    """The kind and the header that shows it, for people."""

    kind: AutomaticKind
    shown_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the rules look at. `senders` are the From addresses, case folded."""

    fields: Fields
    root: Part
    senders: tuple[str, ...]
    subject: str

    def value(self, name: str) -> str:
        """A header's first value, lower-cased, "" where it is missing."""
        return (self.fields.raw(name) or "").lower()


_NO_REPLY = re.compile(r"(^|[._+-])(no|do[._-]?not|donot|never)[._-]?reply([._+-]|\d|$)")
_SYSTEM_SENDER = re.compile(r"^(mailer-daemon|mail-daemon|mailerdaemon|postmaster|mdaemon)(\+|@|$)")
_BOUNCE_SUBJECT = re.compile(
    r"(undeliver|delivery (status )?(notification|failure|failed|has failed|report)"
    r"|returned mail|mail delivery (failed|failure)|failure notice|non[- ]?remis|unzustellbar"
    r"|returned to sender|could not be delivered|rejected: )",
    re.IGNORECASE,
)
_DELAY_SUBJECT = re.compile(r"(delayed|could not send message for past|warning: message)", re.I)
_AWAY_SUBJECT = re.compile(
    r"^\W*(out of (the )?office|automatic reply|auto[- ]?reply|autorespon|abwesen|automatische antwort"
    r"|réponse automatique|respuesta automática|autosvar|automatisk svar)",
    re.IGNORECASE,
)
_DMARC_SUBJECT = re.compile(r"report domain:\s*\S+.*submitter:", re.IGNORECASE)
_DMARC_FILE = re.compile(r"^[^!]+![^!]+!\d+!\d+(![^!]+)?\.(xml|zip|gz|xml\.gz)$")
_ACTION = re.compile(rb"(?im)^action:[ \t]*(\w+)")


def automatic(evidence: Evidence) -> Automatic | None:
    """The first kind that fits, the most telling first; None for what a person sent."""
    for rule in _RULES:
        found = rule(evidence)
        if found is not None:
            return found
    return None


def _report(evidence: Evidence) -> Automatic | None:
    root = evidence.root
    report = root.content.parameters.get("report-type", "").lower()
    kinds = {part.media_type for part in root.walk()}
    if report == "feedback-report" or "message/feedback-report" in kinds:
        return Automatic(kind=AutomaticKind.FEEDBACK_REPORT, shown_by="report-type=feedback-report")
    if report == "disposition-notification" or "message/disposition-notification" in kinds:
        return Automatic(
            kind=AutomaticKind.READ_RECEIPT, shown_by="report-type=disposition-notification"
        )
    reporting = root.content.value == "multipart/report"
    if reporting or "message/delivery-status" in kinds:
        return Automatic(kind=_delivery_kind(root), shown_by="Content-Type: multipart/report")
    return None


def _delivery_kind(root: Part) -> AutomaticKind:
    """A delay only where every recipient is merely delayed."""
    actions = [
        action.lower()
        for part in root.walk()
        if part.media_type == "message/delivery-status"
        for action in _ACTION.findall(part.decoded(limit=65_536))
    ]
    delayed = bool(actions) and set(actions) == {b"delayed"}
    return AutomaticKind.BOUNCE_DELAY if delayed else AutomaticKind.BOUNCE


def _dmarc(evidence: Evidence) -> Automatic | None:
    if _DMARC_SUBJECT.search(evidence.subject):
        return Automatic(kind=AutomaticKind.DMARC_REPORT, shown_by="Subject: Report Domain")
    for part in evidence.root.walk():
        if part.filename and _DMARC_FILE.match(part.filename.lower()):
            return Automatic(kind=AutomaticKind.DMARC_REPORT, shown_by=f"file {part.filename}")
    return None


def _bounce(evidence: Evidence) -> Automatic | None:
    """Bounces that are no reports: a daemon's plain text."""
    fields = evidence.fields
    for name in ("x-failed-recipients", "x-ms-exchange-message-is-ndr"):
        if fields.has(name):
            return Automatic(kind=AutomaticKind.BOUNCE, shown_by=name)
    daemon = any(_SYSTEM_SENDER.match(sender) for sender in evidence.senders)
    unaddressed = evidence.value("return-path") == "<>" or evidence.value("x-envelope-from") == "<>"
    telling = _BOUNCE_SUBJECT.search(evidence.subject)
    if _DELAY_SUBJECT.search(evidence.subject) and (daemon or unaddressed):
        return Automatic(kind=AutomaticKind.BOUNCE_DELAY, shown_by=f"Subject: {evidence.subject}")
    if telling and (daemon or unaddressed or not any(evidence.senders)):
        return Automatic(kind=AutomaticKind.BOUNCE, shown_by=f"Subject: {evidence.subject}")
    if daemon and unaddressed:
        return Automatic(kind=AutomaticKind.BOUNCE, shown_by="Return-Path: <>")
    return None


def _auto_reply(evidence: Evidence) -> Automatic | None:
    submitted = evidence.value("auto-submitted")
    if submitted.startswith("auto-replied"):
        return Automatic(kind=AutomaticKind.AUTO_REPLY, shown_by=f"Auto-Submitted: {submitted}")
    for name in (
        "x-autoreply",
        "x-autorespond",
        "x-autoresponder",
        "x-auto-reply",
        "x-mail-autoreply",
    ):
        if evidence.fields.has(name) and evidence.value(name) not in {"no", "false"}:
            return Automatic(kind=AutomaticKind.AUTO_REPLY, shown_by=name)
    if "vacation" in evidence.value("x-apple-action"):
        return Automatic(kind=AutomaticKind.AUTO_REPLY, shown_by="X-Apple-Action: VACATION")
    if evidence.value("precedence") in {"auto_reply", "auto-reply"}:
        return Automatic(kind=AutomaticKind.AUTO_REPLY, shown_by="Precedence: auto_reply")
    if _AWAY_SUBJECT.match(evidence.subject):
        return Automatic(kind=AutomaticKind.AUTO_REPLY, shown_by=f"Subject: {evidence.subject}")
    return None


def _list(evidence: Evidence) -> Automatic | None:
    """A discussion list: people write through it, so it is shown, and answered by hand only."""
    for name in ("list-post", "x-mailman-version", "x-beenthere", "mailing-list"):
        if evidence.fields.has(name):
            return Automatic(kind=AutomaticKind.LIST, shown_by=name)
    precedence = evidence.value("precedence")
    owner = re.match(r"<?(owner-|.*-(owner|bounces|request)@)", evidence.value("sender"))
    if precedence == "list" or (precedence in {"bulk", "junk"} and owner):
        return Automatic(kind=AutomaticKind.LIST, shown_by=f"Precedence: {precedence}")
    if evidence.fields.has("list-id") and not evidence.fields.has("list-unsubscribe-post"):
        return Automatic(kind=AutomaticKind.LIST, shown_by="List-Id")
    return None


def _newsletter(evidence: Evidence) -> Automatic | None:
    for name in ("list-unsubscribe", "list-id", "x-campaign", "x-campaignid", "x-mailer-recptid"):
        if evidence.fields.has(name):
            return Automatic(kind=AutomaticKind.NEWSLETTER, shown_by=name)
    if evidence.value("precedence") in {"bulk", "junk"}:
        return Automatic(
            kind=AutomaticKind.NEWSLETTER, shown_by=f"Precedence: {evidence.value('precedence')}"
        )
    return None


def _notification(evidence: Evidence) -> Automatic | None:
    submitted = evidence.value("auto-submitted")
    if submitted and not submitted.startswith("no"):
        return Automatic(kind=AutomaticKind.NOTIFICATION, shown_by=f"Auto-Submitted: {submitted}")
    suppress = evidence.value("x-auto-response-suppress")
    if suppress and suppress != "none":
        return Automatic(kind=AutomaticKind.NOTIFICATION, shown_by="X-Auto-Response-Suppress")
    return None


def _no_reply(evidence: Evidence) -> Automatic | None:
    for sender in evidence.senders:
        if _NO_REPLY.search(sender.partition("@")[0]):
            return Automatic(kind=AutomaticKind.NO_REPLY, shown_by=f"From: {sender}")
    return None


_RULES: tuple[Callable[[Evidence], Automatic | None], ...] = (
    _report,
    _dmarc,
    _bounce,
    _auto_reply,
    _list,
    _newsletter,
    _notification,
    _no_reply,
)
