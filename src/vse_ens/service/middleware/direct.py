"""The most frequent call without the framework, whose routing and dependencies take longer than the suggestions."""

from __future__ import annotations

from typing import NamedTuple

from pydantic_core import from_json
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vse_ens.errors import VseError
from vse_ens.service.models import ModelManager
from vse_ens.service.schemas import AnnotateRequest
from vse_ens.service.suggest import Encoded, annotate_if_fast
from vse_ens.service.telemetry import ServiceMetrics

_JSON = (b"content-type", b"application/json")


class _Route(NamedTuple):
    """What the access log reads of a route."""

    path: str


_ANNOTATE = _Route("/api/annotate")


class DirectMiddleware:
    """Answers suggestions for one image. Every other request, and each that fails, is answered by the routes.

    `vse_ens.service.middleware.limits.LimitsMiddleware` must be outside it: the body has been received completely.
    """

    def __init__(self, app: ASGIApp, models: ModelManager, metrics: ServiceMetrics) -> None:
        self._app = app
        self._models = models
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http" or scope["path"] != _ANNOTATE.path or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        received = await receive()
        encoded = self._annotate(received.get("body", b""))
        if encoded is None:
            await self._app(scope, _first(received, receive), send)
            return
        scope["route"] = _ANNOTATE
        self._metrics.suggestions.inc(encoded.suggestions)
        headers = [(b"content-length", str(len(encoded.body)).encode()), _JSON]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": encoded.body})

    def _annotate(self, body: bytes) -> Encoded | None:
        served = self._models.loaded
        if served is None:
            return None
        try:
            request = AnnotateRequest.model_validate(from_json(body, allow_inf_nan=False))
            # An unknown ID is for the route, which searches for similar ones on a worker thread.
            return annotate_if_fast(served, request)
        except (ValueError, VseError):
            return None  # the route finds the same error and describes it


def _first(message: Message, receive: Receive) -> Receive:
    """Return a `Receive` that gives a message that was received already, then the others."""
    waiting = [message]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
