"""Rankings: images for a label, and images to annotate next."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from vse_ens.service.models import ServedModel
from vse_ens.service.operations import Operations
from vse_ens.service.routes.images import image_state
from vse_ens.service.schemas import GridResponse, Kind, LabelId, Offset, Order, Probability, QueueResponse, Top
from vse_ens.service.settings import MAX_GRID, MAX_TOP
from vse_ens.service.state import Service

operations = Operations("rankings")


@operations.get("/api/grid")
def grid(
    service: Service,
    served: ServedModel,
    label: LabelId,
    kind: Kind = "missing",
    limit: Annotated[int, Meta(ge=1, le=MAX_GRID)] = 60,
    offset: Offset = 0,
    min_confidence: Probability = 0.0,
) -> GridResponse:
    """Find images that probably lack a label, or that probably have it by mistake, surest first.

    Images with a verdict on the label, or that have it by a rule, are left out. At most 10,000 images are listed.
    Of a label on very many images, the least supported are measured for likely mistakes, 500 or more.
    """
    response = served.ranker.grid(label, kind, offset, limit, min_confidence)
    service.pictures.with_urls(served, response.images)
    return response


@operations.get("/api/queue")
async def queue(
    service: Service,
    served: ServedModel,
    order: Order = "gain",
    limit: Top = 20,
    offset: Offset = 0,
    top: Annotated[int, Meta(ge=0, le=MAX_TOP, description="Suggestions for the first image, 0 for none.")] = 0,
) -> QueueResponse:
    """List images to annotate next: those without a verdict and with the highest gain first, or random ones.

    `verdicts` lists the images on which verdicts tell most about confidences, at most 200.

    With `top`, the state of the first image comes with them, which saves a page its second request.
    """
    response = await service.suggest.run(served.ranker.queue, order, offset, limit)
    service.pictures.with_urls(served, response.images)
    if top and response.images:
        response.state = await image_state(service, served, response.images[0].image, top)
    return response
