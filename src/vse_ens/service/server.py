"""The process: a socket, one event loop, signals.

Connections that bring no request, or a head without end, are given up: uvicorn itself would wait for ever.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http import HTTPStatus

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from vse_ens.errors import ConfigError, VseError
from vse_ens.service.app import create_app
from vse_ens.service.models import check_model
from vse_ens.service.settings import Limits, Settings
from vse_ens.service.state import Service

# How long a thread of heavy work may keep the interpreter from the event loop, which asks for it several times an
# answer: with Python's own 5 ms a single image took 9 ms beside a busy thread, with 1 ms it took 2.
_SWITCH_SECONDS = 0.001

_log = logging.getLogger(__name__)


class _Server(uvicorn.Server):
    """Leaves signals to us: a service that was told to stop, and did, has not failed."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def run(settings: Settings, announce: Callable[[Settings], None]) -> None:
    """Serve until SIGTERM or Ctrl-C, and drain; ``announce`` hears the address when the model is there."""
    check_model(settings.model)
    with _listening(settings) as listener:
        _log_to_stderr()
        _one_matrix_thread()
        sys.setswitchinterval(_SWITCH_SECONDS)
        if settings.weak_key:
            _log.warning("the API key is short enough to be guessed; a longer one is made by: openssl rand -hex 32")
        settings = replace(settings, port=listener.getsockname()[1])
        app = create_app(settings)
        app.openapi()  # FastAPI prepares its routes when they are first looked at: now, not in the first request
        config = uvicorn.Config(
            app,
            http=impatient_protocol(settings.limits),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=settings.limits.idle_seconds,
            timeout_graceful_shutdown=settings.limits.drain_seconds,
        )
        server = _Server(config)
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(_serve(server, app.state.service, listener, lambda: announce(settings)))


async def _serve(server: _Server, service: Service, listener: socket.socket, announce: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.handle_exit, number, None)
    reloading: set[asyncio.Task[None]] = set()  # the loop itself holds tasks but weakly

    def reload() -> None:
        task = asyncio.create_task(_reload(service))
        reloading.add(task)
        task.add_done_callback(reloading.discard)

    loop.add_signal_handler(signal.SIGHUP, reload)

    first = service.start()
    serving = asyncio.create_task(server.serve([listener]))
    await asyncio.wait({first, serving}, return_when=asyncio.FIRST_COMPLETED)
    if first.done() and first.exception() is None:
        announce()
    elif first.done():
        server.should_exit = True
    await serving
    if first.done():
        first.result()


async def _reload(service: Service) -> None:
    with suppress(VseError):  # the old model stays; the holder has said why
        await service.holder.load()


def _log_to_stderr() -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


def _one_matrix_thread() -> None:
    """One answer is too small to share: the matrix library's threads would only wait for each other.

    To be called by the main thread: OpenBLAS heeds no other after it.
    """
    import scipy.linalg  # noqa: F401  # brings a matrix library of its own, which must be there to be told
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")


def _listening(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        raise ConfigError(
            f"--host {settings.host} --port {settings.port} cannot be served: {error.strerror or error}; "
            "choose another --port"
        ) from error


def impatient_protocol(limits: Limits) -> type[asyncio.Protocol]:
    """uvicorn's protocol with an end to connections, and to the time and the size of a request's head."""

    class TimeoutProtocol(HttpToolsProtocol):
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

    return TimeoutProtocol
