"""An application behind a socket, on an event loop in a thread of this process."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import httpx
import uvicorn

from vse_ens.service.app import create_app
from vse_ens.service.connection import limited_protocol
from vse_ens.service.settings import Settings


class ThreadedService:
    """A running service without signals and a log."""

    def __init__(self, settings: Settings) -> None:
        app = create_app(settings)
        config = uvicorn.Config(
            app,
            http=limited_protocol(settings.limits),
            ws="none",
            lifespan="on",
            log_config=None,
            server_header=False,
            timeout_keep_alive=settings.limits.idle_seconds,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._listener = socket.socket()
        # Connections inherit it: what a client does not read stays in the process, as it does with large responses.
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
        self._listener.bind(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self._started.wait()
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=300)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvicorn.Config("app").get_loop_factory()) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        serving = asyncio.create_task(self._server._serve([self._listener]))
        while not self._server.started and not serving.done():
            await asyncio.sleep(0.01)
        self._started.set()
        await serving

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._server.server_state.connections)

    def close(self) -> None:
        self.http.close()
        self._server.should_exit = True
        self._thread.join()


@contextmanager
def serving_in_thread(settings: Settings) -> Iterator[ThreadedService]:
    """A service with the given settings, on a free port."""
    started = ThreadedService(replace(settings, port=0))
    try:
        yield started
    finally:
        started.close()
