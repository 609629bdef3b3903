from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import urlopen

import pytest
from benchmarks.service.slow_connection import delayed

BODY = bytes(range(256)) * 2_000


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def test_the_same_bytes_arrive_after_two_round_trips(port: int) -> None:
    with delayed(port, 0.1) as slow:
        start = time.perf_counter()
        with urlopen(f"http://127.0.0.1:{slow}/") as answer:
            assert answer.read() == BODY
        assert time.perf_counter() - start >= 0.19  # one to connect, one for the request
