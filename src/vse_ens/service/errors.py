"""Error responses: one sentence of JSON, never a traceback."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, UnsetType
from msgspec.json import encode
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ExceptionHandler

from vse_ens.errors import ConfigError, UnknownIdError, VseError
from vse_ens.service.schemas import ErrorResponse

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


def error_response(error: Exception) -> Response:
    """Convert an error that was raised on purpose to a response."""
    headers: Mapping[str, str] | None = None
    nearest: list[str] | UnsetType = UNSET
    if isinstance(error, ApiError):
        status, message, headers = error.status, error.message, error.headers
    elif isinstance(error, HTTPException):
        status, headers = error.status_code, error.headers
        message = _HTTP_MESSAGES.get(status, str(error.detail))
    elif isinstance(error, UnknownIdError):
        status, message, nearest = 404, str(error), list(error.nearest)
    else:
        # A ConfigError is the client's fault; any other error is a problem of the service.
        status, message = 422 if isinstance(error, ConfigError) else 503, str(error)
    return Response(encode(ErrorResponse(error=message, nearest=nearest)), status, headers, "application/json")


async def _handle(_: Request, error: Exception) -> Response:
    return error_response(error)


HANDLERS: dict[type[Exception], ExceptionHandler] = dict.fromkeys((ApiError, HTTPException, VseError), _handle)
"""How the application answers errors."""
