"""Security and cache headers of every response."""

from __future__ import annotations

from functools import lru_cache

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vse_ens.service.pictures import PictureService


class SecurityHeadersMiddleware:
    """Adds headers that allow only the page's own scripts and styles, and that forbid caching of data."""

    def __init__(self, app: ASGIApp, pictures: PictureService) -> None:
        self._app = app
        self._pictures = pictures
        headers = {
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
        }
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and add headers to its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Data changes with the model. The page's files change with the version only and are revalidated by ETag.
        is_page = scope["path"] == "/" or scope["path"].startswith("/static/")
        cache_control = (b"cache-control", b"no-cache" if is_page else b"no-store")
        policy = (b"content-security-policy", _policy(self._pictures.origins))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], policy, *self._headers]
                if not any(name.lower() == b"cache-control" for name, _ in message["headers"]):
                    message["headers"].append(cache_control)
            await send(message)

        await self._app(scope, receive, send_with_headers)


@lru_cache(1)
def _policy(origins: frozenset[str]) -> bytes:
    images = " ".join(("'self'", "data:", *sorted(origins)))
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src {images}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ).encode()
