"""Pure. Who and where a text names: addresses, links, phones, accounts, files, by type.

Why: whether an address is the owner's own is decided by comparing identifiers. A comparison of
substrings would find "13" in "June 13" and ada@x.org in notada@x.org; a comparison of raw text
would miss the same link in another spelling. So every identifier has a type and one normal form,
and only equal ones of one type match.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

from outbox.spelled_links import LINK, SCHEME, links_as_meant, normal_form
from outbox.visible import has_unseen, punycode_domain, without_unseen

LOCAL_PART_LIMIT = 64  # RFC 5321, 4.5.3.1.1
DOMAIN_LIMIT = 255


class IdentifierKind(StrEnum):
    """What an identifier names."""

    ADDRESS = "address"
    LINK = "link"
    HOST = "host"  # the host of a link
    PHONE = "phone"
    ACCOUNT = "account"  # an IBAN, another account or card number, a wallet
    FILE = "file"  # an opaque provider id of 20 characters or more
    CHANNEL = "channel"
    HANDLE = "handle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifier:
    """One identifier in its normal form; equal exactly when kind and value are."""

    kind: IdentifierKind
    value: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}"

    @classmethod
    def parse(cls, text: str) -> "Identifier":
        """The inverse of `str`. Raises: ValueError."""
        kind, _, value = text.partition(":")
        return cls(kind=IdentifierKind(kind), value=value)


def extract(text: str, *, rejoin: bool = False) -> tuple[Identifier, ...]:
    """Every identifier the text names, distinct, grouped by kind.

    Zero-width characters and soft hyphens do not divide one, compatibility forms (full-width
    letters) count as the plain ones, and defanged spellings (`hxxp`, `[.]`, `[at]`) count as
    meant. A link is also found inside another one, percent-encoded, and in every spelling that
    browsers mend (`https:/x.org`, `//x.org/a`). With `rejoin` a link at the end of a line is also
    read together with the next line, and an address that is spelled out in words (`ada at x dot
    org`) as meant: more than is there, which is right for text that is only suspected.
    """
    plain = _plain(text)
    found = dict.fromkeys(_addresses(plain))
    found.update(dict.fromkeys(_mailto_links(plain)))
    if rejoin:
        found.update(dict.fromkeys(_spoken_addresses(plain)))
    for link in links_as_meant(plain, rejoin=rejoin):
        found.update(dict.fromkeys(_link_and_host(link)))
    for pattern in _PATTERNS:
        found.update(dict.fromkeys(pattern.all_in(plain)))
    return tuple(found)


def whole(text: str) -> Identifier | None:
    """The identifier that this text is, from its first to its last character.

    An address may carry a display name, as `Ada <ada@example.org>`. None when the text is
    something else, holds a second identifier, or spells one with unseen or look-alike
    (compatibility) characters: what cannot be read for certain is nothing.
    """
    trimmed = text.strip(" ")
    mailbox = _MAILBOX.fullmatch(trimmed)
    bare = mailbox.group(1) if mailbox else trimmed
    if bare != _plain(bare) or has_unseen(bare):
        return None
    if "@" in bare and (address := _address(bare)):
        return address
    if SCHEME.match(bare):
        links = list(_link_and_host(bare)) if LINK.fullmatch(bare) else []
        return links[0] if links else None
    return next((found for each in _PATTERNS if (found := each.exactly(bare))), None)


def mailto_address(link: Identifier) -> Identifier | None:
    """The address that a `mailto:` link writes to; None for another link."""
    scheme, _, address = link.value.partition(":")
    return Identifier(kind=IdentifierKind.ADDRESS, value=address) if scheme == "mailto" else None


def host_and_parents(host: Identifier) -> Iterator[Identifier]:
    """The host and every domain it lies in, the nearest first, none of a single label."""
    labels = host.value.split(".")
    for start in range(max(1, len(labels) - 1)):
        yield Identifier(kind=IdentifierKind.HOST, value=".".join(labels[start:]))


def link_host(link: Identifier) -> Identifier:
    """The host of a link, as an identifier of its own."""
    rest = link.value.partition("://")[2]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    host = re.sub(r":\d*$", "", authority)
    return Identifier(kind=IdentifierKind.HOST, value=host.removeprefix("www."))


_DEFANGED_DOT = re.compile(r"[ \t]{0,2}[\[({](?:\.|dot)[\])}][ \t]{0,2}", re.IGNORECASE)
_DEFANGED_AT = re.compile(r"[ \t]{0,2}[\[({](?:@|at)[\])}][ \t]{0,2}", re.IGNORECASE)
_DEFANGED_SCHEME = re.compile(r"\bh(?:xx|\*\*)p(s?)(?=:|\[)", re.IGNORECASE)
_DEFANGED_COLON = re.compile(r"\[(:(?://)?)\]")
_SOFT_BREAK = re.compile(r"(?<=\S)=\r?\n(?=\S)")  # quoted-printable that nobody decoded
_IDEOGRAPHIC_DOTS = str.maketrans("\u3002\uff61", "..")  # full stops in domains, RFC 3490, 3.1


def _plain(text: str) -> str:
    """The text as it is meant: compatible, whole, fanged."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", without_unseen(text)).translate(_IDEOGRAPHIC_DOTS)
    text = _SOFT_BREAK.sub("", text)
    text = _DEFANGED_COLON.sub(r"\1", _DEFANGED_SCHEME.sub(r"http\1", text))
    return _DEFANGED_AT.sub("@", _DEFANGED_DOT.sub(".", text))


# --- addresses

_LOCAL = r"[^\s@<>()\[\]{},;:\"\\/|]"
_LOCAL_BEFORE = re.compile(_LOCAL + r"+\Z")
_DOMAIN = r"[\w-]+(?:\.[\w-]+)+|\[[0-9a-fA-F:.]+\]"
_DOMAIN_AFTER = re.compile(_DOMAIN)
_WHOLE_ADDRESS = re.compile(rf"({_LOCAL}+)@({_DOMAIN})")
_MAILBOX = re.compile(r"""(?:"(?:[^"\\\r\n]|\\.)*"|[^<>"@,;:\r\n]*)[ ]*<[ ]*([^<>\s]+)[ ]*>""")
_AROUND_ADDRESS = "'`*_~"


def _addresses(text: str) -> Iterator[Identifier]:
    at = text.find("@")
    while at >= 0:
        before = _LOCAL_BEFORE.search(text[max(0, at - LOCAL_PART_LIMIT - 1) : at])
        after = _DOMAIN_AFTER.match(text, at + 1, at + 1 + DOMAIN_LIMIT)
        if before and after:
            yield from _readings(before.group(), after.group())
        at = text.find("@", at + 1)


def _readings(local: str, domain: str) -> Iterator[Identifier]:
    """The address, and what it is without markup or a query's `to=` in front."""
    for spelled in dict.fromkeys(
        (local, local.lstrip(_AROUND_ADDRESS), local.rpartition("=")[2], local.strip("."))
    ):
        if (address := _address(f"{spelled}@{domain.rstrip('-_')}")) is not None:
            yield address


def _address(text: str) -> Identifier | None:
    """Domain in lower case and ASCII; the local part in lower case, as every mailbox treats it."""
    match = _WHOLE_ADDRESS.fullmatch(text)
    if match is None or len(match.group(1)) > LOCAL_PART_LIMIT:
        return None
    local, domain = match.groups()
    last = domain.rpartition(".")[2]
    if not domain.startswith("[") and (last.isdigit() or len(last) < 2):
        return None
    value = f"{local.lower()}@{punycode_domain(domain)}"
    return Identifier(kind=IdentifierKind.ADDRESS, value=value)


_SPOKEN = re.compile(
    r"(?<![\w.+-])([\w.+-]{1,64})\s{1,3}at\s{1,3}([\w-]{1,63}(?:(?:\s{1,3}dot\s{1,3}|\.)[\w-]{1,63}){1,8})",
    re.IGNORECASE,
)


def _spoken_addresses(text: str) -> Iterator[Identifier]:
    for match in _SPOKEN.finditer(text):
        local = re.sub(r"\s+dot\s+", ".", match.group(1), flags=re.IGNORECASE)
        domain = re.sub(r"\s+dot\s+", ".", match.group(2), flags=re.IGNORECASE)
        if (address := _address(f"{local}@{domain}")) is not None:
            yield address


# --- links

_MAILTO = re.compile(r"mailto:([^\s<>\"|^`]{1,2048})", re.IGNORECASE)


def _mailto_links(text: str) -> Iterator[Identifier]:
    """Each address of a `mailto:`, also those in its query, as itself and as a link (RFC 6068)."""
    for match in _MAILTO.finditer(text):
        for address in _addresses(re.sub(r"[?&,;]", " ", unquote(match.group(1)))):
            yield address
            yield Identifier(kind=IdentifierKind.LINK, value=f"mailto:{address.value}")


def _link_and_host(text: str) -> Iterator[Identifier]:
    link = normal_form(text)
    if link is not None:
        yield (identifier := Identifier(kind=IdentifierKind.LINK, value=link))
        yield link_host(identifier)


# --- phones, accounts, files, names of a chat


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pattern:
    kind: IdentifierKind
    pattern: re.Pattern[str]
    normal: Callable[[str], str | None]

    def all_in(self, text: str) -> Iterator[Identifier]:
        for match in self.pattern.finditer(text):
            if (value := self.normal(match.group())) is not None:
                yield Identifier(kind=self.kind, value=value)

    def exactly(self, text: str) -> Identifier | None:
        """The identifier this text is; a pattern that would leave a rest of it is no match."""
        match = self.pattern.fullmatch(text)
        value = self.normal(text) if match else None
        return None if value is None else Identifier(kind=self.kind, value=value)


_DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}(?: .*)?")
_NORTH_AMERICAN = re.compile(r"\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}")


def _phone(text: str) -> str | None:
    """`+4722334455`, or the bare digits of a national number; 7 to 15 of them (ITU-T E.164)."""
    spelled = text.lower().removeprefix("tel:").strip()
    international = spelled.startswith(("+", "00"))
    if _DATE.fullmatch(spelled) and not international:
        return None
    if not international and not (
        spelled.startswith(("0", "(0")) or _NORTH_AMERICAN.fullmatch(spelled)
    ):
        return None
    digits = re.sub(r"\D", "", spelled.replace("(0)", "") if international else spelled)
    if spelled.startswith("00"):
        digits = digits[2:]
    if not 7 <= len(digits) <= 15:
        return None
    return f"+{digits}" if international else digits


def _iban(text: str) -> str | None:
    """The account of ISO 13616, upper case without spaces; a false checksum is still an account.

    Groups of four may run on into the next word of the sentence: the longest reading with a true
    checksum wins, else the last group that holds a digit ends it.
    """
    groups = re.split(r"[ -]", text.upper())
    readings = ["".join(groups[:count]) for count in range(len(groups), 0, -1)]
    true = next((each for each in readings if _checksum_holds(each)), None)
    if true is None:
        while len(groups) > 1 and not re.search(r"\d", groups[-1]):
            groups.pop()
        true = "".join(groups)
    return true if len(true) >= 14 and sum(map(str.isdigit, true)) >= 8 else None


def _checksum_holds(account: str) -> bool:
    if not 15 <= len(account) <= 34:
        return False
    return int("".join(str(int(char, 36)) for char in account[4:] + account[:4])) % 97 == 1


def _digits(text: str) -> str | None:
    return None if _DATE.fullmatch(text) else re.sub(r"\D", "", text)


def _file(text: str) -> str | None:
    if re.fullmatch(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", text):
        return text.lower()
    mixed = re.search(r"\d", text) and re.search(r"[A-Za-z]", text)
    return text if mixed else None


_PATTERNS = (
    _Pattern(
        kind=IdentifierKind.PHONE,
        pattern=re.compile(
            r"(?:(?<![\w+])tel:)?(?<![\w+.])(?:\+|\()?\d[\d ().\-/]{5,22}\d(?![\w@])", re.IGNORECASE
        ),
        normal=_phone,
    ),
    _Pattern(
        kind=IdentifierKind.ACCOUNT,
        pattern=re.compile(
            r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]{4}){2,7}(?:[ -]?[A-Za-z0-9]{1,4})?"
            r"(?![A-Za-z0-9@])",
            re.ASCII,
        ),
        normal=_iban,
    ),
    _Pattern(
        kind=IdentifierKind.ACCOUNT,
        pattern=re.compile(r"(?<![\w.+-])\d(?:[ .-]?\d){8,18}(?![\w@]|[.-]\d)", re.ASCII),
        normal=_digits,
    ),
    _Pattern(
        kind=IdentifierKind.ACCOUNT,
        pattern=re.compile(
            r"\b(?:0x[0-9a-fA-F]{40}|bc1[02-9ac-hj-np-z]{25,60}|[13][1-9A-HJ-NP-Za-km-z]{25,34})\b"
        ),
        normal=str,
    ),
    _Pattern(
        kind=IdentifierKind.FILE,
        pattern=re.compile(r"(?<![\w.@-])[A-Za-z0-9_-]{20,100}(?![\w@-])", re.ASCII),
        normal=_file,
    ),
    _Pattern(
        kind=IdentifierKind.CHANNEL,
        pattern=re.compile(r"(?<![\w#&/])#[a-z][\w-]{1,79}", re.IGNORECASE),
        normal=str.lower,
    ),
    _Pattern(
        kind=IdentifierKind.HANDLE,
        pattern=re.compile(r"(?<![\w.@/+-])@[a-z][\w-]*(?:\.[\w-]+)*", re.IGNORECASE),
        normal=str.lower,
    ),
)
