"""Who may ask what from where, and what a browser is told about the answers."""

from __future__ import annotations

import base64
import binascii
import re
from hmac import compare_digest

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vse_ens.service.errors import ApiError, refusal_response
from vse_ens.service.settings import Settings

# All that may be had without the key: nothing of the data. What is not listed needs it.
_OPEN = ("/", "/health", "/ready", "/openapi.json")
_OPEN_BELOW = "/static/"
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:]*)(:\d+)?", re.IGNORECASE)
_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}


class AccessMiddleware:
    """Lets in who may ask: from this machine, not from the page of another site, with the key where there is one."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._key = settings.api_key
        own = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._hosts = _LOOPBACK | {own.lower()} if settings.loopback else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it may be served."""
        if scope["type"] == "http":
            try:
                self._check(scope)
            except ApiError as refusal:
                await refusal_response(refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        self._check_host(headers)
        path = scope["path"]
        if path in _OPEN or path.startswith(_OPEN_BELOW):
            return
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            raise ApiError(403, "a page of another site may not ask this service")
        self._check_key(headers, path)
        if scope["method"] == "POST":
            _check_type(headers)

    def _check_host(self, headers: Headers) -> None:
        """A name of someone else's that leads here would let a page of theirs read the answers."""
        if self._hosts is None:
            return
        named = _HOST.fullmatch(headers.get("host", ""))
        if named is None or named[1].lower() not in self._hosts:
            raise ApiError(403, "this service answers to localhost only; ask it by that name, or give it a --host")

    def _check_key(self, headers: Headers, path: str) -> None:
        if self._key is None:
            return
        given = _given_key(headers.get("authorization", ""), basic=not path.startswith("/api/"))
        if not compare_digest(given.encode(), self._key.encode()):
            sentence = "the API key is missing or wrong; send it as Authorization: Bearer KEY"
            raise ApiError(401, sentence, {"WWW-Authenticate": "Bearer"})


def _given_key(authorization: str, basic: bool) -> str:
    """The key of a request; Label Studio, outside /api, sends it as the password of a user."""
    scheme, _, rest = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if basic and scheme.lower() == "basic":
        try:
            return base64.b64decode(rest, validate=True).decode("utf-8").partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""


def _check_type(headers: Headers) -> None:
    """A form of another site can send a body, but not of this type."""
    empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
    if not empty and headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ApiError(415, "send the body as Content-Type: application/json")


class SecurityHeadersMiddleware:
    """Tells browsers to run only our own scripts, show only our own styles, and to keep answers to themselves."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        images = " ".join(filter(None, ("'self'", "data:", settings.image_origin)))
        policy = (
            f"default-src 'none'; script-src 'self'; style-src 'self'; img-src {images}; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        headers = {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
        }
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and add to the head of its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Answers change with the model; files of the page with the version, which its etag tells.
        kept = b"no-cache" if scope["path"].startswith(_OPEN_BELOW) or scope["path"] == "/" else b"no-store"

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers, (b"cache-control", kept)]
            await send(message)

        await self._app(scope, receive, headed)
