"""The page."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).parent / "static"


def page_router() -> APIRouter:
    """The page at /, and what it is made of below /static."""
    router = APIRouter(include_in_schema=False)
    router.mount("/static", StaticFiles(directory=FOLDER), name="static")

    @router.get("/")
    async def page() -> FileResponse:
        return FileResponse(FOLDER / "index.html")

    return router
