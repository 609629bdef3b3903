"""The page."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

_FOLDER = Path(__file__).parents[1] / "static"


def add_page(app: FastAPI) -> None:
    """The page at /, and what it is made of below /static."""
    app.mount("/static", StaticFiles(directory=_FOLDER), name="static")

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(_FOLDER / "index.html")
