"""Access control by host name, origin and API key."""

from __future__ import annotations

import base64
import binascii
import re
from hmac import compare_digest

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from vse_ens.service.errors import ApiError
from vse_ens.service.middleware.limits import reject_request
from vse_ens.service.settings import Settings

# Paths that need no key: they expose no data. Every other path needs it.
_PUBLIC_PATHS = ("/", "/health", "/ready", "/openapi.json")
_PUBLIC_PREFIX = "/static/"
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:]*)(:\d+)?", re.IGNORECASE)
_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}


class AccessMiddleware:
    """Rejects requests with a foreign host name, from pages of other sites, or without the API key."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._key = settings.api_key
        self._limits = settings.limits
        own = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._hosts = _LOOPBACK | {own.lower()} if settings.is_loopback else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it is allowed."""
        if scope["type"] == "http":
            try:
                self._check(scope)
            except ApiError as error:
                await reject_request(error, self._limits, scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        self._check_host(headers)
        path = scope["path"]
        if path in _PUBLIC_PATHS or path.startswith(_PUBLIC_PREFIX):
            return
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            raise ApiError(403, "requests from pages of other sites are not allowed")
        self._check_key(headers, path)
        if scope["method"] == "POST":
            _check_content_type(headers)

    def _check_host(self, headers: Headers) -> None:
        """Check the host name: a foreign name that resolves here would let a foreign page read responses."""
        if self._hosts is None:
            return
        match = _HOST.fullmatch(headers.get("host", ""))
        if match is None or match[1].lower() not in self._hosts:
            raise ApiError(403, "this service responds to localhost only; use that name, or start it with --host")

    def _check_key(self, headers: Headers, path: str) -> None:
        if self._key is None:
            return
        given = _given_key(headers.get("authorization", ""), allow_basic=not path.startswith("/api/"))
        if not compare_digest(given.encode(), self._key.encode()):
            message = "the API key is missing or wrong; send it as Authorization: Bearer KEY"
            raise ApiError(401, message, {"WWW-Authenticate": "Bearer"})


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
