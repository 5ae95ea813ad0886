"""What the scripted model says: turns, the conditions they wait for, and what they quote.

A script is a list of turns; the first one that is not used up and whose `when` holds is played.

    {"text": "Looking.", "calls": [{"name": "mail_recent", "arguments": {"limit": 5}}]}
    {"calls": [{"name": "mail_reply",
                "arguments": {"message_id": {"$find": "Message-ID: (<[^>]+>)"}, "body": "Yes."}}],
     "when": {"tool": "Message-ID"}, "times": 2}
    {"fault": {"kind": "rate-limit", "retry_after": "0.01"}}

`$find` takes the first group (or the whole) of a match in the results of tools, oldest first;
`in` looks elsewhere (tools, user, system, all), `nth` takes another match (-1 is the last).
`{"$join": ["Re: ", {"$find": ...}]}` puts strings together. Where nothing is found the server
answers 400, so that a script that lost its way is heard. In process a turn may be a function.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any


class ScriptError(Exception):
    """The script cannot be played; the server says so with HTTP 400."""


class Kind(StrEnum):
    """What goes wrong with a turn."""

    # instead of an answer
    RATE_LIMIT = "rate-limit"  # 429; retry_after
    QUOTA = "quota"  # 429 insufficient_quota
    UNAUTHORIZED = "unauthorized"  # 401
    OVERFLOW = "overflow"  # 400 context_length_exceeded
    BAD_REQUEST = "bad-request"  # 400
    SERVER_ERROR = "server-error"  # 500
    LOADING = "loading"  # 503
    OVERLOADED = "overloaded"  # 529
    HANG_UP = "hang-up"  # closes after the request, before any byte
    SILENCE = "silence"  # reads the request and never says a word
    ERROR_BODY = "error-body"  # HTTP 200 with a JSON error
    EMPTY_STREAM = "empty-stream"  # HTTP 200 and nothing
    # inside an answer
    SLOW = "slow"  # seconds before the first byte
    CUT = "cut"  # at_byte of the body; how: close (default) or reset
    CUT_IN_CALL = "cut-in-call"  # in the middle of the last call's arguments; how
    ERROR_IN_STREAM = "error-in-stream"  # after the content, instead of the end; body
    BROKEN_CHUNK = "broken-chunk"  # after the content, a chunk that is no JSON
    NO_FINISH = "no-finish"  # neither a finish reason nor [DONE], then a clean end
    NO_DONE = "no-done"
    STAYS_OPEN = "stays-open"  # everything but the end of the body
    NO_USAGE = "no-usage"
    BYTE_BY_BYTE = "byte-by-byte"
    NOT_STREAMED = "not-streamed"  # a whole JSON answer, although a stream was asked for


class CallStyle(StrEnum):
    """How the pieces of tool calls come."""

    OPENAI = "openai"  # id and name once, then arguments in pieces by index
    NO_INDEX = "no-index"  # whole calls without an index
    INDEX_ZERO = "index-zero"  # whole calls, every one with index 0
    LATE_ID = "late-id"  # the id comes with the second piece
    EMPTY_ID = "empty-id"
    SAME_ID = "same-id"  # every call under one id
    NAME_ALWAYS = "name-always"  # the name in every piece
    OBJECT = "object"  # arguments as an object, not as text


class ReasoningStyle(StrEnum):
    """Which field carries reasoning."""

    CONTENT = "reasoning_content"
    PLAIN = "reasoning"
    DETAILS = "reasoning_details"
    THINK = "think"  # inside the content, between tags


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault and its particulars."""

    kind: Kind
    retry_after: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int | None = None
    body: Any = None
    seconds: float = 0.05
    at_byte: int = 0
    how: str = "close"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer of the scripted model. `raw` replaces all of it: chunks sent as they stand."""

    text: Any = ""
    calls: Sequence[Mapping[str, Any]] = ()  # name, arguments | raw, id, extra
    reasoning: str | None = None
    finish: str | None = None  # None: "tool_calls" with calls, else "stop"
    usage: Mapping[str, Any] | None = None  # None: counted from the bytes
    fault: Fault | None = None
    when: Mapping[str, str] = field(default_factory=dict)
    times: int | None = 1  # None: for ever
    style: CallStyle = CallStyle.OPENAI
    reasoning_style: ReasoningStyle = ReasoningStyle.CONTENT
    raw: Sequence[Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a request asked, as a script wants to see it."""

    body: Mapping[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])

    @property
    def system(self) -> str:
        return "\n".join(self._texts("system"))

    @property
    def user(self) -> str:
        """The last thing a user said."""
        return (self._texts("user") or [""])[-1]

    @property
    def results(self) -> list[str]:
        """Every tool result so far, oldest first."""
        return self._texts("tool")

    @property
    def newest_results(self) -> list[str]:
        """The results since the model last spoke."""
        newest: list[str] = []
        for message in reversed(self.messages):
            if message["role"] == "assistant":
                break
            if message["role"] == "tool":
                newest.insert(0, text_of(message.get("content")))
        return newest

    @property
    def tools(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]

    def find(self, pattern: str, *, where: str = "tools", nth: int = 0) -> str:
        """The nth match of the pattern, its first group if it has one. Raises: ScriptError."""
        places = {
            "tools": self.results,
            "user": self._texts("user"),
            "system": self._texts("system"),
            "all": [text_of(message.get("content")) for message in self.messages],
        }
        if where not in places:
            raise ScriptError(f"$find: in = {where!r} is none of {', '.join(places)}")
        found = [match for text in places[where] for match in re.finditer(pattern, text)]
        try:
            match = found[nth]
        except IndexError:
            raise ScriptError(f"$find: {pattern!r} matches nothing in {where}") from None
        return match[1] if match.re.groups else match[0]

    def _texts(self, role: str) -> list[str]:
        return [
            text_of(message.get("content")) for message in self.messages if message["role"] == role
        ]


Answer = Turn | Mapping[str, Any]
Scripted = Answer | Callable[[Asked], Answer]


def text_of(content: Any) -> str:
    """The words of a message's content, which is text or a list of parts."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def _known(raw: Mapping[str, Any], kind: type) -> dict[str, Any]:
    known = {one.name for one in fields(kind)}
    unknown = sorted(set(raw) - known)
    if unknown:
        raise ScriptError(f"{kind.__name__}: no field {', '.join(unknown)}")
    return dict(raw)


def fault_of(raw: Any) -> Fault | None:
    """A fault from its name, its fields, or itself."""
    if raw is None or isinstance(raw, Fault):
        return raw
    values = _known({"kind": raw} if isinstance(raw, str) else raw, Fault)
    values["kind"] = Kind(values["kind"])
    return Fault(**values)


def turn_of(raw: Answer) -> Turn:
    """A turn from its JSON form. Raises: ScriptError for a field that no turn has."""
    if isinstance(raw, Turn):
        return raw
    values = _known(raw, Turn)
    values["fault"] = fault_of(values.get("fault"))
    if "style" in values:
        values["style"] = CallStyle(values["style"])
    if "reasoning_style" in values:
        values["reasoning_style"] = ReasoningStyle(values["reasoning_style"])
    if values.get("times") == "forever":
        values["times"] = None
    for call in values.get("calls", ()):
        unknown = sorted(set(call) - {"name", "arguments", "raw", "id", "extra"})
        if unknown:
            raise ScriptError(f"call: no field {', '.join(unknown)}")
    return Turn(**values)


def filled(value: Any, asked: Asked) -> Any:
    """The value with every `$find` and `$join` in it replaced. Raises: ScriptError."""
    if isinstance(value, Mapping):
        if "$find" in value:
            return asked.find(
                value["$find"], where=value.get("in", "tools"), nth=value.get("nth", 0)
            )
        if "$join" in value:
            return "".join(filled(part, asked) for part in value["$join"])
        return {key: filled(inner, asked) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, asked) for inner in value]
    return value


class Always:
    """A function that answers every request from its place on, not only one."""

    def __init__(self, answer: Callable[[Asked], Answer]) -> None:
        self._answer = answer

    def __call__(self, asked: Asked) -> Answer:
        return self._answer(asked)


class Script:
    """Turns in order; which are used up is remembered here."""

    def __init__(self, turns: Sequence[Scripted]) -> None:
        self._turns: list[Scripted] = [turn if callable(turn) else turn_of(turn) for turn in turns]
        self._played = [0] * len(self._turns)

    @property
    def unplayed(self) -> list[int]:
        """The numbers of the turns that were never played."""
        return [number for number, times in enumerate(self._played) if not times]

    def next(self, asked: Asked) -> Turn:
        """The turn for this request; it counts as played. Raises: ScriptError when none is left."""
        for number, scripted in enumerate(self._turns):
            if callable(scripted):
                if self._played[number] and not isinstance(scripted, Always):
                    continue
                self._played[number] += 1
                return turn_of(scripted(asked))
            used_up = scripted.times is not None and self._played[number] >= scripted.times
            if not used_up and _holds(scripted.when, asked):
                self._played[number] += 1
                return scripted
        raise ScriptError("the script has no turn left for this request")


def _holds(when: Mapping[str, str], asked: Asked) -> bool:
    places = {
        "user": asked.user,
        "system": asked.system,
        "tool": "\n".join(asked.newest_results),
        "model": str(asked.body.get("model")),
    }
    unknown = sorted(set(when) - set(places))
    if unknown:
        raise ScriptError(f"when: no condition {', '.join(unknown)}")
    return all(re.search(pattern, places[place]) for place, pattern in when.items())
