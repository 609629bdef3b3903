"""Bodies are read by pydantic's own parser: no NaN, no half characters, an end to nesting."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json


class _StrictRequest(Request):
    async def json(self) -> Any:
        try:
            return from_json(await self.body(), allow_inf_nan=False)
        except ValueError as error:
            # FastAPI would put a sentence of its own in the place of any other exception.
            raise HTTPException(400, f"the body is not JSON: {error}") from None


class StrictRoute(APIRoute):
    """A route whose body is JSON as the standard has it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's own, given such a request."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return strict
