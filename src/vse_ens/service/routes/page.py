"""The web page and its static files."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

_STATIC = Path(__file__).parents[1] / "static"


def add_page(app: FastAPI) -> None:
    """Serve the page at / and its files under /static."""
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(_STATIC / "index.html")
