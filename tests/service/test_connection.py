"""Connections of clients that have no key, send slowly, or do not read."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.support.service_in_thread import ThreadedService, serving_in_thread
from vse_ens.service.keys import Key
from vse_ens.service.settings import Limits, Settings

KEY = "a-key-of-thirty-two-characters-x"
# For hangs only; mutation testing makes many.
PATIENCE = float(os.environ.get("VSE_ENS_TEST_PATIENCE", "300"))
CHUNKED = b"POST /api/annotate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
TYPED = CHUNKED + b"Content-Type: application/json\r\n"
ALLOWED = TYPED + b"Authorization: Bearer " + KEY.encode() + b"\r\n"


@pytest.fixture(scope="module")
def service(model: Path) -> Iterator[ThreadedService]:
    tight = Limits(
        receive_seconds=0.3, send_seconds=0.3, idle_seconds=1, body_bytes=10_000, head_bytes=5_000, connections=20
    )
    with serving_in_thread(Settings(model, keys=(Key(KEY),), limits=tight)) as started:
        yield started


def connect(service: ThreadedService, receive_buffer: int | None = None) -> socket.socket:
    connection = socket.socket()
    if receive_buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.settimeout(PATIENCE)
    connection.connect(("127.0.0.1", service.port))
    return connection


def read_all(connection: socket.socket) -> bytes:
    """Return everything that the service sends before it closes."""
    received = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            received += piece
    return received


def answer(received: bytes) -> tuple[int, str]:
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"\r\nconnection: close" in head.lower()
    return int(head.split()[1]), json.loads(body)["error"]


def is_closed_while_sending(connection: socket.socket, piece: bytes, pause: float = 0.0) -> bool:
    """Send a piece again and again; return whether the service closes the connection."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            connection.sendall(piece)
        except OSError:
            return True
        time.sleep(pause)
    return False


def wait_until_closed(service: ThreadedService) -> None:
    """Wait until no connection is open but that of the client for requests between the attacks."""
    deadline = time.monotonic() + PATIENCE
    while service.connections > 1:
        assert time.monotonic() < deadline, f"{service.connections} connections are open"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (CHUNKED + b"\r\n", 401),
        (TYPED.replace(b"/api/annotate", b"/health") + b"\r\n", 405),
        (ALLOWED + b"\r\n", 422),
    ],
    ids=["no key", "open address", "key"],
)
@pytest.mark.parametrize(
    "trailer",
    [b"X: " + b"a" * 1_000 + b"\r\n", b"a" * 1_000],
    ids=["many trailers", "one endless trailer"],
)
def test_trailers_count_against_the_limit_of_the_head(
    service: ThreadedService, head: bytes, status: int, trailer: bytes
) -> None:
    with connect(service) as connection:
        connection.sendall(head + b"2\r\n{}\r\n0\r\n")
        assert is_closed_while_sending(connection, trailer)
        assert answer(read_all(connection))[0] in (431, status)


def test_no_trailer_becomes_a_header(service: ThreadedService) -> None:
    """A body may not name its sender, or say of what kind it is, after the check."""
    body = b'{"image": "img_0000001", "label": "sea", "verdict": "accept"}'
    with connect(service) as connection:
        connection.sendall(
            ALLOWED.replace(b"/api/annotate", b"/api/reload").replace(b"Authorization", b"X-Ignored")
            + b"\r\n%x\r\n%b\r\n0\r\nAuthorization: Bearer %b\r\n\r\n" % (len(body), body, KEY.encode())
        )
        assert b"HTTP/1.1 401" in read_all(connection)


def test_a_refused_request_that_trickles_is_closed(service: ThreadedService) -> None:
    for head in (CHUNKED + b"\r\n", CHUNKED.replace(b"Transfer-Encoding: chunked", b"Content-Length: 9999") + b"\r\n"):
        with connect(service) as connection:
            connection.sendall(head)
            assert is_closed_while_sending(connection, b"1\r\na\r\n", pause=0.05)
            assert answer(read_all(connection))[0] == 401


def test_a_refusal_reaches_a_client_that_sends_everything_first(service: ThreadedService) -> None:
    refused = service.http.post("/api/annotate", content=b" " * 150_000)
    assert refused.status_code == 401
    waiting = service.http.post("/api/annotate", content=b" " * 150_000, headers={"Expect": "100-continue"})
    assert waiting.status_code == 401


def test_blank_lines_do_not_keep_a_connection(service: ThreadedService) -> None:
    with connect(service) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        assert is_closed_while_sending(connection, b"\r\n", pause=0.05)


def test_a_head_in_one_piece_is_refused_like_one_in_many(service: ThreadedService) -> None:
    head = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
    for field in (b"X: " + b"a" * 5_000 + b"\r\n", b"X: a\r\n" * 1_000):
        with connect(service) as connection:
            connection.sendall(head + field + b"\r\n")
            status, sentence = answer(read_all(connection))
        assert (status, "5,000 bytes" in sentence) == (431, True)
    with connect(service) as connection:
        connection.sendall(b"GET /health?" + b"a" * 5_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert answer(read_all(connection))[0] == 431
    with connect(service) as connection:
        connection.sendall(head + b"X: " + b"a" * 4_000 + b"\r\n\r\n")
        assert read_all(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("path", [b"/static/app.js", b"/openapi.json"])
def test_a_client_that_never_reads_is_closed(
    service: ThreadedService, path: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as stack:
        for _ in range(4):
            connection = stack.enter_context(connect(service, receive_buffer=4_096))
            connection.sendall((b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n") * 16)
        wait_until_closed(service)
    assert service.http.get("/health").status_code == 200
    assert "Traceback" not in caplog.text


def test_an_upgrade_is_no_way_around_the_limits(service: ThreadedService) -> None:
    for upgrade in (b"websocket", b"h2c"):
        with connect(service) as connection:
            connection.sendall(
                b"POST /api/annotate HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: "
                + upgrade
                + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            assert is_closed_while_sending(connection, b"1\r\na\r\n", pause=0.05)
            assert b"HTTP/1.1 401" in read_all(connection)


def test_half_a_request_behind_a_whole_one_breaks_no_answer(service: ThreadedService) -> None:
    with connect(service) as connection:
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\nGET /he")
        received = read_all(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    json.loads(body[:length])
    assert answer(body[length:])[0] == 408
