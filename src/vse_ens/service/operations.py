"""Operations: the signature of a handler decodes its requests, encodes its answers, and documents both."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter, iscoroutine, iscoroutinefunction, signature
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

import msgspec
from msgspec import NODEFAULT, Struct
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from vse_ens.data.feedback.verdicts import Feedback
from vse_ens.data.rules.store import RulesFile
from vse_ens.service.errors import ApiError
from vse_ens.service.keys import Key
from vse_ens.service.models import ServedModel
from vse_ens.service.state import Service

Handler = Callable[..., Any]
"""A function or a coroutine function that returns a `Struct` or a `Response`."""

READING = (401, 403, 404, 422, 503)
WRITING = (400, 401, 403, 404, 408, 413, 415, 422, 503)

_JSON = (b"content-type", b"application/json")
_FIELD = re.compile(r"Object (?P<problem>missing required|contains unknown) field `(?P<name>.*)`", re.DOTALL)
_TYPES = re.compile("`(.*?)`")
_WORDS = {
    "int": "an integer",
    "str": "a string",
    "float": "a number",
    "bool": "a boolean",
    "array": "an array",
    "object": "an object",
}
# Spellings of flags in a query, beside those of msgspec: true, false, 1 and 0.
_FLAGS = {"yes": "1", "on": "1", "y": "1", "t": "1", "no": "0", "off": "0", "n": "0", "f": "0"}
# What handlers are given beside the request, by type: each raises an `ApiError` if the service does not have it.
_GIVEN: dict[Any, Callable[[Scope], Any]] = {
    Service: lambda scope: _service(scope),
    ServedModel: lambda scope: _service(scope).models.current(),
    Feedback: lambda scope: _service(scope).require_feedback(),
    RulesFile: lambda scope: _service(scope).require_rules(),
    Key | None: lambda scope: scope.get("vse_key"),
}
_encode = msgspec.json.Encoder().encode


class Header(NamedTuple):
    """Marks a parameter as a header; one without a description is not documented."""

    name: str
    description: str = ""
    read: Callable[[str], str] = str


def encoded(answer: Struct, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer whose status or headers differ from those of its operation."""
    return Response(_encode(answer), status, headers, "application/json")


@dataclass(eq=False)
class Operation:
    """An ASGI application that answers one method of one path.

    Of the parameters of its handler, a `Struct` is the body, an annotated `Header` is a header, those with a type of
    `_GIVEN` come from the service, and every other one is part of the query. `LimitsMiddleware` has received the body
    completely. A handler that is not a coroutine runs on a thread of the executor of this name.
    """

    method: str
    path: str
    handler: Handler
    tag: str
    errors: tuple[int, ...]
    status: int = 200
    others: Mapping[int, type[Struct]] = field(default_factory=dict)
    """Answers with another status."""
    needs_key: bool = True
    executor: Literal["compute", "disk"] = "compute"

    def __post_init__(self) -> None:
        self._is_coroutine = iscoroutinefunction(self.handler)
        hints = get_type_hints(self.handler, include_extras=True)
        self.returns = hints.pop("return")
        self.body: type[Struct] | None = None
        self.headers: dict[str, Header] = {}
        self._body_name = ""
        self._given: dict[str, Callable[[Scope], Any]] = {}
        fields: list[tuple[str, Any, Any]] = []
        for name, parameter in signature(self.handler).parameters.items():
            hint = hints[name]
            if hint in _GIVEN:
                self._given[name] = _GIVEN[hint]
            elif isinstance(hint, type) and issubclass(hint, Struct):
                self.body, self._body_name = hint, name
                self._decode = msgspec.json.Decoder(hint).decode
            else:
                header = next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Header)), None)
                default = NODEFAULT if parameter.default is Parameter.empty else parameter.default
                alias = None if header is None else header.name
                if header is not None:
                    self.headers[header.name] = header
                fields.append((name, hint, msgspec.field(default=default, name=alias)))
        self.parameters = msgspec.defstruct(self.handler.__name__, fields, kw_only=True) if fields else None
        names = [name for name, _, one in fields if one.name is None]
        self._queries = set(names)
        self._lists = {name for name in names if get_origin(_bare(hints[name])) is list}
        self._flags = {name for name in names if _bare(hints[name]) is bool}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        arguments = {} if self.parameters is None else self._read_parameters(self.parameters, scope)
        if self.body is not None:
            arguments[self._body_name] = self._read_body(self.body, (await receive()).get("body", b""))
        for name, give in self._given.items():
            given = give(scope)
            arguments[name] = await given if iscoroutine(given) else given
        if self._is_coroutine:
            answer = await self.handler(**arguments)
        else:
            answer = await getattr(_service(scope), self.executor).run(self.handler, **arguments)
        if isinstance(answer, Response):
            await answer(scope, receive, send)
            return
        body = _encode(answer)
        headers = [(b"content-length", str(len(body)).encode()), _JSON]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _read_parameters(self, kind: type[Struct], scope: Scope) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for name, value in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True):
            if name in self._lists:
                given.setdefault(name, []).append(value)
            elif name in self._queries:
                given[name] = _FLAGS.get(value.lower(), value) if name in self._flags else value
        if self.headers:
            sent = Headers(scope=scope)
            given |= {name: one.read(sent[name]) for name, one in self.headers.items() if name in sent}
        try:
            return msgspec.structs.asdict(msgspec.convert(given, kind, strict=False))
        except msgspec.ValidationError as error:
            raise ApiError(422, _describe(error, kind, "query")) from None

    def _read_body(self, kind: type[Struct], body: bytes) -> Struct:
        if not body:
            raise ApiError(422, "body: field required")
        try:
            # As text, because msgspec does not check the bytes of fields that it ignores.
            return self._decode(body.decode())
        except (ValueError, RecursionError) as error:
            # A field may be wrong before the place where the text is no longer JSON.
            problem = _json_problem(body)
            if problem or not isinstance(error, msgspec.ValidationError):
                raise ApiError(400, f"the body is not JSON: {problem or error}") from None
            raise ApiError(422, _describe(error, kind, "body")) from None


class Operations(list[Operation]):
    """The operations of one topic, which is their tag in the document."""

    def __init__(self, tag: str) -> None:
        super().__init__()
        self._tag = tag

    def get(self, path: str, errors: tuple[int, ...] = READING, **how: Any) -> Callable[[Handler], Handler]:
        """Return a decorator that adds a handler of GET."""
        return self._adder("GET", path, errors=errors, **how)

    def post(self, path: str, errors: tuple[int, ...] = WRITING, **how: Any) -> Callable[[Handler], Handler]:
        """Return a decorator that adds a handler of POST."""
        return self._adder("POST", path, errors=errors, **how)

    def _adder(self, method: str, path: str, **how: Any) -> Callable[[Handler], Handler]:
        def add(handler: Handler) -> Handler:
            self.append(Operation(method, path, handler, tag=self._tag, **how))
            return handler

        return add


def _service(scope: Scope) -> Service:
    service: Service = scope["app"].state.service
    return service


def _bare(hint: Any) -> Any:
    """Return a type without its annotations."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _json_problem(body: bytes) -> str:
    """Return why a text is not JSON; empty if it is."""
    try:
        msgspec.json.decode(body.decode())
    except RecursionError:
        return "too many nested arrays and objects"
    except msgspec.ValidationError:  # a number that is too large
        return ""
    except ValueError as error:
        return _begin_lower(str(error).removeprefix("JSON is malformed: "))
    return ""


def _describe(error: msgspec.ValidationError, kind: type[Struct], source: str) -> str:
    """Return a validation error as a sentence that begins with the field: ``events.0.verdict: ...``."""
    message, _, path = str(error).partition(" - at `$")
    path = path.rstrip("`").replace("[", ".").replace("]", "").strip(".")
    if found := _FIELD.fullmatch(message):
        path = f"{path}.{found['name']}".strip(".")
        message = "field required" if found["problem"].startswith("missing") else "unknown field"
    if message.startswith("Expected"):
        message = _TYPES.sub(lambda found: " or ".join(_WORDS.get(one, one) for one in found[1].split(" | ")), message)
    if message.startswith("Invalid enum value"):
        choices = _choices(msgspec.inspect.type_info(kind), path.split("."))
        message = f"must be one of {choices}, got {message.removeprefix('Invalid enum value ')}"
    return f"{path or source}: {_begin_lower(message)}"


def _begin_lower(message: str) -> str:
    return message[:1].lower() + message[1:]


def _choices(kind: Any, path: list[str]) -> str:
    """Return the values that the field at a path may have."""
    for part in path:
        if isinstance(kind, msgspec.inspect.StructType):
            kind = next(one.type for one in kind.fields if one.encode_name == part)
        elif isinstance(kind, msgspec.inspect.ListType):
            kind = kind.item_type
        if isinstance(kind, msgspec.inspect.Metadata):
            kind = kind.type
    return ", ".join(map(str, kind.values))
