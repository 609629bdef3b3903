"""The benchmark of the service and its load client."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from benchmarks.service import serving
from benchmarks.service.load_client import Load, digest


async def answer_some(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer in two pieces; disconnect while answering a body of 9 bytes, and refuse one of 7."""
    while head := await reader.readuntil(b"\r\n\r\n"):
        size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(size)
        if size == 9:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-")
            writer.close()
            return
        status = b"503 Service Unavailable" if size == 7 else b"200 OK"
        writer.write(b"HTTP/1.1 " + status + b"\r\nContent-")
        await asyncio.sleep(0.001)
        writer.write(b"Length: 2\r\n\r\n{}")


def loaded(bodies: list[str], **how: float) -> Load:
    async def ask() -> Load:
        server = await asyncio.start_server(answer_some, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        load = Load(f"http://127.0.0.1:{port}/api/annotate", bodies)
        await (load.at_rate if "rate" in how else load.saturate)(**how)  # type: ignore[arg-type]
        load.close()
        server.close()
        return load

    return asyncio.run(ask())


def test_every_request_is_counted_once() -> None:
    load = loaded(["{}", '{"abcd":1}'.ljust(9)[:9], '{"a":1}'], rate=300, seconds=0.5)
    assert load.statuses == {"200": 50, "ConnectionError": 50, "503": 50}
    assert len(load.seconds) == 150
    assert min(load.seconds) > 0


def test_saturate_keeps_all_connections_busy() -> None:
    load = loaded(["{}"], connections=3, seconds=0.2)
    assert set(load.statuses) == {"200"}
    assert sum(load.seconds) > 2.1 * 0.2  # of three connections, each asking all the time; one would have 0.2 s


def test_lost_and_slow_requests_are_reported() -> None:
    quick: dict[str, Any] = {
        "elapsed": 0.05,
        "statuses": {"200": 100},
        "milliseconds": digest([2.0] * 100),
        "server_cpu": 0.04,
        "client_cpu": 0.01,
    }
    slow = {**quick, "elapsed": 1.0, "milliseconds": digest([2.0] * 98 + [70.0] * 2)}
    losing = {**slow, "statuses": {"200": 98, "503": 1, "ConnectionError": 1}}
    raw = {"images": 9, "labels": 9, "connections": 2, "swaps": 2.0, "saturated": quick, "steady": quick}
    score = serving.score({**raw, "saturated": slow, "steady": slow, "swapped": losing})
    verdicts = [check.verdict for check in score.checks]
    assert verdicts == ["**below floor**", *["**over limit**"] * 4, "met"]
    score = serving.score({**raw, "swapped": quick})
    assert [check.verdict for check in score.checks] == ["met"] * 6
    assert score.tables[0].rows[0][1] == "2000 per second"
    assert score.tables[0].rows[0][5:7] == ("0.40 ms", "0.10 ms")


@pytest.mark.slow
def test_measures_and_scores() -> None:
    sizes = serving.Sizes(500, 100, 2, 0.2, 0.5, 1.5)
    raw = json.loads(json.dumps(serving.measure(sizes), allow_nan=False))
    assert raw["swaps"] == 2
    assert set(raw["saturated"]["statuses"]) == {"200"}
    for name in ("steady", "swapped"):
        # At a fixed rate, requests do not wait for answers: on a busy machine, too many are open.
        assert {"200"} <= set(raw[name]["statuses"]) <= {"200", "503"}
    assert raw["rate"] == pytest.approx(raw["saturated"]["statuses"]["200"] / raw["saturated"]["elapsed"] / 2)
    assert len(serving.score(raw).tables[0].rows) == 3
