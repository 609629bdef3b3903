"""Error responses: one sentence of JSON, never a traceback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from vse_ens.errors import ConfigError, UnknownIdError, VseError

INTERNAL_ERROR = "internal error; see the log of the service"

_HTTP_MESSAGES = {
    404: "this address does not exist",
    405: "this address does not accept this method",
}


class ApiError(Exception):
    """A request that fails with a status and a message for the client."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


def unavailable(message: str) -> ApiError:
    """Return a 503 error with ``Retry-After``."""
    return ApiError(503, message, {"Retry-After": "1"})


def error_response(error: ApiError) -> JSONResponse:
    """Convert an error to a response."""
    return JSONResponse({"error": error.message}, error.status, error.headers)


def add_error_handlers(app: FastAPI) -> None:
    """Convert every error raised on purpose to an error response."""

    @app.exception_handler(ApiError)
    async def api_error(_: Request, error: ApiError) -> JSONResponse:
        return error_response(error)

    @app.exception_handler(UnknownIdError)
    async def unknown_id(_: Request, error: UnknownIdError) -> JSONResponse:
        return JSONResponse({"error": str(error), "nearest": list(error.nearest)}, 404)

    @app.exception_handler(VseError)
    async def vse_error(_: Request, error: VseError) -> JSONResponse:
        # A ConfigError is the client's fault; any other error is a problem of the service.
        return JSONResponse({"error": str(error)}, 422 if isinstance(error, ConfigError) else 503)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"error": _first_message(error.errors())}, 422)

    @app.exception_handler(HTTPException)
    async def http_error(_: Request, error: HTTPException) -> JSONResponse:
        message = _HTTP_MESSAGES.get(error.status_code, str(error.detail))
        return JSONResponse({"error": message}, error.status_code, error.headers)


def _first_message(errors: Sequence[Any]) -> str:
    """Return the first of pydantic's validation errors as a sentence."""
    first = errors[0]
    field = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    message = str(first["msg"]).removeprefix("Value error, ")
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{field}: {message[:1].lower()}{message[1:]}{more}"
