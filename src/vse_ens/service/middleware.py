"""ASGI middleware, outermost first: security headers, access log, access control and limits."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from hmac import compare_digest
from time import perf_counter
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vse_ens.service.errors import INTERNAL_ERROR, ApiError, error_response
from vse_ens.service.keys import Key, find_key
from vse_ens.service.pictures import PictureService
from vse_ens.service.settings import Limits, Settings
from vse_ens.service.telemetry import ServiceMetrics

_log = logging.getLogger(__name__)
# Paths that need no key: they expose no data. Every other path needs it.
_PUBLIC_PATHS = ("/", "/health", "/ready", "/openapi.json")
_PUBLIC_PREFIX = "/static/"
# Calls with a body that only read; a key for reading allows no other.
_READING_POSTS = ("/api/annotate", "/api/search", "/api/explain", "/api/together")
_PICTURE, _CARD = "/api/picture", "/api/model"
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:]*)(:\d+)?", re.IGNORECASE)
_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}
# The rest of a rejected body is not awaited.
_CLOSE = {"Connection": "close"}
# A body larger than this many times the limit is not read to its end.
_DRAIN_FACTOR = 20


def _at_start(send: Send, change: Callable[[Message], None]) -> Send:
    """Return a `Send` that passes on the start of a response after a change."""

    async def send_changed(message: Message) -> None:
        if message["type"] == "http.response.start":
            change(message)
        await send(message)

    return send_changed


class SecurityHeadersMiddleware:
    """Adds headers that allow only the page's own scripts and styles, and that forbid caching of data."""

    def __init__(self, app: ASGIApp, pictures: PictureService) -> None:
        self._app = app
        self._pictures = pictures
        self._headers = [
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and add headers to its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Data changes with the model. The page's files change with the version only and are revalidated by ETag.
        is_page = scope["path"] == "/" or scope["path"].startswith("/static/")
        cache_control = (b"cache-control", b"no-cache" if is_page else b"no-store")
        policy = (b"content-security-policy", _policy(self._pictures.origins))

        def add_headers(message: Message) -> None:
            message["headers"] = [*message["headers"], policy, *self._headers]
            if not any(name.lower() == b"cache-control" for name, _ in message["headers"]):
                message["headers"].append(cache_control)

        await self._app(scope, receive, _at_start(send, add_headers))


@lru_cache(1)
def _policy(origins: frozenset[str]) -> bytes:
    images = " ".join(("'self'", "data:", *sorted(origins)))
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src {images}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ).encode()


class AccessLogMiddleware:
    """Logs one line per request, without IDs, and updates the metrics."""

    def __init__(self, app: ASGIApp, metrics: ServiceMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and record its status and duration."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        def record_status(message: Message) -> None:
            nonlocal status
            status = message["status"]

        start, recording = perf_counter(), _at_start(send, record_status)
        with self._metrics.in_flight.track_inprogress():
            try:
                await self._app(scope, receive, recording)
            except Exception:  # noqa: BLE001  # the outermost handler: the traceback is for the log, not the client
                _log.exception("a request failed")
                if not status:
                    await error_response(ApiError(500, INTERNAL_ERROR))(scope, receive, recording)
        seconds = perf_counter() - start
        # Only paths of routes: arbitrary ones would create endless metrics and could forge log lines.
        is_static = scope["path"].startswith("/static/")
        route = "/static" if is_static else scope["path"] if "endpoint" in scope else "(none)"
        self._metrics.requests.labels(route, str(status or "gone")).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        # One page view loads many files.
        level = logging.DEBUG if is_static else logging.INFO
        _log.log(level, "%s %s %s %.1f ms", scope["method"], route, status or "gone", 1e3 * seconds)


class AccessMiddleware:
    """Rejects requests with a foreign host name, from pages of other sites, or without the API key."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._keys = settings.keys
        self._limits = settings.limits
        own = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._hosts = _LOOPBACK | {own.lower()} if settings.is_loopback else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it is allowed."""
        if scope["type"] == "http":
            try:
                key = self._check(scope)
            except ApiError as error:
                await reject_request(error, self._limits, scope, receive, send)
                return
            if key is not None:
                scope["vse_key"] = key
                if key.name:
                    # In place of the user that the request names.
                    kept = [pair for pair in scope["headers"] if pair[0].lower() != b"x-vse-user"]
                    scope["headers"] = [*kept, (b"x-vse-user", quote(key.name).encode())]
                if scope["path"] == _CARD:
                    send = _at_start(send, partial(_add_cookie, key))
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> Key | None:
        headers = Headers(scope=scope)
        self._check_host(headers)
        path = scope["path"]
        if path in _PUBLIC_PATHS or path.startswith(_PUBLIC_PREFIX):
            return None
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            raise ApiError(403, "requests from pages of other sites are not allowed")
        key = self._check_key(headers, path, scope["method"])
        if scope["method"] == "POST":
            _check_content_type(headers)
        return key

    def _check_host(self, headers: Headers) -> None:
        """Check the host name: a foreign name that resolves here would let a foreign page read responses."""
        if len(headers.getlist("host")) > 1:  # a proxy may have checked the other one
            raise ApiError(400, "a request has one Host header")
        if self._hosts is None:
            return
        match = _HOST.fullmatch(headers.get("host", ""))
        if match is None or match[1].lower() not in self._hosts:
            raise ApiError(403, "this service responds to localhost only; use that name, or start it with --host")

    def _check_key(self, headers: Headers, path: str, method: str) -> Key | None:
        if not self._keys:
            return None
        given = _given_key(headers.get("authorization", ""), allow_basic=not path.startswith("/api/"))
        key = find_key(self._keys, given)
        if key is None and path == _PICTURE and method == "GET":
            key = self._key_of_cookie(headers)
        if key is None:
            message = "the API key is missing or wrong; send it as Authorization: Bearer KEY"
            raise ApiError(401, message, {"WWW-Authenticate": "Bearer"})
        reads = method in ("GET", "HEAD") or (method == "POST" and path in _READING_POSTS)
        if key.read_only and not reads:
            raise ApiError(403, "this API key is for reading only; use one of --api-key-file")
        return key

    def _key_of_cookie(self, headers: Headers) -> Key | None:
        cookies = cookie_parser(headers.get("cookie", ""))
        for key in self._keys:
            name, value = key.picture_cookie
            if compare_digest(cookies.get(name, "").encode(), value.encode()):
                return key
        return None


def _add_cookie(key: Key, message: Message) -> None:
    """Give the browser the cookie for pictures, with the path of this call."""
    cookie = "{}={}; HttpOnly; SameSite=Strict".format(*key.picture_cookie)
    message["headers"] = [*message["headers"], (b"set-cookie", cookie.encode())]


def _given_key(authorization: str, allow_basic: bool) -> str:
    """Return the key of a request; Label Studio, whose paths are outside /api, sends it as a basic-auth password."""
    scheme, _, rest = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if allow_basic and scheme.lower() == "basic":
        try:
            return base64.b64decode(rest, validate=True).decode("utf-8").partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""


def _check_content_type(headers: Headers) -> None:
    """Require JSON: a form on another site can send a body, but not with this content type."""
    empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
    if not empty and headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ApiError(415, "send the body with Content-Type: application/json")


class _ClientGone(Exception):  # noqa: N818  # not an error of the service
    """The client disconnected."""


class LimitsMiddleware:
    """Reads a body completely before passing it on, so that a slow client occupies no thread."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it is within the limits."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._open += 1
        try:
            body = await self._read_body(scope, receive)
            await self._app(scope, _replay(body, receive), send)
        except ApiError as error:
            await error_response(error)(scope, receive, send)
        except _ClientGone:
            pass
        finally:
            self._open -= 1

    async def _read_body(self, scope: Scope, receive: Receive) -> bytes:
        if self._open > self._limits.requests:
            message = f"more than {self._limits.requests} concurrent requests; try again soon"
            raise ApiError(503, message, {"Retry-After": "1", **_CLOSE})
        headers = Headers(scope=scope)
        declared = headers.get("content-length", "")
        if "expect" in headers and declared.isdigit():
            self._check_size(int(declared))  # the client waits for permission before it sends the body
        try:
            body, size = await _receive(receive, self._limits, self._limits.body_bytes)
        except TimeoutError:
            raise ApiError(408, f"the body did not arrive within {self._limits.receive_seconds:g} s", _CLOSE) from None
        self._check_size(size)
        return body

    def _check_size(self, size: int) -> None:
        if size > self._limits.body_bytes:
            raise ApiError(413, f"the body is larger than {self._limits.body_bytes:,} bytes; split the request", _CLOSE)


async def reject_request(error: ApiError, limits: Limits, scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with an error before the body is used: it is discarded, and the connection is closed."""
    # A client that expects permission to send its body would get it from `receive`.
    if "expect" not in Headers(scope=scope):
        with suppress(TimeoutError, _ClientGone):
            await _receive(receive, limits, keep=0)
    headers = {**(error.headers or {}), **_CLOSE}
    await error_response(ApiError(error.status, error.message, headers))(scope, receive, send)


async def _receive(receive: Receive, limits: Limits, keep: int) -> tuple[bytes, int]:
    """Receive a body and its size; of a body larger than ``keep`` only the size is correct."""
    chunks: list[bytes] = []
    size, more = 0, True
    async with asyncio.timeout(limits.receive_seconds):
        # Most clients read the response only after they have sent everything, so the excess is received, too.
        while more and size <= _DRAIN_FACTOR * limits.body_bytes:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _ClientGone
            chunk = message.get("body", b"")
            size, more = size + len(chunk), message.get("more_body", False)
            if size <= keep:
                chunks.append(chunk)
    return b"".join(chunks), size


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `Receive` that gives the body once, then the server's own messages such as a disconnect."""
    body_sent = False

    async def replay() -> Message:
        nonlocal body_sent
        if body_sent:
            return await receive()
        body_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
