"""Operations: health, readiness, metrics and reloading the model."""

from __future__ import annotations

from typing import Annotated

from starlette.responses import Response

from vse_ens.errors import VseError
from vse_ens.service.errors import ApiError, unavailable
from vse_ens.service.models import STILL_LOADING
from vse_ens.service.operations import Header, Operations
from vse_ens.service.schemas import HealthResponse, ReadyResponse, ReloadResponse
from vse_ens.service.state import Service

_TEXT = "text/plain; version=0.0.4; charset=utf-8"

operations = Operations("operations")


@operations.get("/health", errors=(), needs_key=False)
async def health() -> HealthResponse:
    """Report that the process is running; Label Studio calls this too."""
    return HealthResponse()


@operations.get("/ready", errors=(503,), needs_key=False)
async def ready(service: Service) -> ReadyResponse:
    """Report whether a model is loaded."""
    if service.models.loaded is None:
        raise unavailable(service.models.failure or STILL_LOADING)
    return ReadyResponse(model=service.models.loaded.fingerprint)


@operations.get("/metrics", errors=(401,))
async def metrics(service: Service) -> Response:
    """Return metrics for Prometheus."""
    return Response(service.metrics.text(), media_type=_TEXT)


@operations.post("/api/reload", errors=(401, 403, 422, 503))
async def reload(
    service: Service,
    confirmation: Annotated[
        str,
        Header(
            "X-VSE-Reload",
            "`yes`, required if the service has no key: a page of another site cannot send it.",
        ),
    ] = "",
) -> ReloadResponse:
    """Load the model directory again and swap the model; requests in progress keep the old one.

    If it cannot be loaded, the old model stays and the response gives the reason.
    """
    if not service.settings.keys and confirmation != "yes":
        raise ApiError(403, "send the header X-VSE-Reload: yes to reload the model")
    try:
        return ReloadResponse(model=(await service.models.load()).fingerprint)
    except VseError as error:
        raise ApiError(503, f"still serving the old model: {error}") from error
