"""Rankings: images for a label, and images to annotate next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from vse_ens.service.models import ServedModel
from vse_ens.service.operations import Operations
from vse_ens.service.ranking import GridPage, Order, QueuePage
from vse_ens.service.routes.images import image_state
from vse_ens.service.schemas import (
    GridImage,
    GridResponse,
    LabelId,
    Offset,
    Probability,
    QueuedImage,
    QueueResponse,
    Top,
    rounded,
)
from vse_ens.service.settings import MAX_GRID, MAX_TOP
from vse_ens.service.state import Service


def operations(service: Service) -> Operations:
    """Return the routes of rankings; they answer while the scan of all images is still running."""
    api = Operations("rankings")

    @api.get("/api/grid")
    async def grid(
        label: LabelId,
        kind: Literal["missing", "wrong"] = "missing",
        limit: Annotated[int, Meta(ge=1, le=MAX_GRID)] = 60,
        offset: Offset = 0,
        min_confidence: Probability = 0.0,
    ) -> GridResponse:
        """Find images that probably lack a label, or that probably have it by mistake, surest first.

        Images with a verdict on the label, or that have it by a rule, are left out. At most 10,000 images are listed.
        Of a label on very many images, the least supported are measured for likely mistakes, 500 or more.
        """
        served = await service.models.current()
        await service.check_known(served.annotator.known_.labels, [served.labels.names.in_model(label)])
        return await service.compute.run(_grid, service, served, label, kind, offset, limit, min_confidence)

    @api.get("/api/queue")
    async def queue(
        order: Order = "gain",
        limit: Top = 20,
        offset: Offset = 0,
        top: Annotated[int, Meta(ge=0, le=MAX_TOP, description="Suggestions for the first image, 0 for none.")] = 0,
    ) -> QueueResponse:
        """List images to annotate next: those without a verdict and with the highest gain first, or random ones.

        `verdicts` lists the images on which verdicts tell most about confidences, at most 200.

        With `top`, the state of the first image comes with them, which saves a page its second request.
        """
        served = await service.models.current()
        response = await service.suggest.run(_queue, service, served, order, offset, limit)
        if top and response.images:
            response.state = await image_state(service, served, response.images[0].image, top)
        return response

    return api


def _grid(
    service: Service,
    served: ServedModel,
    label: str,
    kind: Literal["missing", "wrong"],
    offset: int,
    limit: int,
    min_confidence: float,
) -> GridResponse:
    known = served.annotator.known_
    page: GridPage = served.ranker.grid(label, kind, offset, limit, min_confidence)
    images = known.images.ids(page.images)
    confidences: Sequence[float | None] = page.confidences or [None] * len(page.images)
    return GridResponse(
        model=served.fingerprint,
        label=label,
        kind=kind,
        images=[
            GridImage(
                image=image,
                confidence=rounded(confidence),
                labels=now.names,
                url=service.pictures.url(served, image),
            )
            for image, confidence, now in zip(images, confidences, served.labels.of_images(images), strict=True)
        ],
        above={f"{threshold:g}": count for threshold, count in page.above.items()},
        total=page.total,
        scored=_share(page.scanned, len(known.images)),
    )


def _queue(service: Service, served: ServedModel, order: Order, offset: int, limit: int) -> QueueResponse:
    page: QueuePage = served.ranker.queue(order, offset, limit)
    return QueueResponse(
        model=served.fingerprint,
        images=[
            QueuedImage(image=image, gain=rounded(gain), url=service.pictures.url(served, image))
            for image, gain in zip(served.annotator.known_.images.ids(page.images), page.gains, strict=True)
        ],
        done=page.done,
        total=page.total,
        scored=_share(page.scanned, page.total),
    )


def _share(done: int, total: int) -> float:
    return 1.0 if done >= total else round(done / total, 4)
