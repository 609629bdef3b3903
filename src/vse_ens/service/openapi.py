"""Descriptions, tags and error responses in /openapi.json."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse

from vse_ens.service.schemas import ErrorResponse

DESCRIPTION = """\
Suggests labels that images lack, learned from (image, label) pairs alone.

Image and label IDs may contain any character, so they are sent in bodies and query strings, never in paths. Numbers
are finite; a body with `NaN` is rejected. An error is `{"error": "one sentence"}`; for an unknown ID, `nearest` lists
similar ones. If the service was started with an API key, every call except `/health` and `/ready` needs it as
`Authorization: Bearer KEY`.
"""

TAGS = [
    {"name": "predict", "description": "Suggestions, search, similarity and explanations."},
    {"name": "rankings", "description": "Images for a label, and images to annotate next."},
    {"name": "catalog", "description": "The model, its labels and images, its audit and its map."},
    {"name": "feedback", "description": "Accepted and rejected labels. Events are never deleted; an undo is an event."},
    {"name": "rules", "description": "Aliases, renamed labels and implications, and the cleaned data set."},
    {"name": "label studio", "description": "The machine-learning backend API of Label Studio."},
    {"name": "operations", "description": "Health, readiness, metrics and reloading."},
]

_ERRORS = {
    400: "The body is not JSON.",
    401: "The API key is missing or wrong.",
    403: "Not allowed from this origin, or not enabled in this service.",
    404: "Unknown ID; `nearest` lists similar ones.",
    408: "The body arrived too slowly.",
    413: "The body is too large.",
    415: "The body is not declared as application/json.",
    422: "A field or parameter is invalid.",
    503: "The model is still loading, or the service is overloaded; retry after `Retry-After`.",
}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of the given error responses."""
    return {status: {"model": ErrorResponse, "description": _ERRORS[status]} for status in statuses}


def plain_text(description: str, examples: dict[str, str]) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of a response that is not JSON, with an example per media type."""
    content = {kind: {"schema": {"type": "string"}, "example": text} for kind, text in examples.items()}
    return {200: {"description": description, "content": content}}


def add_document(app: FastAPI) -> None:
    """Serve the document at /openapi.json. It needs no key, so it is encoded once and not per request."""

    @cache
    def encoded() -> bytes:
        return bytes(JSONResponse(app.openapi()).body)

    @app.get("/openapi.json", include_in_schema=False)
    async def document() -> Response:
        return Response(encoded(), media_type="application/json")


def document_key(app: FastAPI) -> None:
    """Document that every call needs the key, except those marked `NO_KEY`."""
    document = app.openapi()
    document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"key": []}]


NO_KEY: dict[str, Any] = {"security": []}
READING = errors(401, 403, 404, 422, 503)
WRITING = errors(400, 401, 403, 404, 408, 413, 415, 422, 503)
