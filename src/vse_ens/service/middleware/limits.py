"""Limits on concurrent requests, body size, and the time to receive a body."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vse_ens.service.errors import ApiError, error_response
from vse_ens.service.settings import Limits

# The rest of a rejected body is not awaited.
_CLOSE = {"Connection": "close"}
# A body larger than this many times the limit is not read to its end.
_DRAIN_FACTOR = 20


class _ClientGone(Exception):  # noqa: N818  # not an error of the service
    """The client disconnected."""


class LimitsMiddleware:
    """Reads a body completely before passing it on, so that a slow client occupies no thread."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it is within the limits."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._open += 1
        try:
            body = await self._read_body(scope, receive)
            await self._app(scope, _replay(body, receive), send)
        except ApiError as error:
            await error_response(error)(scope, receive, send)
        except _ClientGone:
            pass
        finally:
            self._open -= 1

    async def _read_body(self, scope: Scope, receive: Receive) -> bytes:
        if self._open > self._limits.requests:
            message = f"more than {self._limits.requests} concurrent requests; try again soon"
            raise ApiError(503, message, {"Retry-After": "1", **_CLOSE})
        headers = Headers(scope=scope)
        declared = headers.get("content-length", "")
        if "expect" in headers and declared.isdigit():
            self._check_size(int(declared))  # the client waits for permission before it sends the body
        try:
            body, size = await _receive(receive, self._limits, self._limits.body_bytes)
        except TimeoutError:
            raise ApiError(408, f"the body did not arrive within {self._limits.receive_seconds:g} s", _CLOSE) from None
        self._check_size(size)
        return body

    def _check_size(self, size: int) -> None:
        if size > self._limits.body_bytes:
            raise ApiError(413, f"the body is larger than {self._limits.body_bytes:,} bytes; split the request", _CLOSE)


async def reject_request(error: ApiError, limits: Limits, scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with an error before the body is used: it is discarded, and the connection is closed."""
    # A client that expects permission to send its body would get it from `receive`.
    if "expect" not in Headers(scope=scope):
        with suppress(TimeoutError, _ClientGone):
            await _receive(receive, limits, keep=0)
    headers = {**(error.headers or {}), **_CLOSE}
    await error_response(ApiError(error.status, error.message, headers))(scope, receive, send)


async def _receive(receive: Receive, limits: Limits, keep: int) -> tuple[bytes, int]:
    """Receive a body and its size; of a body larger than ``keep`` only the size is correct."""
    chunks: list[bytes] = []
    size, more = 0, True
    async with asyncio.timeout(limits.receive_seconds):
        # Most clients read the response only after they have sent everything, so the excess is received, too.
        while more and size <= _DRAIN_FACTOR * limits.body_bytes:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _ClientGone
            chunk = message.get("body", b"")
            size, more = size + len(chunk), message.get("more_body", False)
            if size <= keep:
                chunks.append(chunk)
    return b"".join(chunks), size


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `Receive` that gives the body once, then the server's own messages such as a disconnect."""
    body_sent = False

    async def replay() -> Message:
        nonlocal body_sent
        if body_sent:
            return await receive()
        body_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
