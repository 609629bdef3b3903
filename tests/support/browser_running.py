"""The real service on a free port of this machine, in a thread: it can be stopped and started again."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import replace

import uvicorn

from vse_ens.service.app import create_app
from vse_ens.service.settings import Settings


class Running:
    """A service that answers from `start` to `stop`."""

    def __init__(self, settings: Settings) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self._settings = replace(settings, port=listener.getsockname()[1])
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        return self._settings.address

    def start(self) -> Running:
        app = create_app(self._settings)
        config = uvicorn.Config(app, port=self._settings.port, log_config=None, ws="none", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("the service did not start")
            time.sleep(0.01)
        return self

    def stop(self) -> None:
        if self._server is None or self._thread is None:
            return
        self._server.should_exit = True
        self._thread.join()
        self._server = self._thread = None
