"""Routes for those who run the service: whether it lives, how it does, and another model."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response

from vse_ens.errors import VseError
from vse_ens.service.errors import ApiError, unavailable
from vse_ens.service.models import STILL_LOADING
from vse_ens.service.openapi import NO_KEY, errors, plain_text
from vse_ens.service.schemas import HealthAnswer, ReadyAnswer, ReloadAnswer
from vse_ens.service.state import Service

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_METRICS = plain_text("Prometheus' text format.", {"text/plain": "vse_suggestions_total 20.0\n"})


def operating_router(service: Service) -> APIRouter:
    """Answered at once, model or none."""
    router = APIRouter(tags=["operating"])
    holder = service.holder

    @router.get("/health", openapi_extra=NO_KEY)
    async def health() -> HealthAnswer:
        """The process lives; also what Label Studio asks."""
        return HealthAnswer()

    @router.get("/ready", responses=errors(503), openapi_extra=NO_KEY)
    async def ready() -> ReadyAnswer:
        """A model is loaded: requests are answered without waiting."""
        if holder.ready is None:
            raise unavailable(holder.failure or STILL_LOADING)
        return ReadyAnswer(model=holder.ready.fingerprint)

    @router.get("/metrics", response_class=Response, responses=errors(401) | _METRICS)
    async def metrics() -> Response:
        """For Prometheus."""
        return Response(service.metrics.text(), media_type=_TEXT)

    @router.post("/api/reload", responses=errors(401, 403, 422, 503))
    async def reload(
        asked: Annotated[
            str,
            Header(
                alias="X-VSE-Reload",
                description="`yes` where the service has no key: a page of another site cannot send it.",
            ),
        ] = "",
    ) -> ReloadAnswer:
        """Load the model directory anew and swap it in whole; requests in flight keep the model they began with.

        Where it cannot be loaded the old model goes on serving, and the answer says why.
        """
        if service.settings.api_key is None and asked != "yes":
            raise ApiError(403, "send the header X-VSE-Reload: yes to reload the model")
        try:
            return ReloadAnswer(model=(await holder.load()).fingerprint)
        except VseError as error:
            raise ApiError(503, f"the old model goes on serving: {error}") from error

    return router
