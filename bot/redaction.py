"""Pure. Takes secrets out of text: every value that was loaded, and whatever has a token's shape."""

import base64
import json
import re
from collections.abc import Iterator
from urllib.parse import quote

REPLACEMENT = "[secret removed]"
SHORT = 6  # a shorter value is only taken out where it stands alone, else prose falls apart

# One alternative a family. Each is linear: no nested repetition, and possessive where it is long.
_SHAPES = re.compile(
    r"""
      (?<![A-Za-z0-9])(?:
          sk-(?:ant-|proj-|or-v1-|svcacct-)?[A-Za-z0-9_-]{20,}+      # OpenAI, Anthropic, OpenRouter
        | gh[pousr]_[A-Za-z0-9]{30,}+ | github_pat_[A-Za-z0-9_]{40,}+
        | glpat-[A-Za-z0-9_-]{20,}+
        | xox[a-z]-[A-Za-z0-9-]{10,}+ | xapp-[0-9A-Za-z-]{20,}+      # Slack
        | (?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Z])
        | AIza[0-9A-Za-z_-]{35} | ya29\.[0-9A-Za-z_-]{20,}+ | GOCSPX-[0-9A-Za-z_-]{20,}+
        | (?:sk|rk|pk)_(?:live|test)_[0-9A-Za-z]{16,}+
        | npm_[A-Za-z0-9]{36} | pypi-[A-Za-z0-9_-]{40,}+ | hf_[A-Za-z0-9]{30,}+
        | SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{30,}+
        | tvly-[A-Za-z0-9-]{20,}+ | gsk_[A-Za-z0-9]{40,}+
        | eyJ[A-Za-z0-9_-]{10,}+\.eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}+   # JWT
      )
      | -----BEGIN\ [A-Z ]{0,30}PRIVATE\ KEY-----(?:[^-]|-(?!----))*+(?:-----END\ [A-Z ]{0,30}-----)?
      | (?<=[Bb]earer\ )[A-Za-z0-9._~+/=-]{16,}+
      | (?<=://)[^\s/:@"'<>]{1,100}:[^\s/@"'<>]{1,200}(?=@)           # user and password in a URL
    """,
    re.VERBOSE,
)


class Redactor:
    """Knows every secret value that was loaded in this process."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._known: re.Pattern[str] | None = None

    def register(self, value: str) -> None:
        """From now on this value, also quoted for JSON or a URL or in base64, never passes."""
        new = {form for form in _forms(value) if form} - self._values
        if new:
            self._values |= new
            longest_first = sorted(self._values, key=len, reverse=True)
            self._known = re.compile("|".join(map(_pattern, longest_first)))

    def redact(self, text: str) -> tuple[str, int]:
        """The text without secrets, and how many places were replaced."""
        known = 0
        if self._known is not None:
            text, known = self._known.subn(REPLACEMENT, text)
        text, shaped = _SHAPES.subn(REPLACEMENT, text)
        return text, known + shaped


def has_token_shape(text: str) -> bool:
    """True where some part of the text looks like a known kind of token, key or password."""
    return _SHAPES.search(text) is not None


def _forms(value: str) -> Iterator[str]:
    yield value
    if value:
        yield json.dumps(value)[1:-1]
        yield json.dumps(value, ensure_ascii=False)[1:-1]
        yield quote(value, safe="")
        yield repr(value)[1:-1]
        encoded = base64.b64encode(value.encode()).decode()
        yield encoded.rstrip("=")


def _pattern(form: str) -> str:
    literal = re.escape(form)
    return rf"(?<!\w){literal}(?!\w)" if len(form) < SHORT else literal
