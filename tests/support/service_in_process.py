"""An application and its client on one event loop, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import httpx
from starlette.applications import Starlette

from vse_ens.service.app import create_app
from vse_ens.service.settings import Settings
from vse_ens.service.state import Service

Result = TypeVar("Result")


class Client:
    """Asks and waits; a failure inside the application is an answer, as it would be over a socket."""

    def __init__(self, settings: Settings, headers: dict[str, str] | None = None) -> None:
        self.app: Starlette = create_app(settings)
        self.service: Service = self.app.state.service
        self._runner = asyncio.Runner()
        self._life = self.app.router.lifespan_context(self.app)
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app, raise_app_exceptions=False),
            base_url="http://127.0.0.1:8765",
            headers=headers,
        )
        self.run(self._begin())

    async def _begin(self) -> None:
        await self._life.__aenter__()
        await self.service.start()  # what was begun: the model is there afterwards

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Do something on the loop of the application."""
        return self._runner.run(work)

    def get(self, path: str, **how: Any) -> httpx.Response:
        return self.run(self.http.get(path, **how))

    def post(self, path: str, **how: Any) -> httpx.Response:
        return self.run(self.http.post(path, **how))

    def close(self) -> None:
        self.run(self.http.aclose())
        self.run(self._life.__aexit__(None, None, None))
        self._runner.close()
