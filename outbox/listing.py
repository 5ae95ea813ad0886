"""The stable JSON of drafts: the fields that programs read, and no other ones."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from outbox.tables import Attempt, Draft
from tools.taint import taint_from_json


def as_json(draft: Draft) -> dict[str, Any]:
    """One entry of `outbox list --json`."""
    return {
        "id": draft.id,
        "status": draft.status.value,
        "kind": draft.kind.value,
        "tool": draft.tool,
        "summary": draft.summary,
        "args": draft.args,
        "args_before": draft.args_before,
        "edited": draft.args != draft.args_before,
        "revision": draft.revision,
        "taint": taint_from_json(draft.taint).flags(),
        "marks": draft.marks,
        "session": draft.session_id,
        "agent": draft.agent,
        "producer": draft.producer,
        "created_at": draft.created_at.isoformat(),
        "decided_by": draft.decided_by,
        "reason": draft.reason,
        "error": draft.error,
    }


def shown_json(
    draft: Draft, attempts: Sequence[Attempt], provenance: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """`outbox show --json`: the entry, the answered message, whose each argument is, the attempts."""
    return {
        **as_json(draft),
        "replying_to": draft.replying_to,
        "provenance": list(provenance),
        "attempts": [
            {
                "n": attempt.n,
                "started_at": attempt.started_at.isoformat(),
                "ended_at": _time(attempt.ended_at),
                "outcome": attempt.outcome.value,
                "detail": attempt.detail,
            }
            for attempt in attempts
        ],
    }


def _time(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()
