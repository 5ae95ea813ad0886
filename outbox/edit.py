"""Edits a pending draft: its arguments only, as a new revision, judged again.

`args_before` stays what the agent wrote. Only identifiers that the owner newly typed become his:
what already stood in the draft does not, however often it is saved.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session, col

from outbox.attempts import all_attempts
from outbox.errors import NotAllowed
from outbox.identifiers import Identifier, extract, whole
from outbox.journal import Store
from outbox.judge import Judge, subject_of
from outbox.leaves import refuse_unkeepable, texts
from outbox.states import change, changed, load, not_pending
from outbox.summary import summarise
from outbox.tables import Draft, DraftKind, DraftStatus
from tools.contract import CompletionError, ReviewShape


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """New arguments for a draft, made from the revision that was read (None: whatever it is).

    `typed`: the owner typed them; from a file nothing becomes his (DESIGN section 9).
    """

    draft_id: str
    args: Mapping[str, Any]
    typed: bool
    revision: int | None = None


Check = Callable[[Mapping[str, Any]], None]  # raises CompletionError for what cannot be sent


def _anything(args: Mapping[str, Any]) -> None:
    del args


@dataclass(frozen=True, slots=True, kw_only=True)
class Editor:
    """What an edit needs. `fresh_key` makes another delivery key of the same shape.

    `check` is the sender's word on whether these arguments could be delivered.
    """

    store: Store
    judge: Judge
    fresh_key: Callable[[str], str]
    now: Callable[[], datetime]
    check: Check = _anything

    def edit(self, edit: Edit, shape: ReviewShape) -> Draft:
        """The draft with the new arguments, its revision, summary and marks.

        Equal arguments are no write. After an attempt the draft gets a new delivery key.

        Raises: NotAllowed for what may not be edited, and for arguments of another shape, with a
        line break in a header or that could not be sent; Stale when the draft moved on since it was
        read.
        """
        with self.store.read() as session:
            draft = load(session, edit.draft_id)
            check_edit(draft, edit, shape)
            if draft.args == edit.args:
                return draft
            self._check_sendable(edit)
            values = self._values(session, draft, edit, shape)
        with self.store.effect() as session:
            done = change(
                session,
                draft.id,
                col(Draft.status) == DraftStatus.PENDING,
                col(Draft.revision) == draft.revision,
                values=values,
            )
            now_stored = load(session, draft.id)
        if done:
            return now_stored
        raise not_pending(now_stored)

    def _check_sendable(self, edit: Edit) -> None:
        try:
            self.check(edit.args)
        except CompletionError as problem:
            raise NotAllowed(f"the draft is kept as it was: {problem}") from problem

    def _values(
        self, session: Session, draft: Draft, edit: Edit, shape: ReviewShape
    ) -> dict[str, Any]:
        args = edit.args
        tried = any(a.delivery_key == draft.delivery_key for a in all_attempts(session, draft.id))
        own = map(str, newly_typed(draft, args)) if edit.typed else ()
        typed = sorted({*draft.owner_typed, *own})
        after = draft.model_copy(update={"args": dict(args), "owner_typed": typed})
        marks = self.judge.marks(session, subject_of(after, shape))
        return {
            "args": dict(args),
            "revision": draft.revision + 1,
            "summary": summarise(draft.tool, shape, args),
            "marks": [mark.as_json() for mark in marks],
            "owner_typed": typed,
            "delivery_key": self.fresh_key(draft.delivery_key) if tried else draft.delivery_key,
            "updated_at": self.now(),
        }


def newly_typed(draft: Draft, args: Mapping[str, Any]) -> set[Identifier]:
    """The identifiers in `args` that neither the draft as it stands nor the agent's own version named."""
    return _named(args) - _named(draft.args) - _named(draft.args_before)


def _named(args: Mapping[str, Any]) -> set[Identifier]:
    found: set[Identifier] = set()
    for _, text in texts(args):
        exact = whole(text)
        found.update((exact,) if exact else ())
        found.update(extract(text))
    return found


def check_edit(draft: Draft, edit: Edit, shape: ReviewShape) -> None:
    """Nothing happens if the draft may be edited to these arguments. Raises: as `Editor.edit`."""
    if draft.status is not DraftStatus.PENDING:
        raise not_pending(draft)
    if edit.revision is not None and edit.revision != draft.revision:
        raise changed(draft)
    if draft.kind is DraftKind.PUBLISH:
        raise NotAllowed(
            f"draft {draft.id} publishes something and is not edited; reject it with a reason, "
            "and the agent makes another one"
        )
    _check_args(draft.args, edit.args, shape)


def _check_args(before: Mapping[str, Any], after: Mapping[str, Any], shape: ReviewShape) -> None:
    try:
        refuse_unkeepable(after)
    except (TypeError, ValueError, RecursionError):
        raise NotAllowed(
            "the draft is kept as it was: it holds a value that is no JSON, or half a character"
        ) from None
    missing, unknown = before.keys() - after.keys(), after.keys() - before.keys()
    if missing or unknown:
        wrong = [f"'{name}' is missing" for name in sorted(missing)]
        wrong += [f"'{name}' is not one of its arguments" for name in sorted(unknown)]
        raise NotAllowed(f"the draft is kept as it was: {'; '.join(wrong)}")
    for name, value in after.items():
        kept = before[name]
        if kept is not None and value is not None and _kind(kept) != _kind(value):
            raise NotAllowed(
                f"the draft is kept as it was: '{name}' must stay {_kind(kept)}, not {_kind(value)}"
            )
    _check_recipients(before, after, shape)
    for name in (*shape.headers, *shape.recipients):
        if any(re.search(r"[\r\n]", text) for _, text in texts(after.get(name))):
            raise NotAllowed(f"the draft is kept as it was: '{name}' may not hold a line break")


def _check_recipients(
    before: Mapping[str, Any], after: Mapping[str, Any], shape: ReviewShape
) -> None:
    for name in shape.recipients:
        value = after.get(name)
        single = value is None or isinstance(value, str)
        if not single and not (
            isinstance(value, list)
            and all(isinstance(each, str) and each.strip() for each in value)
        ):
            raise NotAllowed(f"the draft is kept as it was: '{name}' takes addresses as text only")
    if any(before.get(name) for name in shape.recipients) and not any(
        after.get(name) for name in shape.recipients
    ):
        raise NotAllowed("the draft is kept as it was: nobody would receive it")


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"


def args_from_json(text: str) -> dict[str, Any]:
    """The arguments an owner wrote as JSON. Raises: NotAllowed naming line and column."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise NotAllowed(
            f"the draft is kept as it was: line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise NotAllowed("the draft is kept as it was: nested too deeply") from None
    if not isinstance(value, dict):
        raise NotAllowed("the draft is kept as it was: the arguments must be one JSON object")
    return value


def with_body(draft: Draft, shape: ReviewShape, body: str) -> dict[str, Any]:
    """The draft's arguments with another body, its lines ended as everywhere here.

    Raises: NotAllowed where it has none.
    """
    if shape.body is None or not isinstance(draft.args.get(shape.body), str):
        raise NotAllowed(
            f"draft {draft.id} has no text to open; 'steward outbox edit {draft.id} --json' "
            "opens all its arguments"
        )
    return {**draft.args, shape.body: body.replace("\r\n", "\n")}


def key_of_same_shape(key: str, token: str) -> str:
    """Another delivery key: `<token@domain>` for a Message-ID (RFC 5322, 3.6.4), else the token."""
    message_id = re.fullmatch(r"<[^<>@\s]+@([^<>@\s]+)>", key)
    return f"<{token}@{message_id.group(1)}>" if message_id else token
