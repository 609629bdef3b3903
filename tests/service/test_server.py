"""The real thing: a process, a socket, signals."""

from __future__ import annotations

import json
import select
import shutil
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.service_in_subprocess import (
    Process,
    serving,
    serving_with_endless_work,
    serving_with_low_limits,
    serving_with_short_limits,
)
from vse_ens.annotator import Annotator
from vse_ens.data.datasets.scenes import scenes

pytestmark = pytest.mark.slow

ASKED = {"images": ["img_0000001"], "top": 3}


@pytest.fixture(scope="module")
def limited(model: Path) -> Iterator[Process]:
    with serving_with_low_limits(model) as started:
        yield started


@pytest.fixture(scope="module")
def hasty(model: Path) -> Iterator[Process]:
    with serving_with_short_limits(model) as started:
        yield started


def is_healthy(process: Process) -> bool:
    """Ask until the request arrives in time: this process may stall between connecting and sending."""
    while (status := httpx.get(f"http://127.0.0.1:{process.port}/health", timeout=300).status_code) == 408:
        pass
    return status == 200


def connected(process: Process) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", process.port), timeout=300)
    connection.settimeout(300)
    return connection


def everything(connection: socket.socket) -> bytes:
    """What the service sends before it closes."""
    received = b""
    while piece := connection.recv(65_536):
        received += piece
    return received


def status_and_error(received: bytes) -> tuple[int, str]:
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]


def test_a_swap_under_load_loses_no_request(model: Path, tmp_path: Path) -> None:
    place, other, broken = tmp_path / "served", tmp_path / "other", tmp_path / "broken"
    shutil.copytree(model, place)
    Annotator(epochs=1, dimensions=8, seed=1).fit(scenes(images=400)).save(other)
    statuses: Counter[int | str] = Counter()
    models: list[str] = []
    stop = threading.Event()

    def replace(with_model: Path) -> None:
        place.rename(tmp_path / f"old {time.monotonic_ns()}")
        shutil.copytree(with_model, place)

    def ask_on(process: Process) -> None:
        with httpx.Client(base_url=process.http.base_url, timeout=300) as http:
            while not stop.is_set():
                try:
                    answer = http.post("/api/annotate", json=ASKED)
                    statuses[answer.status_code] += 1
                    models.append(answer.json()["model"])
                except httpx.HTTPError as error:
                    statuses[type(error).__name__] += 1

    def answered(more: int) -> None:
        enough = statuses.total() + more
        while statuses.total() < enough:
            time.sleep(0.01)

    with serving(place, "--feedback", str(tmp_path / "f.sqlite")) as process:
        first = process.http.get("/ready").json()["model"]
        clients = [threading.Thread(target=ask_on, args=(process,)) for _ in range(4)]
        for client in clients:
            client.start()
        answered(25)
        replace(other)
        process.process.send_signal(signal.SIGHUP)
        while process.http.get("/ready").json()["model"] == first:
            time.sleep(0.05)
        second = process.http.get("/ready").json()["model"]
        shutil.copytree(model, broken)
        (broken / "labels.arrow").unlink()
        replace(broken)
        refused = process.http.post("/api/reload", headers={"X-VSE-Reload": "yes"})
        replace(model)
        swapped = process.http.post("/api/reload", headers={"X-VSE-Reload": "yes"})
        answered(25)
        stop.set()
        for client in clients:
            client.join()
        log = process.log
    assert set(statuses) == {200}, statuses
    assert statuses[200] >= 50
    assert set(models) == {first, second}
    assert (refused.status_code, "labels.arrow" in refused.json()["error"]) == (503, True)
    assert swapped.json() == {"model": first}
    assert "ERROR still serving the old model: " in log
    assert "img_" not in log


def test_a_stopping_service_answers_requests_in_progress(model: Path, tmp_path: Path) -> None:
    with serving(model, "--feedback", str(tmp_path / "f.sqlite")) as process:
        body = json.dumps(ASKED).encode()
        head = (
            f"POST /api/annotate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        with connected(process) as connection:
            connection.sendall(head.encode() + body[:10])
            while "vse_requests_in_flight 2.0" not in process.http.get("/metrics").text:  # this one and the other
                time.sleep(0.05)
            process.process.send_signal(signal.SIGTERM)
            with suppress(ConnectionRefusedError):
                while True:  # nothing but a refusal ends it
                    connected(process).close()
                    time.sleep(0.05)
            connection.sendall(body[10:])
            received = everything(connection)
        assert received.startswith(b"HTTP/1.1 200 OK")
        assert process.process.wait(300) == 0


@pytest.mark.parametrize(
    ("path", "body"),
    [("/api/search", {"labels": ["sea"]}), ("/api/annotate", ASKED)],
    ids=["a thread is blocked", "the event loop is blocked"],
)
def test_a_stopping_service_ends_whatever_it_is_doing(model: Path, path: str, body: Any) -> None:
    with serving_with_endless_work(model) as process:
        asking = threading.Thread(target=lambda: _ask(process, path, body))
        asking.start()
        assert process.process.stdout is not None
        assert process.process.stdout.readline() == "begun\n"
        process.process.send_signal(signal.SIGTERM)
        assert process.process.wait(300) == 0
        asking.join()
        assert "stopped with work unfinished after 1 s" in process.log


def _ask(process: Process, path: str, body: Any) -> None:
    with suppress(httpx.HTTPError):  # the service ends without a response
        process.http.post(path, json=body)


def test_slow_requests_are_refused_while_others_are_served(hasty: Process) -> None:
    with connected(hasty) as silent, connected(hasty) as slow_head, connected(hasty) as slow_body:
        slow_head.sendall(b"GET /health HTTP/1.1\r\nHost: loc")
        slow_body.sendall(
            b"POST /api/annotate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
        assert is_healthy(hasty)
        assert everything(silent) == b""
        assert status_and_error(everything(slow_head)) == (408, "the headers did not arrive within 0.5 s")
        assert status_and_error(everything(slow_body)) == (408, "the body did not arrive within 0.5 s")


def test_a_head_that_drips_is_given_up(hasty: Process) -> None:
    with connected(hasty) as connection:
        connection.sendall(b"GET /")
        while not select.select([connection], [], [], 0.05)[0]:  # until there is an answer
            connection.sendall(b"a")
        assert status_and_error(connection.recv(65_536))[0] == 408
    assert is_healthy(hasty)


def test_a_kept_connection_that_stays_silent_is_closed(hasty: Process) -> None:
    received = b"HTTP/1.1 408"
    while received.startswith(b"HTTP/1.1 408"):  # this process stalled before it sent
        with connected(hasty) as connection, suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            received = everything(connection)
    assert received.startswith(b"HTTP/1.1 200 OK")


def test_an_endless_head_is_refused(limited: Process) -> None:
    for head in (b"GET /" + b"a" * 20_000, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20_000):
        with connected(limited) as connection:
            connection.sendall(head)
            status, sentence = status_and_error(everything(connection))
        assert (status, "5,000 bytes" in sentence) == (431, True)


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
)
def test_bytes_that_are_not_a_request_are_refused(limited: Process, nonsense: bytes) -> None:
    with connected(limited) as connection:
        connection.sendall(nonsense)
        assert status_and_error(everything(connection))[0] == 400
    assert limited.http.get("/health").status_code == 200


@pytest.mark.parametrize("size", [10_001, 150_000])
def test_a_large_body_is_refused_over_a_socket_too(limited: Process, size: int) -> None:
    headers = {"Content-Type": "application/json"}
    answer = limited.http.post("/api/annotate", content=b" " * size, headers=headers)
    assert (answer.status_code, "10,000 bytes" in answer.json()["error"]) == (413, True)

    def pieces() -> Iterator[bytes]:
        for _ in range(size // 1_000 + 1):
            yield b" " * 1_000

    answer = limited.http.post("/api/annotate", content=pieces(), headers=headers)
    assert answer.status_code == 413


def test_too_many_connections_are_told_to_come_back(limited: Process) -> None:
    held = [connected(limited) for _ in range(30)]
    refused: list[bytes] = []
    waiting = list(held)
    while len(refused) < 10:
        for one in select.select(waiting, [], [], 300)[0]:
            refused.append(everything(one))
            waiting.remove(one)
    for one in held:
        one.close()
    assert {status_and_error(one)[0] for one in refused} == {503}
    while (status := httpx.get(f"http://127.0.0.1:{limited.port}/health").status_code) == 503:
        time.sleep(0.05)  # the service has not seen yet that they are closed
    assert status == 200


def test_pipelined_requests_are_answered_in_their_order(limited: Process) -> None:
    with connected(limited) as connection:
        for path, kept in (("/health", "keep-alive"), ("/ready", "close")):
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: {kept}\r\n\r\n".encode())
        received = everything(connection)
    assert received.index(b'"UP"') < received.index(b'"ready":true')


def test_the_matrix_library_has_one_thread(limited: Process) -> None:
    """The event loop, signals, the deadline and threads for files and pictures; no team of a matrix library."""
    status = Path(f"/proc/{limited.process.pid}/status").read_text()
    threads = int(status.split("Threads:")[1].split()[0])
    assert threads <= 8
