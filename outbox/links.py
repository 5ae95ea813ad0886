"""Pure. Links as the interlock compares them: the whole URL, scheme and host normalised (RFC 3986).

Why the whole URL: a path or query is where stolen text would ride, so "the owner named this site"
is not enough, and a redirect's target is a new link.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

_LINK = re.compile(r"https?://[^\s<>\"`\\^{}|]+", re.IGNORECASE)
_TRAILING = ".,;:!?'*_~"
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_-]{0,16}")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def normal_link(link: str) -> str | None:
    """The link with scheme and host in lower case, no default port and no empty path.

    None for what is no http(s) link, or could be read as two different ones (white space, control
    characters, backslashes).
    """
    if not link.isprintable() or any(sign in link for sign in " \\"):
        return None
    try:
        parts = urlsplit(link)
        port = parts.port
    except ValueError:
        return None
    scheme, host = parts.scheme.lower(), (parts.hostname or "").rstrip(".")
    if scheme not in _DEFAULT_PORTS or not host:
        return None
    user = parts.netloc.rpartition("@")[0]
    place = f"[{host}]" if ":" in host else host
    shown_port = "" if port in (None, _DEFAULT_PORTS[scheme]) else f":{port}"
    netloc = f"{user}@{place}{shown_port}" if user else f"{place}{shown_port}"
    return parts._replace(scheme=scheme, netloc=netloc, path=parts.path or "/").geturl()


def links_in(text: str) -> frozenset[str]:
    """Every link that stands in the text, normalised, without the punctuation of its sentence."""
    found = (normal_link(_without_sentence(match.group())) for match in _LINK.finditer(text))
    return frozenset(link for link in found if link is not None)


def _without_sentence(link: str) -> str:
    while link:
        last = link[-1]
        unpaired = (last == ")" and link.count("(") < link.count(")")) or (
            last == "]" and link.count("[") < link.count("]")
        )
        if last not in _TRAILING and not unpaired:
            return link
        link = link[:-1]
    return link


def only_links(arguments: object) -> frozenset[str] | None:
    """The links a call consists of, normalised; None if its arguments say anything else as well.

    Beside links only short plain words (`"format": "text"`), numbers and truth values may stand,
    because free text in a header or body would carry data just as a query does.
    """
    links = set()
    for text in _strings(arguments):
        link = normal_link(text)
        if link is not None:
            links.add(link)
        elif not _PLAIN_WORD.fullmatch(text):
            return None
    return frozenset(links) or None


def _strings(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case Mapping() as mapping:
                waiting.extend(mapping.values())
            case Sequence() as items if not isinstance(items, bytes):
                waiting.extend(items)
            case _:
                pass
