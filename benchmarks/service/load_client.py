"""A client that puts load on an HTTP service: keep-alive connections on one event loop (uvloop if installed).

It either keeps a number of connections busy, or sends requests at a given rate. At a rate, requests arrive at random
times (exponential gaps) whether or not earlier ones were answered, and latency counts from the time a request was due.
A service that stalls therefore still receives the requests that a waiting client would have held back.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from urllib.parse import urlsplit

import numpy as np

PERCENTILES = ("0", "25", "50", "75", "90", "95", "99", "99.9", "100")


class Connection(asyncio.Protocol):
    """A connection that sends one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._received = b""
        self._answer: asyncio.Future[int] | None = None
        self.open = True

    async def ask(self, request: bytes) -> int:
        """Send a request and return the status of the complete answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Collect an answer until it is complete."""
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end:
            return
        lines = head.lower().split(b"\r\n")
        size = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:"))
        if len(body) >= size and self._answer is not None:
            self._received = b""
            answer, self._answer = self._answer, None
            answer.set_result(int(head[9:12]))

    def connection_lost(self, error: Exception | None) -> None:
        """Fail the request that has no answer yet."""
        self.open = False
        if self._answer is not None:
            self._answer.set_exception(error or ConnectionError("closed before the answer"))

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()


@dataclass
class Load:
    """Requests to one URL that cycle through ``bodies``, with their statuses and latencies."""

    url: str
    bodies: list[str]

    def __post_init__(self) -> None:
        where = urlsplit(self.url)
        self._host, self._port = where.hostname or "", where.port or 80
        head = f"POST {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: application/json\r\n"
        encoded = [body.encode() for body in self.bodies]
        requests = [f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in encoded]
        self._requests: Iterator[bytes] = cycle(requests)
        self._idle: deque[Connection] = deque()
        self.statuses: dict[str, int] = {}
        self.seconds: list[float] = []

    async def saturate(self, connections: int, seconds: float) -> None:
        """Send the next request on each connection as soon as the last is answered."""
        start = perf_counter()

        async def ask_on() -> None:
            while perf_counter() - start < seconds:
                await self._ask(perf_counter())

        await asyncio.gather(*(ask_on() for _ in range(connections)))

    async def at_rate(self, rate: float, seconds: float) -> None:
        """Send requests at random times, on average ``rate`` per second."""
        gaps = np.random.default_rng(0).exponential(1.0 / rate, int(rate * seconds))
        start = perf_counter()
        tasks = []
        for due in start + np.cumsum(gaps):
            await asyncio.sleep(due - perf_counter())
            tasks.append(asyncio.create_task(self._ask(due)))
        await asyncio.gather(*tasks)

    async def _ask(self, due: float) -> None:
        try:
            connection = await self._connection()
            status = str(await connection.ask(next(self._requests)))
            self._idle.append(connection)
        except OSError as error:
            status = type(error).__name__
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.seconds.append(perf_counter() - due)

    async def _connection(self) -> Connection:
        while self._idle:
            connection = self._idle.popleft()
            if connection.open:
                return connection
        _, fresh = await asyncio.get_running_loop().create_connection(Connection, self._host, self._port)
        return fresh

    def close(self) -> None:
        """Close all connections."""
        for connection in self._idle:
            connection.close()


def run_load(url: str, bodies: str, how: dict[str, Any]) -> dict[str, Any]:
    """Load ``url`` with the lines of the file ``bodies``.

    ``how`` has the arguments of `Load.saturate` or of `Load.at_rate`.
    """
    return _run(_load(url, Path(bodies).read_text(encoding="utf-8").splitlines(), how))


def digest(values: list[float]) -> dict[str, Any]:
    """Return count, mean and percentiles of the values."""
    found = np.percentile(values, [float(share) for share in PERCENTILES])
    percentiles = dict(zip(PERCENTILES, found.round(4).tolist(), strict=True))
    return {"count": len(values), "mean": round(float(np.mean(values)), 4), "percentiles": percentiles}


async def _load(url: str, bodies: list[str], how: dict[str, Any]) -> dict[str, Any]:
    load = Load(url, bodies)
    work = load.at_rate if "rate" in how else load.saturate
    start, processor = perf_counter(), process_time()
    await work(**how)
    elapsed, client_cpu = perf_counter() - start, process_time() - processor
    load.close()
    return {
        "elapsed": elapsed,
        "client_cpu": client_cpu,
        "statuses": load.statuses,
        "milliseconds": digest([round(1e3 * one, 2) for one in load.seconds]),
    }


def _run(work: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    try:
        import uvloop

        factory = uvloop.new_event_loop
    except ImportError:
        pass
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)
