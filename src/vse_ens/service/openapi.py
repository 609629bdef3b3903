"""What /openapi.json says beside the schemas."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from vse_ens.service.schemas import Refused

DESCRIPTION = """\
Suggests labels that images lack, learnt from nothing but which image has which labels.

Ids of images and labels may hold any character, so they travel in bodies and query strings, never in paths. Numbers
are finite; a body with `NaN` is refused. An error is `{"error": "one sentence"}`, for an unknown id with the `nearest`
known ones. Where the service was started with an API key, every call but `/health` and `/ready` needs it as
`Authorization: Bearer KEY`.
"""

TAGS = [
    {"name": "asking", "description": "Suggestions, search, what is like what, and why."},
    {"name": "browsing", "description": "The model, its labels and images, its audit and its map."},
    {"name": "judging", "description": "What people accept and reject; events are kept for good, undo is one too."},
    {"name": "label studio", "description": "The machine-learning back end of Label Studio, in its published form."},
    {"name": "operating", "description": "For those who run the service."},
]

_ERRORS = {
    400: "The body is not JSON.",
    401: "The API key is missing or wrong.",
    403: "Not from here, or not in this service.",
    404: "An id is not known; the nearest that are.",
    408: "The body came too slowly.",
    413: "The body is too large.",
    415: "The body is not declared as application/json.",
    422: "A field or parameter is not what it should be.",
    503: "The model is still being loaded, or too much is asked at once; `Retry-After` says when to try again.",
}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals a route may answer with."""
    return {status: {"model": Refused, "description": _ERRORS[status]} for status in statuses}


def plain_text(description: str, examples: dict[str, str]) -> dict[int | str, dict[str, Any]]:
    """An answer that is not JSON: what it looks like, by media type."""
    content = {kind: {"schema": {"type": "string"}, "example": text} for kind, text in examples.items()}
    return {200: {"description": description, "content": content}}


def document_key(app: FastAPI) -> None:
    """Say that every call needs the key, but those that say otherwise."""
    document = app.openapi()
    document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"key": []}]


NO_KEY: dict[str, Any] = {"security": []}
READING = errors(401, 403, 404, 422, 503)
WRITING = errors(400, 401, 403, 404, 408, 413, 415, 422, 503)
