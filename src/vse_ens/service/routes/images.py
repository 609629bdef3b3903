"""The state of one image: labels from the data and from feedback, rejected labels, and suggestions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from vse_ens.service.convert import to_suggestions
from vse_ens.service.models import ServedModel
from vse_ens.service.openapi import READING
from vse_ens.service.schemas import Id, ImageState, LabelInForce, RejectedLabel, Top
from vse_ens.service.state import Service
from vse_ens.service.verdicts import ImageVerdicts


def images_router(service: Service) -> APIRouter:
    """Return the route of a single image."""
    router = APIRouter(tags=["catalog"])

    @router.get("/api/image", responses=READING)
    async def image(
        id: Annotated[Id, Query(examples=["img_0000001"])],  # noqa: A002  # the name of the query parameter
        top: Annotated[Top, Query()] = 12,
    ) -> ImageState:
        """Return the current state of an image, with suggestions from its current labels."""
        served = await service.models.current()
        if not any(_verdicts(service, id)):
            await service.check_known(served.annotator.known_.images, [id])
        return await image_state(service, served, id, top)

    return router


async def image_state(service: Service, served: ServedModel, image: str, top: int) -> ImageState:
    """Return the state of an image with its ``top`` suggestions."""
    verdicts = _verdicts(service, image)
    if served.is_fast_by_labels:
        state = _state(served, image, verdicts, top)
    else:
        state = await service.compute.run(_state, served, image, verdicts, top)
    service.metrics.suggestions.inc(len(state.suggestions))
    state.url = service.pictures.url(served, image)
    return service.rules.show(state)


def _verdicts(service: Service, image: str) -> ImageVerdicts:
    return service.feedback.of(image) if service.feedback is not None else ImageVerdicts({}, {})


def _state(served: ServedModel, image: str, verdicts: ImageVerdicts, top: int) -> ImageState:
    annotator = served.annotator
    known = image in annotator.known_.images
    trained = annotator.known_labels(image) if known else []
    labels = [
        LabelInForce(label=label, source="data", event=None) for label in trained if label not in verdicts.rejected
    ]
    labels += [
        LabelInForce(label=label, source="feedback", event=event)
        for label, event in sorted(verdicts.accepted.items(), key=lambda item: item[1])
        if label not in trained
    ]
    if any(verdicts) or not known:
        # Verdicts take effect immediately. Labels unknown to the model cannot influence it.
        vocabulary = annotator.known_.labels
        context = [one.label for one in labels if one.label in vocabulary]
        deny = [label for label in verdicts.rejected if label in vocabulary]
        suggestions = annotator.annotate(labels=context, deny=deny, top=top, explain=True)
    else:
        suggestions = annotator.annotate(image, top=top, explain=True)
    return ImageState(
        image=image,
        known=known,
        labels=labels,
        rejected=[RejectedLabel(label=label, event=event) for label, event in verdicts.rejected.items()],
        suggestions=to_suggestions(suggestions, explained=True),
        url=None,
    )
