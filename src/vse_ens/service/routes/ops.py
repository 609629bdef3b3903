"""Operations: health, readiness, metrics and reloading the model."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response

from vse_ens.errors import VseError
from vse_ens.service.errors import ApiError, unavailable
from vse_ens.service.models import STILL_LOADING
from vse_ens.service.openapi import NO_KEY, errors, plain_text
from vse_ens.service.schemas import HealthResponse, ReadyResponse, ReloadResponse
from vse_ens.service.state import Service

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_METRICS = plain_text("Metrics in Prometheus text format.", {"text/plain": "vse_suggestions_total 20.0\n"})


def ops_router(service: Service) -> APIRouter:
    """Return the operations routes; none of them waits for a model."""
    router = APIRouter(tags=["operations"])
    models = service.models

    # Probes of load balancers use HEAD.
    @router.head("/health", include_in_schema=False)
    @router.get("/health", openapi_extra=NO_KEY)
    async def health() -> HealthResponse:
        """Report that the process is running; Label Studio calls this too."""
        return HealthResponse()

    @router.head("/ready", include_in_schema=False)
    @router.get("/ready", responses=errors(503), openapi_extra=NO_KEY)
    async def ready() -> ReadyResponse:
        """Report whether a model is loaded."""
        if models.loaded is None:
            raise unavailable(models.failure or STILL_LOADING)
        return ReadyResponse(model=models.loaded.fingerprint)

    @router.get("/metrics", response_class=Response, responses=errors(401) | _METRICS)
    async def metrics() -> Response:
        """Return metrics for Prometheus."""
        return Response(service.metrics.text(), media_type=_TEXT)

    @router.post("/api/reload", responses=errors(401, 403, 422, 503))
    async def reload(
        confirmation: Annotated[
            str,
            Header(
                alias="X-VSE-Reload",
                description="`yes`, required if the service has no key: a page of another site cannot send it.",
            ),
        ] = "",
    ) -> ReloadResponse:
        """Load the model directory again and swap the model; requests in progress keep the old one.

        If it cannot be loaded, the old model stays and the response gives the reason.
        """
        if not service.settings.all_keys and confirmation != "yes":
            raise ApiError(403, "send the header X-VSE-Reload: yes to reload the model")
        try:
            return ReloadResponse(model=(await models.load()).fingerprint)
        except VseError as error:
            raise ApiError(503, f"still serving the old model: {error}") from error

    return router
