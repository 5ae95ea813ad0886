"""The tour's own home: a folder with a marker, a configuration that sends nowhere, and a mailbox.

Why: `scripts = true` and an embedded mail server are for a home that nothing real depends on. The
marker, written before anything else, tells such a home from the owner's own for ever after.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, ValidationError

from bot.errors import ConfigProblem, UsageProblem
from bot.home import (
    HOME_VARIABLE,
    PRIVATE_FOLDER,
    Home,
    expand_user,
    find_home,
    write_private,
)
from bot.tour import mailbox
from bot.tour.own_mailbox import Copied, copy_mailbox
from bot.tour.servers import ModelServer

BRIEFING_PROMPT = (
    "Give me my morning briefing: what came in, what needs an answer from me, and what can wait. "
    "Draft replies to the messages that need one, and ask me where you cannot decide."
)

REHEARSAL = "rehearsal"  # what the marker says where no model server is used
UNKNOWN_OWNER = "owner@steward.invalid"  # RFC 2606: nobody can ever have it

_INSTRUCTIONS = (
    "You work for the owner of this mailbox. Keep briefings short: who wrote, what about, when, and "
    "what they need. Replies are plain and friendly and promise nothing the owner has not said."
)


class TourMarker(BaseModel):
    """What `tour.json` holds: that this home is a tour's, and what its last play was made of."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tour: int = 1
    made_at: datetime
    source: str | None = None  # the person's own mailbox that was copied
    address: str = ""
    mailbox: str = ""  # relative to the home
    model: str = ""
    config_sha256: str = ""
    session: str | None = None  # of the briefing, once it was played to its end


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What this tour is to be made of. `timezone`: the IANA name of the zone its times are told in.

    `ask_address` is called where the mailbox does not tell whose it is; "" for no answer.
    """

    source: Path | None = None
    address: str | None = None
    ask_address: Callable[[], str] = str
    server: ModelServer | None = None
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeHome:
    """A home ready to be used. `kept_config` is where an edited configuration was put aside."""

    marker: TourMarker
    messages: int
    copied: Copied | None = None
    kept_config: Path | None = None


def tour_home(environ: Mapping[str, str]) -> Home:
    """The home that STEWARD_HOME names, else `steward-tour` in the user's cache; perhaps not there yet.

    Raises: ConfigProblem for a relative STEWARD_HOME.
    """
    if environ.get(HOME_VARIABLE):
        return find_home(environ)
    cache = Path(environ.get("XDG_CACHE_HOME", ""))
    if not cache.is_absolute():  # the XDG base directory specification: relative ones are ignored
        cache = expand_user("~/.cache", environ)
    return Home(root=(cache / "steward-tour").resolve())


def read_marker(home: Home) -> TourMarker | None:
    """The marker of an earlier tour, or None where the home is still to be made.

    Raises: ConfigProblem when the folder is a home but not a tour's, or its marker is unreadable.
    """
    path = home.tour_marker
    try:
        return TourMarker.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        _refuse_real_home(home)
        return None
    except (OSError, ValidationError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it was not written by a tour"
        raise ConfigProblem(
            f"cannot read {path}: {reason}; set STEWARD_HOME to another folder"
        ) from None


def _refuse_real_home(home: Home) -> None:
    for path in (home.config, home.database):
        if path.exists():
            raise ConfigProblem(
                f"{home.root} is a steward home of your own (there is {path.name} and no "
                f"{home.tour_marker.name}); the "
                "tour never touches one: unset STEWARD_HOME, or set it to an empty folder"
            )


def make_home(home: Home, wishes: Wishes, *, now: datetime) -> MadeHome:
    """The home, with a fresh mailbox and a configuration for it.

    In a home of an earlier tour the drafts, questions, sessions and what was sent stay; the former
    mailbox, a copy or a sample, is removed; a configuration that was edited is put aside first.

    Raises: ConfigProblem when it is a home of the owner's own or cannot be written, UsageProblem
    when the source is no mailbox.
    """
    try:
        return _make(home, wishes, now)
    except OSError as error:
        raise ConfigProblem(
            f"cannot make the tour's home {home.root}: {error.strerror or error}; "
            "set STEWARD_HOME to a folder that can be written"
        ) from error


def _make(home: Home, wishes: Wishes, now: datetime) -> MadeHome:
    former = read_marker(home)
    now = now.astimezone(ZoneInfo(wishes.timezone))
    home.root.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    if former is None:
        write_marker(home, TourMarker(made_at=now))
    name = f"mail/{now:%Y%m%d-%H%M%S-%f}"
    copied = _copy(wishes.source, home.root / name, home) if wishes.source else None
    messages = copied.messages if copied else mailbox.write_mailbox(home.root / name, now=now)
    address = wishes.address or (_owner(copied, wishes) if copied else mailbox.ADDRESS)
    kept = _put_edited_config_aside(home, former, now)
    facts = AccountFacts(mailbox=name, address=address, is_sample=copied is None)
    config = config_text(home, facts, wishes)
    write_private(home.config, config.encode())
    marker = TourMarker(
        made_at=now,
        source=str(wishes.source) if wishes.source else None,
        address=address,
        mailbox=name,
        model=str(wishes.server or REHEARSAL),
        config_sha256=_sha256(config),
    )
    write_marker(home, marker)
    if former is not None and former.mailbox:
        shutil.rmtree(home.root / former.mailbox, ignore_errors=True)
    return MadeHome(marker=marker, messages=messages, copied=copied, kept_config=kept)


def _copy(source: Path, into: Path, home: Home) -> Copied:
    if source.resolve().is_relative_to(home.root):
        raise UsageProblem(f"{source} lies in the tour's own home; name a mailbox outside it")
    try:
        return copy_mailbox(source, into)
    except (OSError, UsageProblem):
        shutil.rmtree(into, ignore_errors=True)
        raise


def _owner(copied: Copied, wishes: Wishes) -> str:
    return copied.address or wishes.ask_address() or UNKNOWN_OWNER


def _put_edited_config_aside(home: Home, former: TourMarker | None, now: datetime) -> Path | None:
    path = home.config
    if former is None or not path.exists():
        return None
    if _sha256(path.read_text(encoding="utf-8", errors="replace")) == former.config_sha256:
        return None
    kept = home.root / f"config.before-{now:%Y%m%d-%H%M%S}.toml"
    path.rename(kept)
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFacts:
    """The mailbox of a tour: its folder in the home, whose it is, and whether it is the sample."""

    mailbox: str
    address: str
    is_sample: bool


def config_text(home: Home, account: AccountFacts, wishes: Wishes) -> str:
    """The configuration of a tour's home, as TOML."""
    model = REHEARSAL if wishes.server is None else "server"
    lines = [
        "# Written by `steward try`. This home sends only to the mail server inside steward itself.",
        f"timezone = {_toml(wishes.timezone)}",
        "",
        *_model_lines(wishes.server),
        "",
        "[agents.assistant]",
        f"model = {_toml(model)}",
        f"instructions = {_toml(_INSTRUCTIONS)}",
        "",
        "[outbox]",
        "scripts = true  # `steward outbox approve ID --yes` works without a terminal here",
        "",
        "[mail.accounts.tour]",
        'kind = "maildir"',
        f"address = {_toml(account.address)}",
        *([f"display_name = {_toml(mailbox.DISPLAY_NAME)}"] if account.is_sample else []),
        f"path = {_toml(str(home.root / account.mailbox))}",
        f"sent = {_toml(str(home.root / 'sent'))}",
        "smtp = { embedded = true }",
        *(_contact_lines() if account.is_sample else []),
    ]
    return "\n".join(lines) + "\n"


def _contact_lines() -> list[str]:
    """The people of the sample, as its owner would have noted them; the impostor is not among them."""
    noted = [f"{name} = {_toml(address)}" for name, address in mailbox.CONTACTS.items()]
    return [
        "",
        "[contacts]  # people the owner knows; everybody else is marked in the outbox",
        *noted,
    ]


def _model_lines(server: ModelServer | None) -> list[str]:
    if server is None:
        return ["[models.rehearsal]", 'kind = "rehearsal"']
    lines = [
        "[models.server]",
        'kind = "openai"',
        f"base_url = {_toml(server.base_url)}",
        f"model = {_toml(server.model)}",
    ]
    return [*lines, f"api_key = {_toml(server.api_key)}"] if server.api_key else lines


def _toml(value: str) -> str:
    """A TOML basic string; JSON's escapes are a subset of TOML's, but for DEL."""
    return re.sub("\x7f", r"\\u007f", json.dumps(value, ensure_ascii=False))


def write_marker(home: Home, marker: TourMarker) -> None:
    """The marker, replaced whole. Raises: OSError."""
    write_private(home.tour_marker, (marker.model_dump_json(indent=2) + "\n").encode())


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
