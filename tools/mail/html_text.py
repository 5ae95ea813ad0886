"""Pure. HTML mail as plain text, laid out by inscriptis; nothing is loaded from anywhere.

Why: no renderer hides all invisible text (a font size of 0 stays), so what comes out is a
stranger's text like any other. And libxml2 drops what is nested deeper than 256 without a word, so
it is told not to; what is too deep to be laid out loses its tags and keeps its text.
"""

import re

from inscriptis.css_profiles import CSS_PROFILES
from inscriptis.html_engine import Inscriptis
from inscriptis.model.config import ParserConfig
from lxml.etree import LxmlError  # type: ignore[import-untyped]
from lxml.html import HTMLParser, document_fromstring  # type: ignore[import-untyped]

MAX_RENDERED_CHARACTERS = 2_000_000

_CONFIG = ParserConfig(css=CSS_PROFILES["strict"], display_links=True, display_anchors=False)
_DROPPED = re.compile(r"(?is)<(script|style|head|title)\b.*?(</\1\s*>|\Z)|<!--.*?(-->|\Z)")
_TAG = re.compile(r"<[^<>]{0,10000}>")
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_UNREADABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")


def html_to_text(html: str) -> str:
    """The visible text with its links; never raises. Beyond 2 million characters only tags go."""
    cleaned = _XML_DECLARATION.sub("", _UNREADABLE.sub(" ", html))
    head, tail = cleaned[:MAX_RENDERED_CHARACTERS], cleaned[MAX_RENDERED_CHARACTERS:]
    if not head.strip():
        return ""
    try:
        text = _laid_out(head)
    except (LxmlError, ValueError, RecursionError, AttributeError, TypeError, LookupError):
        text = _without_tags(head)
    return text + _without_tags(tail) if tail else text


def _laid_out(html: str) -> str:
    parser = HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True, no_network=True)
    return str(Inscriptis(document_fromstring(html, parser=parser), _CONFIG).get_text())


def _without_tags(html: str) -> str:
    """What is left when everything that looks like markup is gone."""
    return re.sub(r"\n{3,}", "\n\n", _TAG.sub(" ", _DROPPED.sub(" ", html)))
