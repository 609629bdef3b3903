"""Connections that bring no request, or a head without end, are given up: uvicorn itself would wait for ever."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from vse_ens.service.settings import Limits


def impatient_protocol(limits: Limits) -> type[asyncio.Protocol]:
    """uvicorn's protocol with an end to connections, and to the time and the size of a request's head."""

    class Impatient(HttpToolsProtocol):
        _clock: asyncio.TimerHandle | None = None
        _in_head = True
        _head_bytes = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                self._refuse(503, "too many connections; try again soon")
            else:
                self._wind_clock()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_clock()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            self._head_bytes += len(data) if self._in_head else 0
            super().data_received(data)
            if self._in_head and self._head_bytes > limits.head_bytes and not self.transport.is_closing():
                self._refuse(431, f"the address and headers are larger than {limits.head_bytes:,} bytes")

        def on_message_begin(self) -> None:
            self._wind_clock()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._in_head = False
            self._stop_clock()
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._in_head, self._head_bytes = True, 0
            super().on_message_complete()

        def send_400_response(self, msg: str) -> None:
            self._refuse(400, f"this is no request that can be read: {msg}")

        def _wind_clock(self) -> None:
            self._stop_clock()
            self._clock = self.loop.call_later(limits.receive_seconds, self._lose_patience)

        def _stop_clock(self) -> None:
            if self._clock is not None:
                self._clock.cancel()
                self._clock = None

        def _lose_patience(self) -> None:
            if self._head_bytes:
                self._refuse(408, f"the headers did not arrive within {limits.receive_seconds:g} s")
            else:
                self.transport.close()

        def _refuse(self, status: int, sentence: str) -> None:
            """Where no request is there yet that the application could refuse."""
            self._stop_clock()
            body = json.dumps({"error": sentence})
            head = (
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
                "content-type: application/json",
                f"content-length: {len(body)}",
                "connection: close",
            )
            self.transport.write("\r\n".join((*head, "", body)).encode())
            self.transport.close()

    return Impatient
