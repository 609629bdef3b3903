"""Limits of a connection: the time and size of request heads, and the time for a client to accept a response.

uvicorn has no such limits. `limited_protocol` adds them by subclassing a protocol class of uvicorn that is not a
public API, so pyproject.toml caps the version of uvicorn.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Literal

from httptools import HttpParserError
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from vse_ens.service.settings import Limits

_Timer = Literal["head", "send"]


def limited_protocol(limits: Limits) -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP protocol with limits on connections, request heads and unread responses."""

    class LimitedProtocol(HttpToolsProtocol):
        # The request that is being answered; later ones wait in `pipeline`.
        _responding: RequestResponseCycle | None = None
        _in_head = True
        _head_begun = False
        # Bytes since the last byte of a body: of a head, of trailers, or around chunks.
        _overhead = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            # "head" runs while a request is awaited and its head received, "send" while the client accepts no response.
            self._timers: dict[_Timer, asyncio.TimerHandle] = {}
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                self._reject(503, "too many connections; try again soon")
            else:
                self._start("head", limits.receive_seconds)

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel("head")
            self._cancel("send")
            # uvicorn tells the latest request only, and an earlier one would write to a closed connection.
            if self._responding is not None:
                self._responding.disconnected = True
                self._responding.message_event.set()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            self._overhead += len(data)
            super().data_received(data)
            if self.transport.is_closing():
                return
            if self._overhead > limits.head_bytes:
                self._reject_head()
            elif self._is_idle and "head" not in self._timers:
                # Blank lines between requests stop the timer of uvicorn, but begin no request.
                self._start("head", limits.receive_seconds)

        @property
        def _is_idle(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        # --- parser callbacks ---

        def on_message_begin(self) -> None:
            self._head_begun = True
            self._start("head", limits.receive_seconds)
            super().on_message_begin()

        def on_header(self, name: bytes, value: bytes) -> None:
            # Trailers would become headers of a request that has passed all checks of its headers.
            if self._in_head:
                super().on_header(name, value)

        def on_headers_complete(self) -> None:
            # `data_received` counts a head in pieces; this one may have arrived in one piece.
            if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > limits.head_bytes:
                self._reject_head()
                raise HttpParserError("the head is too large")
            if len(self.pipeline) == limits.pipelined:
                # One read may bring thousands of requests, each of which takes kilobytes while it waits.
                raise HttpParserError("too many requests wait")
            self._in_head = self._head_begun = False
            self._overhead = 0
            self._cancel("head")
            if not self.transport.get_write_buffer_size():
                self._cancel("send")
            super().on_headers_complete()
            if not self.pipeline:
                self._responding = self.cycle

        def on_body(self, body: bytes) -> None:
            self._overhead = 0
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._in_head, self._overhead = True, 0
            super().on_message_complete()

        def send_400_response(self, msg: str) -> None:
            self._reject(400, f"invalid HTTP request: {msg}")

        # --- the response ---

        def on_response_complete(self) -> None:
            # If responses wait in the pipeline, this one is of an earlier request, which was received completely.
            answered_early = not self.pipeline and self.cycle.more_body
            self._responding = self.pipeline[-1][0] if self.pipeline else None
            super().on_response_complete()
            if answered_early:
                self.transport.close()
            if "send" not in self._timers:
                self._start("send", limits.send_seconds)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._start("send", limits.send_seconds)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._cancel("send")
            # While a response is being made, a short stay in the buffer is normal.
            if self._responding is None:
                self._start("send", limits.send_seconds)

        def _on_send_timeout(self) -> None:
            del self._timers["send"]
            if self.transport.get_write_buffer_size():
                self.transport.abort()  # `close` would wait for the client

        # --- timers and rejection ---

        def _start(self, timer: _Timer, seconds: float) -> None:
            self._cancel(timer)
            expire = self._on_head_timeout if timer == "head" else self._on_send_timeout
            self._timers[timer] = self.loop.call_later(seconds, expire)

        def _cancel(self, timer: _Timer) -> None:
            if running := self._timers.pop(timer, None):
                running.cancel()

        def _on_head_timeout(self) -> None:
            if self._head_begun:
                self._reject(408, f"the headers did not arrive within {limits.receive_seconds:g} s")
            else:
                self.transport.close()

        def _reject_head(self) -> None:
            self._reject(431, f"the request line and headers are larger than {limits.head_bytes:,} bytes")

        def _reject(self, status: int, message: str) -> None:
            """Close, and send an error before that unless the client waits for the response to an earlier request."""
            if self.transport.is_closing():
                return
            in_body = not self._in_head and not self.pipeline and not self.cycle.response_started
            if self._is_idle or in_body:
                body = json.dumps({"error": message})
                head = (
                    f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
                    "content-type: application/json",
                    f"content-length: {len(body)}",
                    "connection: close",
                )
                self.transport.write("\r\n".join((*head, "", body)).encode())
            self.transport.close()
            if "send" not in self._timers:
                self._start("send", limits.send_seconds)

    return LimitedProtocol
