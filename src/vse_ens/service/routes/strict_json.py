"""Strict parsing of JSON bodies: no NaN, no invalid Unicode, limited nesting."""

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
            # FastAPI would replace the message of any other exception.
            raise HTTPException(400, f"the body is not JSON: {error}") from None


class StrictRoute(APIRoute):
    """A route that parses its body with pydantic's strict JSON parser."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's handler, called with a strict request."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return strict
