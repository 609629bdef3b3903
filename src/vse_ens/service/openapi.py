"""The document at /openapi.json, made from the operations and their types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from inspect import getdoc
from typing import Any, get_args

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vse_ens import __version__
from vse_ens.service.operations import Header, Operation
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
    {"name": "catalog", "description": "The model, its labels and images, and its audit."},
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
_REF = "#/components/schemas/{name}"


def plain_text(description: str, examples: Mapping[str, str]) -> dict[int, dict[str, Any]]:
    """Return the documentation of a response that is not JSON, with an example per media type."""
    content = {kind: {"schema": {"type": "string"}, "example": text} for kind, text in examples.items()}
    return {200: {"description": description, "content": content}}


def document_route(operations: Iterable[Operation], *, with_key: bool) -> Route:
    """Return the route of the document. It needs no key, so it is encoded once and not per request."""

    @cache
    def body() -> bytes:
        return msgspec.json.encode(make_document(operations, with_key=with_key))

    async def document(_: Request) -> Response:
        return Response(body(), media_type="application/json")

    return Route("/openapi.json", document)


def make_document(operations: Iterable[Operation], *, with_key: bool) -> dict[str, Any]:
    """Return the document; ``with_key`` says that every call needs a key, except those that do without."""
    paths: dict[str, dict[str, Any]] = {}
    kinds: list[type[Struct]] = [ErrorResponse]
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
        answers = (how["model"] for how in one.responses.values() if "model" in how)
        kinds += [kind for kind in (one.body, *_structs(one.returns), *answers) if kind is not None]
    _, schemas = msgspec.json.schema_components(kinds, ref_template=_REF)
    components: dict[str, Any] = {"schemas": schemas}
    if with_key:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "vse-ens",
            "summary": "Labels that images lack.",
            "description": DESCRIPTION,
            "version": __version__,
        },
        "paths": paths,
        "components": components,
        "tags": TAGS,
        **({"security": [{"key": []}]} if with_key else {}),
    }


def _operation(one: Operation) -> dict[str, Any]:
    name = one.handler.__name__
    documented: dict[str, Any] = {
        "tags": [one.tag],
        "summary": name.replace("_", " ").title(),
        "description": getdoc(one.handler),
        "operationId": re.sub(r"\W", "_", f"{name}{one.path}_{one.method.lower()}"),
    }
    if not one.needs_key:
        documented["security"] = []
    if one.parameters is not None:
        documented["parameters"] = _parameters(one.parameters, one.headers)
    if one.body is not None:
        examples = {about: {"value": body} for about, body in one.examples.items()}
        content = {"schema": _schema(one.body), **({"examples": examples} if examples else {})}
        documented["requestBody"] = {"content": {"application/json": content}, "required": True}
    structs = _structs(one.returns)
    responses: dict[int, Any] = {}
    if structs:
        schemas = [*map(_schema, structs)]
        responses[one.status] = _response(
            "Successful Response", schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        )
    for status in one.errors:
        responses[status] = _response(_ERRORS[status], _schema(ErrorResponse))
    for status, how in one.responses.items():
        found = responses.setdefault(status, {})
        found |= {key: value for key, value in how.items() if key != "model"}
        if "model" in how:
            found |= _response(how["description"], _schema(how["model"]))
    documented["responses"] = {str(status): responses[status] for status in sorted(responses)}
    return documented


def _parameters(kind: type[Struct], headers: Mapping[str, Header]) -> list[dict[str, Any]]:
    schema = msgspec.json.schema(kind)["$defs"][kind.__name__]
    parameters = []
    for name, found in schema["properties"].items():
        header = headers.get(name)
        if header is not None and not header.description:
            continue
        description = found.get("description") if header is None else header.description
        parameters.append(
            {
                "name": name,
                "in": "query" if header is None else "header",
                "required": name in schema["required"],
                "schema": found,
                **({"description": description} if description else {}),
            }
        )
    return parameters


def _structs(returned: Any) -> list[type[Struct]]:
    """Return the types of answers with a schema; a `Response` has none."""
    return [kind for kind in get_args(returned) or (returned,) if issubclass(kind, Struct)]


def _schema(kind: type[Struct]) -> dict[str, str]:
    return {"$ref": _REF.format(name=kind.__name__)}


def _response(description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
