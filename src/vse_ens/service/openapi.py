"""The document at /openapi.json, made from the operations and their types."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from inspect import getdoc
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vse_ens import __version__
from vse_ens.service.operations import Header, Operation
from vse_ens.service.schemas import ErrorResponse

_REF = "#/components/schemas/{name}"


@cache
def _fixed() -> dict[str, Any]:
    """Return what does not follow from the operations: descriptions, examples, and responses that are not JSON."""
    return tomllib.loads(Path(__file__).with_name("openapi.toml").read_text(encoding="utf-8"))


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
        kinds += [kind for kind in (one.body, *_structs(one.returns), *one.others.values()) if kind is not None]
    _, schemas = msgspec.json.schema_components(kinds, ref_template=_REF)
    components: dict[str, Any] = {"schemas": schemas}
    if with_key:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "vse-ens",
            "summary": "Labels that images lack.",
            "description": _fixed()["description"],
            "version": __version__,
        },
        "paths": paths,
        "components": components,
        "tags": _fixed()["tags"],
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
        examples = {about: {"value": body} for about, body in _fixed()["examples"].get(one.path, {}).items()}
        content = {"schema": _schema(one.body), **({"examples": examples} if examples else {})}
        documented["requestBody"] = {"content": {"application/json": content}, "required": True}
    structs = _structs(one.returns)
    responses: dict[int, Any] = {}
    if structs:
        schemas = [*map(_schema, structs)]
        responses[one.status] = _response(
            "Successful Response", schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        )
    kinds: dict[int, type[Struct]] = {**dict.fromkeys(one.errors, ErrorResponse), **one.others}
    for status, kind in kinds.items():
        responses[status] = _response(_fixed()["statuses"][str(status)], _schema(kind))
    for status_text, fixed in _fixed()["responses"].get(one.path, {}).items():
        responses.setdefault(int(status_text), {}).update(fixed)
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
