"""Pure. Links in text, in every spelling that a browser or a mail program follows."""

import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from outbox.visible import punycode_domain

LINK_LIMIT = 4096

# Browsers mend any number of slashes after the colon, also none.
_SCHEME_TEXT = r"(?:https?|ftp|wss?):(?:[/\\]{1,9}|(?=[\w-]+\.\w))"
SCHEME = re.compile(_SCHEME_TEXT, re.IGNORECASE)
LINK = re.compile(
    _SCHEME_TEXT + r"(?:[^\s<>\"\[\]{}|^`]*@)?(?:\[[0-9a-f:.]+\])?[^\s<>\"\[\]{}|^`]+"
    r"|(?:https?|ftp|wss?):[/\\]{1,9}\[[0-9a-f:.]+\]",
    re.IGNORECASE,
)
# `//x.org/a`: in a page it takes the page's own scheme.
_NO_SCHEME_LINK = re.compile(r"(?<![\w:/\\])[/\\]{2}(?:[\w-]+\.)+[\w-]{2,63}[^\s<>\"\[\]{}|^`]*")
DECODED_TIMES = 3  # a link inside a link inside a link
# A link without a scheme, as mail programs make them clickable. Endings that are also those of
# common files count only with www or a path; the countries are matched as any two letters.
_BARE_LINK = re.compile(
    r"(?<![\w@./\\-])(?:www\.(?:[\w-]+\.)+\w{2,24}|(?:[\w-]+\.)+[^\W\d_]{2,24}(?=/)"
    r"|(?:[\w-]+\.)+(?:com|net|org|info|biz|edu|gov|dev|app|xyz|online|site|shop|top|club|page|link"
    r"|click|live|cloud|(?!(?:md|py|rs|sh|pl|ps|cc|so|js|ts|gz|db)\b)[a-z]{2}|xn--[\w-]+)\b(?![\w@-]))"
    r"(?::\d+)?(?:[/?#][^\s<>\"\[\]{}|^`]*)?",
    re.IGNORECASE,
)
_INNER = re.compile(_SCHEME_TEXT + r"|(?<=[=,;])[/\\]{2}(?=[\w-]+\.)", re.IGNORECASE)
_IN_ANGLES = re.compile(r"<[ \t]*((?:https?|ftp)://[^<>\"]{1,4096})>", re.IGNORECASE)
_BROKEN_LINE = re.compile(r"[ \t]*\r?\n[ \t>|]*")
_UNRESERVED = re.compile(r"%([0-9a-fA-F]{2})")
_DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21, "ws": 80, "wss": 443}


def links_as_meant(text: str, *, rejoin: bool) -> Iterator[str]:
    """Every link of the text as it is spelled there, without the sentence round it.

    With `rejoin` one at the end of a line is also read together with the next line.
    """
    for match in _IN_ANGLES.finditer(text):  # RFC 3986, appendix C: white space inside is ignored
        yield re.sub(r"\s+", "", match.group(1))
    for pattern in (LINK, _BARE_LINK, _NO_SCHEME_LINK):
        for match in pattern.finditer(text):
            link = match.group()[:LINK_LIMIT]
            yield _without_tail(link)
            yield from _inner_links(link)
            if rejoin:
                yield from _rejoined(text, match)


def _inner_links(link: str) -> Iterator[str]:
    """A link may carry another one, as a redirect does, plain or encoded."""
    for _ in range(DECODED_TIMES):
        for inner in _INNER.finditer(link, 1):
            yield from _cut_where_it_may_end(link[inner.start() :])
        decoded = unquote(link)
        if decoded == link:
            return
        link = decoded


def _cut_where_it_may_end(inner: str) -> Iterator[str]:
    """The rest of the link, and the same up to where the outer query goes on."""
    yield _without_tail(re.split(r"\s", inner, maxsplit=1)[0])
    yield _without_tail(re.split(r"[&\s]", inner, maxsplit=1)[0])


def _rejoined(text: str, match: re.Match[str]) -> Iterator[str]:
    line_end = _BROKEN_LINE.match(text, match.end())
    if line_end and (rest := re.compile(r"[^\s<>\"\[\]{}|^`]+").match(text, line_end.end())):
        yield _without_tail(match.group() + rest.group())[:LINK_LIMIT]


def _without_tail(link: str) -> str:
    """Without the punctuation of the sentence round it; a bracket that was opened stays."""
    while link:
        last = link[-1]
        if last in ".,;:!?'*_~\u2019\u201d\u00bb" or (
            last == ")" and link.count(")") > link.count("(")
        ):
            link = link[:-1]
        else:
            break
    return link


def normal_form(text: str) -> str | None:
    """Scheme and host in lower case and ASCII, no default port, needless escapes undone (RFC 3986, 6.2.2).

    None for what no client opens.
    """
    text = text.replace("\\", "/")
    spelled = SCHEME.match(text)
    scheme = spelled.group().partition(":")[0].lower() if spelled else "https"
    rest = text[spelled.end() :] if spelled else text.lstrip("/")
    try:
        parts = urlsplit(f"{scheme}://{_decoded(rest)}")
        host, port = parts.hostname or "", parts.port
    except ValueError:  # not a port, or not an IPv6 address: no client opens it
        return None
    if not host:
        return None
    user = parts.netloc.rpartition("@")[0]
    value = f"{scheme}://{user}@" if user else f"{scheme}://"
    value += f"[{host}]" if ":" in host else punycode_domain(host)
    if port is not None and port != _DEFAULT_PORTS.get(scheme):
        value += f":{port}"
    value += parts.path or "/"
    value += f"?{parts.query}" if parts.query else ""
    return value + (f"#{parts.fragment}" if parts.fragment else "")


def _decoded(rest: str) -> str:
    def decode(match: re.Match[str]) -> str:
        char = chr(int(match.group(1), 16))
        unreserved = char.isascii() and (char.isalnum() or char in "-._~")
        return char if unreserved else match.group().upper()

    return _UNRESERVED.sub(decode, rest)
