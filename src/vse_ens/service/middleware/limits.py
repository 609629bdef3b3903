"""What a client may take: so many requests at once, so large a body, so long to send it and to take the answer."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vse_ens.service.errors import ApiError, refusal_response, unavailable
from vse_ens.service.settings import Limits

# The rest of a body that was refused is not waited for ...
_CLOSE = {"Connection": "close"}
# ... past so many times what is allowed.
_PATIENCE = 20


class _Gone(Exception):  # noqa: N818  # the client's choice
    """The client went away, or does not take its answer."""


class LimitsMiddleware:
    """Takes a body in whole before anyone works on it: a slow client costs a little memory, not a thread."""

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
            body = await self._body(scope, receive)
            await self._app(scope, _replay(body, receive), self._patient(send))
        except ApiError as refusal:
            await refusal_response(refusal)(scope, receive, send)
        except _Gone:
            pass
        finally:
            self._open -= 1

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        if self._open > self._limits.requests:
            raise unavailable(f"more than {self._limits.requests} requests at once; try again soon")
        headers = Headers(scope=scope)
        declared = headers.get("content-length", "")
        if "expect" in headers and declared.isdigit():
            self._check_size(int(declared))  # the client waits for our word before it sends the body
        try:
            async with asyncio.timeout(self._limits.receive_seconds):
                return await self._receive(receive)
        except TimeoutError:
            raise ApiError(408, f"the body did not arrive within {self._limits.receive_seconds:g} s", _CLOSE) from None

    async def _receive(self, receive: Receive) -> bytes:
        pieces: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Gone
            piece = message.get("body", b"")
            size, more = size + len(piece), message.get("more_body", False)
            if size <= self._limits.body_bytes:
                pieces.append(piece)
            # Few clients listen before they have sent everything: a good deal of it is taken in and dropped.
            elif size > _PATIENCE * self._limits.body_bytes:
                break
        self._check_size(size)
        return b"".join(pieces)

    def _check_size(self, size: int) -> None:
        if size > self._limits.body_bytes:
            raise ApiError(413, f"the body is larger than {self._limits.body_bytes:,} bytes; send it in parts", _CLOSE)

    def _patient(self, send: Send) -> Send:
        async def patient(message: Message) -> None:
            try:
                async with asyncio.timeout(self._limits.send_seconds):
                    await send(message)
            except TimeoutError:
                raise _Gone from None

        return patient


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body once; afterwards what the server has to tell, such as that the client is gone."""
    told = False

    async def replay() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
