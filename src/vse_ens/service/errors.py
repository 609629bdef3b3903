"""Answers to requests that cannot be served: one sentence of JSON, never a trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from vse_ens.errors import ConfigError, UnknownIdError, VseError

OURS = "the service failed in a way it should not; its log says how"


class ApiError(Exception):  # noqa: N818  # what it is; nothing went wrong
    """A status and a sentence for the client."""

    def __init__(self, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = headers


def unavailable(sentence: str) -> ApiError:
    """Not now; soon."""
    return ApiError(503, sentence, {"Retry-After": "1"})


def refusal_response(refusal: ApiError) -> JSONResponse:
    """What the client gets."""
    return JSONResponse({"error": refusal.sentence}, refusal.status, refusal.headers)


def add_refusals(app: FastAPI) -> None:
    """Let every error that the application raises on purpose become such an answer."""

    @app.exception_handler(ApiError)
    async def refused(_: Request, error: ApiError) -> JSONResponse:
        return refusal_response(error)

    @app.exception_handler(UnknownIdError)
    async def unknown(_: Request, error: UnknownIdError) -> JSONResponse:
        return JSONResponse({"error": str(error), "nearest": list(error.nearest)}, 404)

    @app.exception_handler(VseError)
    async def failed(_: Request, error: VseError) -> JSONResponse:
        # A ConfigError is about what was asked; any other says why it cannot be had at all.
        return JSONResponse({"error": str(error)}, 422 if isinstance(error, ConfigError) else 503)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"error": _sentence(error.errors())}, 422)

    @app.exception_handler(HTTPException)
    async def plain(_: Request, error: HTTPException) -> JSONResponse:
        sentence = {404: "there is nothing at this address", 405: "this address takes another method"}
        return JSONResponse(
            {"error": sentence.get(error.status_code, str(error.detail))}, error.status_code, error.headers
        )


def _sentence(errors: Sequence[Any]) -> str:
    """The first of pydantic's complaints."""
    first = errors[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    message = str(first["msg"]).removeprefix("Value error, ")
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{where}: {message[:1].lower()}{message[1:]}{more}"
