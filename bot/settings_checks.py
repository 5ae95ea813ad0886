"""What one key of the configuration says about another, and which features are not built yet."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from bot.home import Home
from bot.redaction import has_token_shape
from bot.settings_later import NOT_BUILT
from bot.settings_lines import Path
from bot.settings_schema import Configuration, ModelKind, Smtp
from tools.mail.settings import Tls, is_loopback

Finding = tuple[Path, str]

_LITERAL = (
    "holds a secret, and a secret never stands in the configuration; store it with "
    "'steward config set-secret NAME', then write \"keyring:NAME\""
)
_GLOB_SIGNS = "*?["
_AGENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_PRODUCERS = frozenset({"run", "chat", "try", "up"})  # what else has a work directory
_OPEN = 'has tls = "none", which is for this machine only; use "tls" or "starttls"'


def secret_findings(document: Any, path: Path = ()) -> Iterator[Finding]:
    """Every text in the file that looks like a key, a token or a password in an address."""
    if isinstance(document, str):
        if has_token_shape(document):
            yield path, _LITERAL
        return
    parts: Iterator[tuple[str | int, Any]] = iter(())
    if isinstance(document, Mapping):
        parts = iter(document.items())
    elif isinstance(document, list):
        parts = iter(enumerate(document))
    for step, part in parts:
        yield from secret_findings(part, (*path, step))


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """Judges a configuration whose every section is well formed by itself."""

    config: Configuration
    home: Home

    def findings(self) -> Iterator[Finding]:
        """Everything that does not fit together."""
        yield from self._timezone()
        yield from self._models()
        yield from self._agents()
        yield from self._outbox()
        yield from self._mail()
        yield from self._database()

    def _timezone(self) -> Iterator[Finding]:
        zone = self.config.timezone
        if zone is not None and not is_timezone(zone):
            near = get_close_matches(zone, available_timezones(), n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ", such as Europe/Oslo"
            yield ("timezone",), f"is not a time zone of the IANA database{hint}"

    def _models(self) -> Iterator[Finding]:
        models = self.config.models
        for name, entry in models.items():
            if entry.fallback is None:
                continue
            path = ("models", name, "fallback")
            other = models.get(entry.fallback)
            if other is None:
                yield path, f"names no entry of [models]{_suggest(entry.fallback, models)}"
            elif other.kind is ModelKind.REHEARSAL:
                yield path, "names a rehearsal, which is no model and never stands in for one"
            elif self._is_circular(name):
                yield path, "leads back to where it began"

    def _is_circular(self, name: str) -> bool:
        seen: set[str] = set()
        at: str | None = name
        while at is not None and at in self.config.models:
            if at in seen:
                return True
            seen.add(at)
            at = self.config.models[at].fallback
        return False

    def _agents(self) -> Iterator[Finding]:
        models = self.config.models
        for name, agent in self.config.agents.items():
            if not _AGENT_NAME.fullmatch(name) or name in _PRODUCERS:
                taken = ", ".join(sorted(_PRODUCERS))
                why = "is no name for an agent, whose work directory is called so; use up to 64"
                yield ("agents", name), f"{why} letters, digits, - and _, and none of {taken}"
            if agent.model is not None and agent.model not in models:
                text = f"names no entry of [models]{_suggest(agent.model, models)}"
                yield ("agents", name, "model"), text

    def _outbox(self) -> Iterator[Finding]:
        for place, name in enumerate(self.config.outbox.direct):
            if any(sign in name for sign in _GLOB_SIGNS):
                yield (
                    ("outbox", "direct", place),
                    f"is the pattern '{name}'; a sender leaves the outbox only by its whole name",
                )

    def _mail(self) -> Iterator[Finding]:
        for name, account in self.config.mail.accounts.items():
            if account.smtp is not None:
                yield from self._smtp(("mail", "accounts", name, "smtp"), account.smtp)
            imap = account.imap
            if imap is not None and imap.tls is Tls.NONE and not is_loopback(imap.host):
                yield ("mail", "accounts", name, "imap"), _OPEN
        front = self.config.mail.front
        if front is not None and front.account not in self.config.mail.accounts:
            yield (
                ("mail", "front", "account"),
                f"names no mail account{_suggest(front.account, self.config.mail.accounts)}",
            )

    def _smtp(self, path: Path, smtp: Smtp) -> Iterator[Finding]:
        if smtp.embedded and not self.home.tour_marker.exists():
            yield (
                (*path, "embedded"),
                "is only for a home that 'steward try' made; name a server with host = ...",
            )
        if smtp.host is not None and smtp.tls is Tls.NONE and not is_loopback(smtp.host):
            yield path, _OPEN

    def _database(self) -> Iterator[Finding]:
        url = self.config.database.url
        if url is None:
            return
        scheme = urlsplit(url).scheme
        if scheme.startswith("postgresql"):
            yield (
                ("database", "url"),
                "names PostgreSQL, which is not built yet; use sqlite:///PATH",
            )
        elif not url.startswith("sqlite:///") or len(url) == len("sqlite:///"):
            yield ("database", "url"), "must be sqlite:///PATH"


def is_timezone(name: str) -> bool:
    """True where the IANA database has a zone of this name."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def not_built(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Every key in the file whose feature, or whose value, this version does not have yet."""
    for pattern, values in NOT_BUILT.items():
        for path, value in _matching(document, tuple(pattern.split("."))):
            if values is None:
                yield path, "is not built yet"
            elif value in values:
                yield path, f"= {value} is not built yet"


def _matching(document: Any, pattern: tuple[str, ...]) -> Iterator[tuple[Path, Any]]:
    if not pattern:
        yield (), document
        return
    if not isinstance(document, Mapping):
        return
    names = document if pattern[0] == "*" else [pattern[0]]
    for name in names:
        if name in document:
            for path, value in _matching(document[name], pattern[1:]):
                yield (name, *path), value


def _suggest(word: str, known: Mapping[str, object]) -> str:
    near = get_close_matches(word, known, n=1)
    if near:
        return f"; did you mean '{near[0]}'?"
    return f"; there are: {', '.join(known)}" if known else "; there are none"
