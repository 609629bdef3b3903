"""Ways to find labels and images: completion by context, and the images that have a label."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta
from msgspec.structs import replace
from numpy.typing import NDArray

from vse_ens.service import schemas
from vse_ens.service.completion import merge
from vse_ens.service.models import ServedModel
from vse_ens.service.operations import Operations
from vse_ens.service.schemas import Id
from vse_ens.service.settings import MAX_ID_LENGTH, MAX_LABELS
from vse_ens.service.state import Service


def operations(service: Service) -> Operations:
    """Return the routes of completion and of the images of a label."""
    api = Operations("catalog")
    models, compute = service.models, service.compute

    @api.get("/api/complete")
    async def complete(
        text: Annotated[str, Meta(max_length=MAX_ID_LENGTH, examples=["se"])] = "",
        image: Annotated[Id | None, Meta(description="Complete by its current labels.")] = None,
        labels: Annotated[list[Id], Meta(max_length=MAX_LABELS, description="Complete by these labels.")] = [],  # noqa: B006
        limit: Annotated[int, Meta(ge=1, le=100)] = 8,
        new: Annotated[bool, Meta(description="Also labels that the model does not know.")] = True,
    ) -> schemas.CompleteResponse:
        """Complete a label: what suits the other labels of an image, then the most frequent, then with one typo.

        Labels have the names in force. With `new`, labels that only feedback and rules have come before typos.
        """
        served = await models.current()
        others = set(labels)
        if image is not None:
            now = served.labels.of(image)
            if not now.settled:
                await service.check_known(served.annotator.known_.images, [image])
            others |= set(now.names)
        return await compute.run(_complete, served, text, sorted(others), image, limit, new)

    @api.get("/api/label/images")
    async def label_images(
        label: Annotated[Id, Meta(examples=["sea"])],
        also: Annotated[Id | None, Meta(description="A label that they have as well.")] = None,
        without: Annotated[Id | None, Meta(description="A label that they lack.")] = None,
        offset: Annotated[int, Meta(ge=0)] = 0,
        limit: Annotated[int, Meta(ge=1, le=200)] = 12,
    ) -> schemas.LabelImagesResponse:
        """List the images of the model that have a label now, by ID: all, or those with or without another label."""
        served = await models.current()
        response = await compute.run(_label_images, served, label, also, without, offset, limit)
        service.pictures.add_urls(served, response.images)
        return response

    return api


def _complete(
    served: ServedModel, text: str, labels: list[str], image: str | None, limit: int, new: bool
) -> schemas.CompleteResponse:
    annotator, names, verdicts = served.annotator, served.labels.names, served.labels.verdicts
    vocabulary = annotator.known_.labels
    # Labels unknown to the model cannot influence it.
    known = tuple(dict.fromkeys(label for label in map(names.in_model, labels) if label in vocabulary))
    scores = served.label_scores(known, image if image in annotator.known_.images else None) if known else None
    exclude = np.asarray(vocabulary.numbers(list(known)), np.int64)
    found = served.completion.complete(text, limit + names.extra, scores, exclude)
    found = [replace(one, label=names.of(one.label)) for one in found]
    verdicts.refresh()
    more = {name: verdicts.new_labels().get(name, 0) for name in names.new}
    if new:
        more |= verdicts.new_labels()
    else:
        more = {name: count for name, count in more.items() if names.in_model(name) in vocabulary}
    has = set(map(names.of, labels))
    merged = merge(text, found, served.new_labels.of(more).complete(text, limit)) if more else found
    return schemas.CompleteResponse(labels=[one for one in merged if one.label not in has][:limit])


def _label_images(
    served: ServedModel, label: str, also: str | None, without: str | None, offset: int, limit: int
) -> schemas.LabelImagesResponse:
    known = served.annotator.known_
    found = _images_with(served, label)
    if also is not None:
        found = np.intersect1d(found, _images_with(served, also), assume_unique=True)
    if without is not None:
        found = np.setdiff1d(found, _images_with(served, without), assume_unique=True)
    images = known.images.ids(found[offset : offset + limit])
    return schemas.LabelImagesResponse(
        images=[
            schemas.LabeledImage(image=image, labels=now.names)
            for image, now in zip(images, served.labels.of_images(images), strict=True)
        ],
        total=len(found),
    )


def _images_with(served: ServedModel, label: str) -> NDArray[np.int64]:
    """Return the images that have a label now; an `UnknownIdError` if neither the model nor a rule knows it."""
    labels = served.labels
    if labels.names.in_model(label) not in labels.known.labels and label not in labels.names.new:
        raise labels.known.labels.unknown(label)
    return labels.images_with(label)
