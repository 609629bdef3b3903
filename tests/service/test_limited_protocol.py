"""The protocol of a connection, step by step, without a socket and without waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest
import uvicorn
from uvicorn.server import ServerState

from vse_ens.service.connection import limited_protocol
from vse_ens.service.settings import Limits

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
LIMITS = Limits(head_bytes=200, connections=2, receive_seconds=10.0, send_seconds=30.0)


class Transport:
    """A transport that keeps what is written, as if the client read nothing once ``stuck``."""

    def __init__(self) -> None:
        self.written = b""
        self.unread = 0
        self.stuck = False
        self.state = "open"

    def write(self, data: bytes) -> None:
        assert self.state == "open", "written to a closed connection"
        self.written += data
        self.unread += len(data) if self.stuck else 0

    def get_write_buffer_size(self) -> int:
        return self.unread

    def close(self) -> None:
        self.state = "closed"

    def abort(self) -> None:
        self.state = "aborted"

    def is_closing(self) -> bool:
        return self.state != "open"

    def get_extra_info(self, _: str) -> None:
        return None

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


class Timer:
    """A timer of the clock below."""

    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at, self.call, self.cancelled = at, call, False

    def cancel(self) -> None:
        self.cancelled = True


class Clock:
    """An event loop whose timers run when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Timer] = []

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(self.now + seconds, call))
        return self.timers[-1]

    def create_task(self, work: Coroutine[Any, Any, None], **_: Any) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work)

    def advance(self, seconds: float) -> None:
        self.now += seconds
        for timer in [one for one in self.timers if one.at <= self.now and not one.cancelled]:
            timer.cancelled = True
            timer.call()


class Connection:
    """A connection whose requests are answered by hand."""

    def __init__(self, connections: int = 0) -> None:
        self.clock, self.transport = Clock(), Transport()
        self.requests: list[tuple[dict[str, Any], Any, Any]] = []
        self.answering: asyncio.Event = asyncio.Event()
        config = uvicorn.Config(self.app, interface="asgi3", ws="none", log_config=None, timeout_keep_alive=5)
        self.server = ServerState()
        self.server.connections |= cast("set[Any]", set(range(connections)))
        make = cast("Any", limited_protocol(LIMITS))
        self.protocol = make(config, self.server, {}, _loop=self.clock)
        self.protocol.connection_made(self.transport)

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        self.requests.append((scope, receive, send))
        await self.answering.wait()

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.protocol.data_received(piece)
        await asyncio.sleep(0)

    async def answer(self, body: bytes = b"{}") -> None:
        """Answer the last request that was begun."""
        send = self.requests[-1][2]
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    @property
    def status(self) -> int | None:
        return int(self.transport.written.split()[1]) if self.transport.written else None

    @property
    def state(self) -> str:
        return self.transport.state


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work())


def test_a_silent_connection_closes_and_half_a_head_is_answered() -> None:
    async def work() -> None:
        silent, half, whole = Connection(), Connection(), Connection()
        await half.send(GET[:10])
        await whole.send(GET)
        for one in (silent, half, whole):
            one.clock.advance(9.9)
            assert one.state == "open"
            one.clock.advance(0.1)
        assert (silent.state, silent.status) == ("closed", None)
        assert (half.state, half.status) == ("closed", 408)
        assert (whole.state, whole.status) == ("open", None)

    run(work)


def test_blank_lines_do_not_prolong_the_time_for_a_head() -> None:
    async def work() -> None:
        connection = Connection()
        connection.clock.advance(8)
        await connection.send(GET)
        await connection.answer()
        await connection.send(b"\r\n")
        connection.clock.advance(9)
        await connection.send(b"\r\n")
        assert connection.state == "open"
        connection.clock.advance(1)
        assert connection.state == "closed"

    run(work)


def test_an_idle_connection_is_closed_after_its_last_response() -> None:
    async def work() -> None:
        connection = Connection()
        await connection.send(GET)
        connection.clock.advance(100)
        await connection.answer()
        assert connection.state == "open"
        connection.clock.advance(5)
        assert connection.state == "closed"

    run(work)


def test_too_many_connections_are_refused() -> None:
    async def work() -> None:
        assert (Connection(connections=1).state, Connection(connections=1).status) == ("open", None)
        refused = Connection(connections=2)
        assert (refused.state, refused.status) == ("closed", 503)
        assert b"connection: close" in refused.transport.written

    run(work)


def head(size: int) -> bytes:
    """A head of which the path and the fields count as ``size`` bytes."""
    return b"GET / HTTP/1.1\r\nX: " + b"a" * (size - 6) + b"\r\n\r\n"


def test_a_head_is_limited_in_one_piece_and_in_many() -> None:
    async def work() -> None:
        for pieces, status in (
            ([head(200)], None),
            ([head(201)], 431),
            ([b"GET /" + b"a" * 195], None),
            ([b"GET /" + b"a" * 196], 431),
            ([b"GET /" + b"a" * 100, b"a" * 100], 431),
            ([GET + b"GET /" + b"a" * 250], None),  # bytes behind a whole request count with the next piece
        ):
            connection = Connection()
            await connection.send(*pieces)
            assert connection.status == status, pieces
            assert connection.state == ("open" if status is None else "closed")
            assert len(connection.requests) == (1 if status is None and b"\r\n\r\n" in pieces[0] else 0)

    run(work)


def test_trailers_are_limited_and_dropped() -> None:
    async def work() -> None:
        connection = Connection()
        await connection.send(POST, b"1\r\na\r\n" * 100, b"0\r\nAuthorization: Bearer x\r\n")
        assert connection.state == "open"
        await connection.send(b"X: " + b"a" * 100 + b"\r\n")
        assert connection.state == "open"
        scope, receive, _ = connection.requests[0]
        await connection.send(b"\r\n")
        assert [name for name, _ in scope["headers"]] == [b"host", b"transfer-encoding"]
        assert await receive() == {"type": "http.request", "body": b"a" * 100, "more_body": False}
        endless = Connection()
        await endless.send(POST, b"1\r\na\r\n0\r\n", *[b"X: " + b"a" * 50 + b"\r\n"] * 4)
        assert (endless.state, endless.status) == ("closed", 431)

    run(work)


def test_a_body_is_not_limited_here() -> None:
    async def work() -> None:
        connection = Connection()
        await connection.send(POST, *[b"64\r\n" + b"a" * 100 + b"\r\n"] * 10)
        assert connection.state == "open"

    run(work)


def test_an_answer_before_the_body_ends_closes_the_connection() -> None:
    async def work() -> None:
        early, late = Connection(), Connection()
        for connection in (early, late):
            await connection.send(POST, b"1\r\na\r\n")
        await early.answer()
        await late.send(b"0\r\n\r\n")
        await late.answer()
        assert (early.state, late.state) == ("closed", "open")

    run(work)


def test_bytes_that_are_not_http_are_answered_once() -> None:
    async def work() -> None:
        connection = Connection()
        await connection.send(b"\x16\x03\x01\r\n\r\n")
        assert (connection.state, connection.status) == ("closed", 400)
        assert b"invalid HTTP request" in connection.transport.written

    run(work)


def test_an_error_never_ends_up_in_an_earlier_answer() -> None:
    async def work() -> None:
        waiting = Connection()
        await waiting.send(GET + b"GET /")
        waiting.clock.advance(10)
        assert (waiting.state, waiting.status) == ("closed", None)
        pipelined = Connection()
        await pipelined.send(GET + POST, b"X" * 300)
        assert (pipelined.state, pipelined.status) == ("closed", None)
        begun = Connection()
        await begun.send(POST)
        await begun.requests[0][2]({"type": "http.response.start", "status": 200, "headers": []})
        await begun.send(b"no chunk")
        assert begun.state == "closed"
        assert begun.transport.written.count(b"HTTP/1.1") == 1

    run(work)


def test_a_client_that_does_not_accept_an_answer_is_disconnected() -> None:
    async def work() -> None:
        connection = Connection()
        connection.transport.stuck = True
        await connection.send(GET)
        await connection.answer()
        connection.clock.advance(5)  # the end of the idle time
        assert connection.state == "closed"
        connection.clock.advance(24.9)
        assert connection.state == "closed"
        connection.clock.advance(0.1)
        assert connection.state == "aborted"

    run(work)


def test_a_client_that_reads_late_is_not_disconnected() -> None:
    async def work() -> None:
        connection = Connection()
        connection.transport.stuck = True
        await connection.send(GET)
        connection.protocol.pause_writing()
        connection.clock.advance(29)
        connection.protocol.resume_writing()
        connection.clock.advance(29)
        assert connection.state == "open"
        connection.transport.unread = 1  # of a chunk that was just written
        connection.clock.advance(1)
        assert connection.state == "open"
        await connection.answer()
        connection.clock.advance(4)
        connection.protocol.pause_writing()
        connection.clock.advance(20)
        connection.protocol.resume_writing()  # some was accepted, and some is left
        connection.clock.advance(29.9)
        assert connection.state == "closed"  # idle
        connection.clock.advance(0.1)
        assert connection.state == "aborted"

    run(work)


def test_a_client_that_reads_nothing_is_disconnected() -> None:
    async def work() -> None:
        connection = Connection()
        await connection.send(GET)
        connection.protocol.pause_writing()
        connection.transport.unread = 1
        connection.clock.advance(29.9)
        assert connection.state == "open"
        connection.clock.advance(0.1)
        assert connection.state == "aborted"
        connection.protocol.connection_lost(None)  # the request no longer waits

    run(work)


def test_the_time_to_read_begins_with_something_to_read() -> None:
    async def work() -> None:
        connection = Connection()
        connection.transport.stuck = True
        await connection.send(GET)
        await connection.answer()
        await connection.send(GET)  # before the first answer was accepted
        connection.transport.unread = 0
        connection.clock.advance(30)
        assert connection.state == "open"
        await connection.answer()
        connection.clock.advance(30)
        assert connection.state == "aborted"

    run(work)


def test_the_time_to_accept_ends_with_the_next_request() -> None:
    async def work() -> None:
        for left, state in ((0, "open"), (1, "aborted")):
            connection = Connection()
            connection.transport.stuck = True
            await connection.send(GET)
            await connection.answer()
            connection.clock.advance(4)
            connection.transport.unread = left
            await connection.send(GET)
            connection.transport.unread += 1
            connection.clock.advance(26)
            assert connection.state == state

    run(work)


def test_unread_answers_do_not_keep_a_refused_connection() -> None:
    async def work() -> None:
        connection = Connection()
        await connection.send(GET)
        await connection.answer()
        connection.transport.stuck = True
        await connection.send(b"nonsense\r\n\r\n")
        assert connection.state == "closed"
        connection.clock.advance(30)
        assert connection.state == "aborted"

    run(work)


def test_a_lost_connection_stops_timers_and_reaches_its_request() -> None:
    async def work() -> None:
        connection = Connection()
        await connection.send(GET + GET)
        assert len(connection.requests) == 1
        connection.protocol.pause_writing()
        assert connection.protocol.flow.write_paused
        receive = connection.requests[0][1]
        assert (await receive())["type"] == "http.request"
        waiting = asyncio.create_task(receive())
        await asyncio.sleep(0)
        connection.transport.state = "aborted"
        connection.protocol.connection_lost(None)
        assert await waiting == {"type": "http.disconnect"}
        await connection.answer()  # goes nowhere
        assert connection.transport.written == b""
        assert all(timer.cancelled for timer in connection.clock.timers)
        assert Connection().protocol.connection_lost(None) is None

    run(work)


def test_a_connection_does_not_collect_requests_without_end() -> None:
    async def work() -> None:
        most, more = Connection(), Connection()
        await most.send(GET * 17)
        await more.send(GET * 18)
        assert (most.state, more.state) == ("open", "closed")
        flood = Connection()
        await flood.send(GET * 10_000)
        assert (flood.state, len(flood.protocol.pipeline)) == ("closed", 16)

    run(work)


@pytest.mark.parametrize("count", [2, 3])
def test_requests_in_one_piece_are_answered_one_after_the_other(count: int) -> None:
    async def work() -> None:
        connection = Connection()
        await connection.send(GET * count)
        for number in range(count):
            assert len(connection.requests) == number + 1
            await connection.answer()
            await asyncio.sleep(0)
        assert (connection.state, connection.transport.written.count(b"HTTP/1.1 200")) == ("open", count)

    run(work)


def test_an_error_that_nobody_reads_does_not_keep_the_connection() -> None:
    async def work() -> None:
        connection = Connection()
        connection.transport.stuck = True
        await connection.send(b"nonsense\r\n\r\n")
        assert (connection.state, connection.status) == ("closed", 400)
        connection.clock.advance(29.9)
        assert connection.state == "closed"
        connection.clock.advance(0.1)
        assert connection.state == "aborted"

    run(work)


def test_a_client_that_keeps_reading_has_as_long_as_it_takes() -> None:
    async def work() -> None:
        connection = Connection()
        await connection.send(GET)
        connection.protocol.pause_writing()
        connection.transport.unread = 1
        connection.clock.advance(29)
        connection.protocol.resume_writing()  # the buffer is almost empty, and the answer continues
        connection.clock.advance(29)
        assert connection.state == "open"

    run(work)
