"""The HTTP client that models share, and what a broken connection means."""

import socket
import ssl
from collections.abc import Iterator

import httpx

from bot.models.contract import FailureClass
from bot.models.retry import Failure

KEEPALIVE_SECONDS = 3.0  # servers close idle sockets after 5: never meet them in the same second
CONNECT_SECONDS = 10.0

_START = "start the server or correct base_url, then run `steward doctor`"
_DOCTOR = "run `steward doctor`"


def new_client() -> httpx.AsyncClient:
    """One client for the whole process: an answer on loopback never goes through a proxy."""
    direct = dict.fromkeys(("all://127.0.0.1", "all://localhost", "all://[::1]"))
    return httpx.AsyncClient(
        limits=httpx.Limits(
            max_connections=None,
            max_keepalive_connections=20,
            keepalive_expiry=KEEPALIVE_SECONDS,
        ),
        timeout=timeouts(read_seconds=600.0),
        mounts=direct,
        follow_redirects=False,
        headers={"user-agent": "steward", "accept-encoding": "identity"},
    )


def timeouts(*, read_seconds: float) -> httpx.Timeout:
    """Limits for one request; reading a long prompt alone may take minutes."""
    return httpx.Timeout(
        connect=CONNECT_SECONDS, read=read_seconds, write=60.0, pool=CONNECT_SECONDS
    )


def broken(error: Exception, *, reused: bool, read_seconds: float) -> Failure:
    """The failure that an exception of the client is; its own text is never repeated.

    `reused`: the socket had carried a request before, and no byte of this answer had come.
    """
    match error:
        case httpx.ConnectTimeout():
            return _transport(f"no connection within {CONNECT_SECONDS:g} s", _START)
        case httpx.ReadTimeout():
            return _transport(f"silence for {read_seconds:g} s", _DOCTOR, tries=2)
        case httpx.TimeoutException():
            return _transport("the request could not be handed over in time", _DOCTOR, tries=2)
        case httpx.ProxyError():
            return _transport("the proxy refused the connection", "check HTTPS_PROXY")
        case httpx.ConnectError():
            return _unconnected(error)
        case httpx.NetworkError() | httpx.RemoteProtocolError() | httpx.DecodingError():
            return _transport(
                "the connection broke before an answer",
                f"look at the server, then {_DOCTOR}",
                at_once=reused,
            )
        case _:
            return Failure(
                failure=FailureClass.INVALID,
                what="the address or the key cannot be put into a request",
                advice=f"correct base_url and api_key, then {_DOCTOR}",
            )


def _transport(
    what: str, advice: str, *, tries: int | None = None, at_once: bool = False
) -> Failure:
    return Failure(
        failure=FailureClass.TRANSPORT, what=what, advice=advice, tries=tries, at_once=at_once
    )


def _unconnected(error: BaseException) -> Failure:
    for cause in _causes(error):
        match cause:
            case ssl.SSLError():
                return _transport("the TLS handshake failed", "check its certificate", tries=1)
            case socket.gaierror():
                return _transport("the host name is not known", _START)
            case ConnectionRefusedError():
                return _transport("connection refused", _START)
    return _transport("no connection", _START)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and everything it was raised from, groups opened."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        cause = waiting.pop()
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [cause.__context__, cause.__cause__]
        if isinstance(cause, BaseExceptionGroup):
            waiting += cause.exceptions
