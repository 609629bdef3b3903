"""Access control by host name, origin and API key."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from hmac import compare_digest
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vse_ens.service.errors import ApiError
from vse_ens.service.keys import Key, find_key
from vse_ens.service.middleware.limits import reject_request
from vse_ens.service.settings import Settings

# Paths that need no key: they expose no data. Every other path needs it.
_PUBLIC_PATHS = ("/", "/health", "/ready", "/openapi.json")
_PUBLIC_PREFIX = "/static/"
# Calls with a body that only read; a key for reading allows no other.
_READING_POSTS = ("/api/annotate", "/api/search", "/api/explain", "/api/questions", "/api/together")
_PICTURE, _CARD = "/api/picture", "/api/model"
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:]*)(:\d+)?", re.IGNORECASE)
_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}


class AccessMiddleware:
    """Rejects requests with a foreign host name, from pages of other sites, or without the API key."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._keys = settings.all_keys
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
                    scope["headers"] = _with_user(scope["headers"], key.name)
                if scope["path"] == _CARD:
                    send = _send_cookie(send, key)
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


def _with_user(headers: Iterable[tuple[bytes, bytes]], name: str) -> list[tuple[bytes, bytes]]:
    """Replace the user that a request names by the name of its key."""
    kept = [(one, value) for one, value in headers if one.lower() != b"x-vse-user"]
    return [*kept, (b"x-vse-user", quote(name).encode())]


def _send_cookie(send: Send, key: Key) -> Send:
    """Return a `Send` that gives the browser the cookie for pictures, with the path of this call."""
    name, value = key.picture_cookie
    cookie = f"{name}={value}; HttpOnly; SameSite=Strict".encode()

    async def send_with_cookie(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (b"set-cookie", cookie)]
        await send(message)

    return send_with_cookie


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
