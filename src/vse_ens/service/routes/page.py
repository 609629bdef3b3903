"""The web page and its static files."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from vse_ens.service.bundle import SCRIPT, STYLE, make_bundle

_STATIC = Path(__file__).parents[1] / "static"


def page_routes() -> list[BaseRoute]:
    """Return the page at / with its modules as one script, and its files under /static."""
    html, script, style = make_bundle(_STATIC)
    return [
        _file("/", html, "text/html; charset=utf-8"),
        _file(f"/static/{SCRIPT}", script, "text/javascript; charset=utf-8"),
        _file(f"/static/{STYLE}", style, "text/css; charset=utf-8"),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]


def _file(path: str, text: str, kind: str) -> Route:
    body = text.encode()
    compressed = gzip.compress(body, mtime=0)
    headers = {"ETag": f'"{hashlib.sha256(body).hexdigest()[:16]}"', "Vary": "Accept-Encoding"}

    async def serve(request: Request) -> Response:
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            return Response(compressed, media_type=kind, headers={**headers, "Content-Encoding": "gzip"})
        return Response(body, media_type=kind, headers=headers)

    return Route(path, serve)
