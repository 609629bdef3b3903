"""A proxy on this machine that adds the latency of a distant server: a round trip to connect, and one per request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def delayed(target: int, latency: float) -> Iterator[int]:
    """Forward connections to a port, and yield the port of the proxy; ``latency`` is a round trip in seconds."""
    loop = asyncio.new_event_loop()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(latency)
        with suppress(OSError):
            there, back = await asyncio.open_connection("127.0.0.1", target)
            await asyncio.gather(_pass_on(reader, back, latency / 2), _pass_on(there, writer, latency / 2))

    server = loop.run_until_complete(asyncio.start_server(handle, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
    """Write what is read, each part after the delay; parts that arrive meanwhile are not held up."""
    loop = asyncio.get_running_loop()
    parts: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def read() -> None:
        part = b"-"
        while part:
            part = b""
            with suppress(OSError):
                part = await reader.read(1 << 16)
            parts.put_nowait((loop.time() + delay, part))

    reading = asyncio.ensure_future(read())
    with suppress(OSError):
        while True:
            due, part = await parts.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            if not part:
                break
            writer.write(part)
            await writer.drain()
    writer.close()
    await reading
