"""Pure. Address lists as real mail has them, and addresses as we are willing to write them.

Why: the standard parser reads `boss@owner.example <evil@x>` as boss@owner.example. Here the
angle brackets always win, and what stands before them is a name, whatever it looks like.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

import idna

from tools.mail.words import decode_words, one_line

MAX_ADDRESSES = 2_000
MAX_LIST_CHARACTERS = 65_536

_ATOM = re.compile(r"[^\s\"(),:;<>]+")
_ENCODED = re.compile(r"=\?[^?\s]{1,60}\?[bBqQ]\?[^?\s]*\?=")  # may hold what it should not: , : ;
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[()]', re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]*")


class AddressError(ValueError):
    """An address that cannot be written to; the text says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A mailbox: its decoded display name (perhaps "") and its bare address (perhaps "")."""

    name: str
    address: str

    @property
    def key(self) -> str:
        """The address for comparing: case folded, as every real server does."""
        return self.address.casefold()

    def __str__(self) -> str:
        """`Name <address>`, the name in quotes where it holds anything but words."""
        if not self.name:
            return self.address
        if _needs_quotes(self.name):
            escaped = self.name.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}" <{self.address}>'
        return f"{self.name} <{self.address}>"


def _needs_quotes(name: str) -> bool:
    """True where the name holds an ASCII character that means something in an address list."""
    return not _PLAIN_NAME.fullmatch("".join(char for char in name if char.isascii()))


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # word, quoted, angle, comment
    text: str


def parse_addresses(value: str) -> tuple[Address, ...]:
    """The mailboxes of an unfolded header value, in order; groups are flattened.

    Encoded words are decoded only after the list is taken apart, so a comma inside one cuts
    nothing. Never raises; at most 2,000 mailboxes of the first 64 Ki characters.
    """
    found: list[Address] = []
    element: list[_Token] = []
    text = value[:MAX_LIST_CHARACTERS]
    closings = _closings(text)
    position = 0
    while position < len(text) and len(found) < MAX_ADDRESSES:
        char = text[position]
        if char in ",;":
            found += _mailboxes(element)
            element = []
        elif char == ":" and _is_group_name(element):
            element = []
        token, position = _next_token(text, position, closings)
        if token is not None:
            element.append(token)
    return tuple([*found, *_mailboxes(element)][:MAX_ADDRESSES])


def _is_group_name(element: list[_Token]) -> bool:
    return bool(element) and all(
        token.kind != "angle" and "@" not in token.text for token in element
    )


def _next_token(text: str, position: int, closings: Mapping[int, int]) -> tuple[_Token | None, int]:
    """The token at the position, if one begins there, and where to read on."""
    char = text[position]
    if char == '"':
        quoted = _QUOTED.match(text, position)
        if quoted is None:
            return None, position + 1
        return _Token("quoted", re.sub(r"\\(.)", r"\1", quoted[1])), quoted.end()
    if char == "<":
        end = text.find(">", position)
        end = len(text) if end < 0 else end
        return _Token("angle", text[position + 1 : end]), end + 1
    if position in closings:
        end = closings[position]
        return _Token("comment", text[position + 1 : end]), end + 1
    atom = _ENCODED.match(text, position) or _ATOM.match(text, position)
    if atom is None:
        return None, position + 1
    return _Token("word", atom[0]), atom.end()


def _closings(text: str) -> Mapping[int, int]:
    """Where each comment that begins closes; one that never closes is only a bracket."""
    closings: dict[int, int] = {}
    opened: list[int] = []
    for match in _BRACKET.finditer(text):
        if match[0] == "(":
            opened.append(match.start())
        elif match[0] == ")" and opened:
            closings[opened.pop()] = match.start()
    return closings


def _mailboxes(element: list[_Token]) -> list[Address]:
    """The mailboxes between two commas: usually one, two where somebody forgot the comma."""
    comment = " ".join(token.text for token in element if token.kind == "comment")
    tokens = [token for token in element if token.kind != "comment"]
    angles = [token for token in tokens if token.kind == "angle"]
    if angles:
        names = [token for token in tokens if token.kind != "angle"]
        return [Address(name=_name(names) or _clean(comment), address=_bare(angles[-1].text))]
    words = _joined(tokens)
    addresses = [word for word in words if "@" in word]
    if not addresses:
        bare = words[0] if len(words) == 1 and tokens[0].kind == "word" else ""
        return [Address(name=_clean(comment) if bare else _name(tokens), address=bare)] * bool(
            words
        )
    name = _clean(" ".join(word for word in words if "@" not in word) or comment)
    name = name if len(addresses) == 1 else ""
    return [Address(name=name, address=_bare(address)) for address in addresses]


def _joined(tokens: list[_Token]) -> list[str]:
    """Words, with the obsolete blanks round "." and "@" taken out (RFC 5322 section 4.4)."""
    words: list[str] = []
    for token in tokens:
        text = f'"{token.text}"' if token.kind == "quoted" else token.text
        if words and (text[0] in ".@" or words[-1][-1] in ".@") and "@" in words[-1] + text:
            words[-1] += text
        else:
            words.append(text)
    return words


def _name(tokens: list[_Token]) -> str:
    return _clean(" ".join(token.text for token in tokens))


def _clean(text: str) -> str:
    return " ".join(one_line(decode_words(text)).split())


def _bare(text: str) -> str:
    """The address inside brackets: no source route, no blanks, no scheme."""
    bare = re.sub(r"\s+", "", re.sub(r"\([^()]*\)", "", one_line(text)))
    if bare.startswith("@") and ":" in bare:
        bare = bare.rpartition(":")[2]
    return bare.removeprefix("mailto:").removeprefix("MAILTO:")


def checked_address(text: str) -> str:
    """The address as it goes over the wire: local part kept, domain in ASCII lower case (IDNA 2008).

    Raises: AddressError for anything that is not one plain address (RFC 5321 section 4.1.2);
    quoted local parts, address literals and non-ASCII local parts are not supported.
    """
    local, at, domain = text.rpartition("@")
    if not at or not local or not domain:
        raise AddressError(f"{text!r} is no address: write it as name@example.org")
    if not local.isascii():
        raise AddressError(f"{text!r}: steward cannot send to a non-ASCII name before the @")
    if not _LOCAL.fullmatch(local) or len(local) > 64:
        raise AddressError(f"{text!r}: the part before the @ is not a plain mailbox name")
    try:
        ascii_domain = idna.encode(domain, uts46=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError) as error:
        raise AddressError(f"{text!r}: the domain is not valid") from error
    if len(ascii_domain) > 253 or len(local) + len(ascii_domain) > 253:
        raise AddressError(f"{text!r} is longer than an address may be")
    return f"{local}@{ascii_domain}"


def checked_mailbox(text: str) -> Address:
    """The one mailbox that `Name <address>` or a bare address names, ready to be written to.

    Raises: AddressError when it is none, more than one, or holds a line break.
    """
    if "\r" in text or "\n" in text:
        raise AddressError(f"{one_line(text)!r}: an address holds no line break")
    found = parse_addresses(text)
    if len(found) != 1:
        raise AddressError(f"{text!r} is not exactly one address; give each its own entry")
    name = unicodedata.normalize("NFC", found[0].name)
    return Address(name=name, address=checked_address(found[0].address))
