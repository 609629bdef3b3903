"""The server process: socket, event loop and signals."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import FrameType

import uvicorn

from vse_ens.errors import ConfigError, VseError
from vse_ens.service.app import create_app
from vse_ens.service.connection import limited_protocol
from vse_ens.service.models import check_model
from vse_ens.service.settings import Settings
from vse_ens.service.state import Service

# How long a worker thread may hold the interpreter lock, which the event loop needs several times per response:
# beside a busy thread, one image took 9 ms with Python's default of 5 ms, and 2 ms with 1 ms.
_SWITCH_SECONDS = 0.001

_log = logging.getLogger(__name__)


class _Server(uvicorn.Server):
    """Leaves signals to `_stop_on_signals`, so that a service stopped by a signal exits with status 0."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def run(settings: Settings, announce: Callable[..., None]) -> None:
    """Serve until SIGTERM or Ctrl-C, then finish requests in progress; the process ends in any case.

    ``announce`` is called once the model is loaded, with the settings and the actual port, and a note if there is one.
    """
    check_model(settings.model)
    with _listen(settings) as listener:
        logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
        _limit_blas_threads()
        sys.setswitchinterval(_SWITCH_SECONDS)
        settings = replace(settings, port=listener.getsockname()[1])
        app = create_app(settings)
        config = uvicorn.Config(
            app,
            http=limited_protocol(settings.limits),
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
        _stop_on_signals(server, settings.limits.stop_seconds)
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(_serve(server, app.state.service, listener, lambda *notes: announce(settings, *notes)))


async def _serve(server: _Server, service: Service, listener: socket.socket, announce: Callable[..., None]) -> None:
    reloads: set[asyncio.Task[None]] = set()  # the event loop keeps only weak references to tasks

    async def load_again() -> None:
        with suppress(VseError):  # the old model stays; ModelManager has logged the reason
            await service.models.load()

    def reload() -> None:
        task = asyncio.create_task(load_again())
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)

    first_load = service.start()
    serving = asyncio.create_task(server.serve([listener]))
    await asyncio.wait({first_load, serving}, return_when=asyncio.FIRST_COMPLETED)
    if first_load.done() and first_load.exception() is None:
        note = await asyncio.to_thread(service.pictures.note, first_load.result())
        announce(*filter(None, [note]))
    elif first_load.done():
        server.should_exit = True
    await serving
    if first_load.done():
        first_load.result()


def _stop_on_signals(server: uvicorn.Server, seconds: float) -> None:
    """Stop at SIGTERM and SIGINT; after ``seconds``, end the process whatever its threads do.

    A thread cannot be stopped, and Python waits for it at exit. Nothing is lost: feedback is written in transactions.
    """
    deadline = threading.Event()

    def exit_at_deadline() -> None:
        deadline.wait()
        time.sleep(seconds)
        _log.warning("stopped with work unfinished after %g s", seconds)
        os._exit(0)

    def stop(number: int, frame: FrameType | None) -> None:
        deadline.set()
        server.handle_exit(number, frame)

    # Started now: while it stops, a process may be unable to start threads.
    threading.Thread(target=exit_at_deadline, name="deadline", daemon=True).start()
    # Unlike a handler of the event loop, this one also runs while a callback blocks the loop.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def _limit_blas_threads() -> None:
    """Limit BLAS to one thread: one response is too little work to distribute.

    Call it from the main thread: OpenBLAS ignores later calls from other threads.
    """
    import scipy.linalg  # noqa: F401  # loads SciPy's own BLAS, which must be loaded to be limited
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on --host {settings.host} --port {settings.port}: {error.strerror or error}; "
            "choose another --port"
        ) from error
