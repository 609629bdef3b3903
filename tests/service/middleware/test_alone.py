"""Middleware around a trivial application, without a model."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vse_ens.service.errors import ApiError
from vse_ens.service.keys import Key
from vse_ens.service.middleware import AccessMiddleware, LimitsMiddleware, SecurityHeadersMiddleware
from vse_ens.service.pictures import PictureService
from vse_ens.service.settings import Limits, Settings

KEY = "a-key-of-thirty-two-characters-x"
Answer = tuple[int, dict[str, str], bytes]


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Return the body of the request."""
    if scope["type"] != "http":
        scope["passed"] = True
        return
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"kept")]})
    await send({"type": "http.response.body", "body": body})


def ask(app: Any, path: str = "/api/model", method: str = "GET", *pieces: bytes, **headers: str) -> Answer:
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"localhost")]
        + [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages.append({"type": "http.request", "body": b"", "more_body": False})
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    names = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], names, b"".join(message.get("body", b"") for message in sent[1:])


def access(**settings: Any) -> AccessMiddleware:
    return AccessMiddleware(application, Settings(Path("model"), **settings))


@pytest.mark.parametrize(
    "middleware",
    [
        lambda: access(keys=(Key(KEY),)),
        lambda: LimitsMiddleware(application, Limits(requests=0)),
        lambda: SecurityHeadersMiddleware(application, PictureService(Settings(Path("model")))),
    ],
    ids=["access", "limits", "headers"],
)
def test_messages_that_are_not_requests_are_passed_on_once(middleware: Callable[[], Any]) -> None:
    scope: dict[str, Any] = {"type": "lifespan"}
    asyncio.run(middleware()(scope, None, None))
    assert scope == {"type": "lifespan", "passed": True}


def basic(password: bytes) -> str:
    return "Basic " + base64.b64encode(b"user:" + password).decode()


@pytest.mark.parametrize(
    ("path", "authorization", "status"),
    [
        ("/api/model", f"Bearer {KEY}", 200),
        ("/api/model", f"bearer  {KEY} ", 200),
        ("/api/model", f"Basic {KEY}", 401),
        ("/api/model", basic(KEY.encode()), 401),
        ("/predict", basic(KEY.encode()), 200),
        ("/predict", f"Bearer {KEY}", 200),
        ("/predict", basic(KEY.encode()).replace("Basic", "bAsIc"), 200),
        ("/predict", basic(KEY.encode())[:9] + "!" + basic(KEY.encode())[9:], 401),  # not base64
        ("/predict", basic(b"\xff"), 401),
        ("/predict", basic(KEY.encode()).replace("Basic", "Digest"), 401),
        ("/predict", "Basic", 401),
        ("/predict", "", 401),
    ],
)
def test_the_key_is_taken_from_where_it_may_be(path: str, authorization: str, status: int) -> None:
    found, headers, body = ask(access(keys=(Key(KEY),)), path, authorization=authorization)
    assert found == status
    if status == 401:
        assert (headers["www-authenticate"], headers["connection"]) == ("Bearer", "close")
        assert b"Authorization: Bearer KEY" in body


@pytest.mark.parametrize("path", ["/", "/health", "/ready", "/openapi.json", "/static/app.js"])
def test_open_addresses_need_no_key_and_no_same_site(path: str) -> None:
    assert ask(access(keys=(Key(KEY),)), path, sec_fetch_site="cross-site")[0] == 200


@pytest.mark.parametrize(
    ("host", "name", "status"),
    [
        ("127.0.0.1", "localhost", 200),
        ("127.0.0.1", "evil.example", 403),
        ("127.0.0.2", "127.0.0.2:80", 200),
        ("127.0.0.1", "127.0.0.2", 403),
        ("::1", "[::1]:80", 200),
        ("0.0.0.0", "evil.example", 200),
    ],
)
def test_host_names(host: str, name: str, status: int) -> None:
    app = access(host=host, keys=(Key(KEY),))
    scope_headers = {"authorization": f"Bearer {KEY}"}

    async def renamed(scope: Any, receive: Any, send: Any) -> None:
        scope["headers"][0] = (b"host", name.encode())
        await app(scope, receive, send)

    assert ask(renamed, **scope_headers)[0] == status


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("POST", {}, 200),
        ("POST", {"content_length": "0"}, 200),
        ("POST", {"content_length": "2"}, 415),
        ("POST", {"content_length": "2", "content_type": "application/json"}, 200),
        ("POST", {"content_length": "2", "content_type": "Application/JSON ; charset=utf-8"}, 200),
        ("POST", {"content_length": "2", "content_type": "text/plain; application/json"}, 415),
        ("POST", {"transfer_encoding": "chunked"}, 415),
        ("GET", {"content_length": "2"}, 200),
    ],
)
def test_bodies_are_json(method: str, headers: dict[str, str], status: int) -> None:
    assert ask(access(), "/api/x", method, b"{}", **headers)[0] == status


def test_headers_are_added_to_those_of_the_application() -> None:
    settings = Settings(Path("model"), image_url="http://a.example/{image}")
    app = SecurityHeadersMiddleware(application, PictureService(settings))
    for path, cached in (("/", "no-cache"), ("/static/app.js", "no-cache"), ("/api/model", "no-store")):
        _, headers, _ = ask(app, path)
        assert (headers["cache-control"], headers["x-own"]) == (cached, "kept")
        assert "img-src 'self' data: http://a.example;" in headers["content-security-policy"]
    plain = SecurityHeadersMiddleware(application, PictureService(Settings(Path("model"))))
    assert "img-src 'self' data:;" in ask(plain)[1]["content-security-policy"]


@pytest.mark.parametrize(
    ("sizes", "status", "taken"),
    [((10,), 200, 1), ((5, 5), 200, 2), ((11,), 413, 1), ((5, 6), 413, 2), ((100, 100, 1, 1), 413, 3)],
)
def test_bodies_are_received_up_to_a_limit(sizes: tuple[int, ...], status: int, taken: int) -> None:
    pieces = [b"x" * size for size in sizes]
    left = len(pieces)
    app = LimitsMiddleware(application, Limits(body_bytes=10))

    async def counting(scope: Any, receive: Any, send: Any) -> None:
        async def count() -> Any:
            nonlocal left
            left -= 1
            return await receive()

        await app(scope, count, send)

    found, headers, body = ask(counting, "/", "POST", *pieces)
    assert found == status
    if status == 200:
        assert body == b"".join(pieces)
    else:
        assert headers["connection"] == "close"
        assert b"larger than 10 bytes" in body
        assert max(left, 0) == len(pieces) - taken


def test_a_client_that_waits_for_permission_is_refused_at_once() -> None:
    app = LimitsMiddleware(application, Limits(body_bytes=10))
    for length, status in (("10", 200), ("11", 413), ("many", 200)):
        assert ask(app, "/", "POST", expect="100-continue", content_length=length)[0] == status


def test_more_requests_at_once_than_allowed_are_refused() -> None:
    refusing, taking = (LimitsMiddleware(application, Limits(requests=most)) for most in (0, 1))
    status, headers, _ = ask(refusing)
    assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
    assert [ask(taking)[0] for _ in range(3)] == [200, 200, 200]


def test_an_error_of_the_application_is_answered() -> None:
    async def fail(*_: Any) -> None:
        raise ApiError(409, "no", {"X-Why": "so"})

    status, headers, body = ask(LimitsMiddleware(fail, Limits()))
    assert (status, headers["x-why"], body) == (409, "so", b'{"error":"no"}')


def test_a_request_that_ended_counts_once() -> None:
    """Otherwise more would be taken at once after each."""
    app = LimitsMiddleware(application, Limits(requests=1))
    assert ask(app)[0] == 200
    statuses: list[int] = []

    async def with_another(scope: Any, receive: Any, send: Any) -> None:
        async def meanwhile() -> Any:
            if not statuses:
                await app(scope, receive, note)
            return await receive()

        async def note(message: Any) -> None:
            statuses.append(message.get("status", 0))

        await app(scope, meanwhile, send)

    assert ask(with_another)[0] == 200
    assert statuses[0] == 503


def test_a_body_in_one_message_needs_no_word_of_its_end() -> None:
    app = LimitsMiddleware(application, Limits(body_bytes=10))

    async def one_message(scope: Any, receive: Any, send: Any) -> None:
        async def once() -> Any:
            return {"type": "http.request", "body": b"12345"}

        await app(scope, once, send)

    assert ask(one_message, "/", "POST") == (200, {"x-own": "kept"}, b"12345")


def test_a_declared_length_is_not_believed_without_need() -> None:
    """A client that sends everything first reads the refusal afterwards."""
    taken = []

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        async def note() -> Any:
            taken.append(await receive())
            return taken[-1]

        await LimitsMiddleware(application, Limits(body_bytes=10))(scope, note, send)

    assert ask(noting, "/", "POST", b"x" * 11, content_length="11")[0] == 413
    assert len(taken) == 2
