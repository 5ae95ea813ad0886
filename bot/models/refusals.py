"""Pure. What to tell the owner when a server answered, but not with an answer."""

from dataclasses import dataclass

from bot.models.contract import FailureClass
from bot.models.failures import Problem, classify, status_in
from bot.models.retry import Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked for, as far as advice depends on it."""

    entry: str  # of [models]
    model: str
    key_sent: bool
    tools_sent: bool


def refusal(status: int, problem: Problem, asked: Asked) -> Failure:
    """The failure that a status and an error body are."""
    failure = classify(status, problem)
    status = status_in(problem, status)
    return Failure(
        failure=failure,
        what=_what(failure, status, problem, asked),
        advice=_advice(failure, status, problem, asked),
        tries=2 if status == 500 else None,
    )


def empty_stream(*, prompt_bytes: int, context_window: int | None) -> Failure:
    """The failure of an answer without a single chunk: LM Studio's way of saying "too long"."""
    too_long = context_window is not None and prompt_bytes // 3 > context_window
    return Failure(
        failure=FailureClass.OVERFLOW if too_long else FailureClass.SERVER,
        what="the answer was an empty stream",
        advice="some servers say so that the prompt is longer than their context: load the model "
        "with a larger one, or run `steward doctor`",
        tries=2,
    )


_HAPPENED = {
    FailureClass.BILLING: "the account has no credit left",
    FailureClass.OVERFLOW: "the conversation is longer than the model's context",
    FailureClass.RATE_LIMIT: "too many requests",
    FailureClass.OVERLOADED: "the server is overloaded or still loading",
    FailureClass.SERVER: "the server failed",
    FailureClass.INVALID: "the server refused the request",
}
_TO_DO = {
    FailureClass.AUTH: "set api_key of {entry}, then run `steward doctor`",
    FailureClass.BILLING: "top up the account, or choose another model",
    FailureClass.OVERFLOW: "start a new conversation, or give the model a larger context",
    FailureClass.RATE_LIMIT: "wait and try again, or name another model with --model",
    FailureClass.OVERLOADED: "wait and try again, or name another model with --model",
    FailureClass.SERVER: "read the server's own log, then run `steward doctor`",
    FailureClass.INVALID: "run `steward doctor`",
}
_WRONG_PLACE = "check base_url and model ({model}) of {entry} with `steward doctor`"
_WRONG_WIRE = "this model takes tools only from the Responses API: choose another for {entry}"


def _what(failure: FailureClass, status: int, problem: Problem, asked: Asked) -> str:
    number = "under HTTP 200" if status == 200 else f"HTTP {status}"
    if failure is FailureClass.AUTH:  # the server's words may repeat the key
        refused = "refused the key" if asked.key_sent else "wants a key and none is set"
        return f"the server {refused} ({number})"
    happened = "the server sends elsewhere" if _elsewhere(status) else _HAPPENED[failure]
    return f"{happened} ({number})" + (f": {problem.message}" if problem.message else "")


def _advice(failure: FailureClass, status: int, problem: Problem, asked: Asked) -> str:
    advice = _TO_DO[failure]
    if failure is FailureClass.INVALID:
        if asked.tools_sent and problem.param == "reasoning_effort":
            advice = _WRONG_WIRE
        elif status == 404 or _elsewhere(status):
            advice = _WRONG_PLACE
    return advice.format(entry=f"[models.{asked.entry}]", model=asked.model)


def _elsewhere(status: int) -> bool:
    return 300 <= status < 400
