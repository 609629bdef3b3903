from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable

import pytest

from tests.support.service_in_process import Client
from vse_ens.service import models
from vse_ens.service.settings import Limits


def test_a_large_body_is_refused_with_and_without_its_length(serve: Callable[..., Client]) -> None:
    client = serve(limits=Limits(body_bytes=1_000))
    json_type = {"Content-Type": "application/json"}

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" " * 100

    for body in (b" " * 1_001, pieces()):
        answer = client.post("/api/annotate", content=body, headers=json_type)
        assert answer.status_code == 413
        assert answer.json()["error"] == "the body is larger than 1,000 bytes; split the request"
    waiting = client.post("/api/annotate", content=b" " * 1_001, headers={**json_type, "Expect": "100-continue"})
    assert waiting.status_code == 413
    fits = b'{"images": ["img_0000001"]}'
    assert client.post("/api/annotate", content=fits.ljust(1_000), headers=json_type).status_code == 200


def test_a_slow_body_is_given_up(serve: Callable[..., Client]) -> None:
    client = serve(limits=Limits(receive_seconds=0.1))

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(600)
        yield b"}"

    answer = client.post("/api/annotate", content=slow(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.headers["connection"]) == (408, "close")
    assert answer.json() == {"error": "the body did not arrive within 0.1 s"}


def test_too_many_requests_at_once_are_told_to_come_back(serve: Callable[..., Client]) -> None:
    client = serve(limits=Limits(requests=3))
    released = asyncio.Event()
    under_way = 0

    async def slow() -> AsyncIterator[bytes]:
        nonlocal under_way
        yield b'{"images": '
        under_way += 1
        await released.wait()
        yield b'["img_0000001"]}'

    async def crowd() -> tuple[list[int], int, str, str]:
        headers = {"Content-Type": "application/json"}
        slow_ones = [
            asyncio.create_task(client.http.post("/api/annotate", content=slow(), headers=headers)) for _ in range(3)
        ]
        while under_way < 3:
            await asyncio.sleep(0)
        refused = await client.http.get("/api/model")
        released.set()
        answers = await asyncio.gather(*slow_ones)
        statuses = [one.status_code for one in answers]
        return statuses, refused.status_code, refused.headers["retry-after"], refused.headers["connection"]

    assert client.run(crowd()) == ([200, 200, 200], 503, "1", "close")
    assert client.get("/api/model").status_code == 200


def test_heavy_work_waits_in_a_short_queue_and_light_passes_it(serve: Callable[..., Client]) -> None:
    client = serve(limits=Limits(threads=1, waiting=1))
    gate = threading.Event()
    compute = client.service.compute

    async def crowd() -> list[int]:
        held = [asyncio.create_task(compute.run(gate.wait, 300)) for _ in range(2)]
        await asyncio.sleep(0.05)
        light = await client.http.post("/api/annotate", json={"images": ["img_0000001"]})
        refused = await client.http.post("/api/search", json={"labels": ["sea"]})
        gate.set()
        await asyncio.gather(*held)
        served = await client.http.post("/api/search", json={"labels": ["sea"]})
        return [light.status_code, refused.status_code, served.status_code]

    assert client.run(crowd()) == [200, 503, 200]


def test_first_suggestions_of_a_page_do_not_wait_for_searches(
    serve: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "_MAX_LABELS_ON_LOOP", 0)  # suggestions run on a worker thread
    client = serve(limits=Limits(threads=1, waiting=1))
    gate = threading.Event()
    compute = client.service.compute

    async def visit() -> list[int]:
        held = [asyncio.create_task(compute.run(gate.wait, 300)) for _ in range(2)]
        await asyncio.sleep(0.05)
        asked = ("/api/model", "/api/queue?top=12", "/api/image?id=img_0000001")
        answers = [await client.http.get(address) for address in asked]
        gate.set()
        await asyncio.gather(*held)
        return [one.status_code for one in answers]

    assert client.run(visit()) == [200, 200, 200]


def test_work_that_takes_too_long_is_answered_all_the_same(serve: Callable[..., Client]) -> None:
    client = serve(limits=Limits(answer_seconds=0.05))
    served = client.service.models.loaded
    assert served is not None
    gate = threading.Event()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(served.annotator, "search", lambda *_, **__: gate.wait(300) and [])
        answer = client.post("/api/search", json={"labels": ["sea"]})
        gate.set()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "within 0.05 s" in answer.json()["error"]


def test_a_client_that_leaves_while_it_sends_is_forgotten(client: Client) -> None:
    """Nobody is there to hear an answer, and none is made."""
    sent = []

    async def leave() -> None:
        messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/api/annotate",
            "query_string": b"",
            "headers": [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"9")],
        }

        async def receive() -> dict[str, object]:
            return next(messages)

        async def send(message: object) -> None:
            sent.append(message)

        await client.app(scope, receive, send)  # type: ignore[arg-type]

    client.run(leave())
    assert sent == []
    assert 'status="gone"} 1.0' in client.get("/metrics").text
