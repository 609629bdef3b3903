"""Ways to find labels and images: completion by context, and the images that have a label."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from vse_ens.curate.label_completion import merge
from vse_ens.service import schemas
from vse_ens.service.models import ServedModel
from vse_ens.service.operations import Operations
from vse_ens.service.schemas import Id
from vse_ens.service.settings import MAX_ID_LENGTH, MAX_LABELS
from vse_ens.service.state import Service

operations = Operations("catalog")


@operations.get("/api/complete")
def complete(
    served: ServedModel,
    text: Annotated[str, Meta(max_length=MAX_ID_LENGTH, examples=["se"])] = "",
    image: Annotated[Id | None, Meta(description="Complete by its current labels.")] = None,
    labels: Annotated[list[Id], Meta(max_length=MAX_LABELS, description="Complete by these labels.")] = [],  # noqa: B006
    limit: Annotated[int, Meta(ge=1, le=100)] = 8,
    new: Annotated[bool, Meta(description="Also labels that the model does not know.")] = True,
) -> schemas.CompleteResponse:
    """Complete a label: what suits the other labels of an image, then the most frequent, then with one typo.

    Labels have the names in force. With `new`, labels that only feedback and rules have come before typos.
    """
    known, names, verdicts = served.annotator.known_, served.labels.names, served.labels.verdicts
    others = set(labels)
    if image is not None:
        now = served.labels.of(image)
        if not now.settled:
            known.images.number(image)  # an error if it is unknown
        others |= set(now.names)
    # Labels unknown to the model cannot influence it.
    context = tuple(dict.fromkeys(label for label in map(names.in_model, sorted(others)) if label in known.labels))
    scores = served.label_scores(context, image if image in known.images else None) if context else None
    exclude = np.asarray(known.labels.numbers(list(context)), np.int64)
    found = served.completion.complete(text, limit + names.extra, scores, exclude)
    found = [one._replace(label=names.of(one.label)) for one in found]
    verdicts.refresh()
    more = {name: verdicts.new_labels().get(name, 0) for name in names.new}
    if new:
        more |= verdicts.new_labels()
    else:
        more = {name: count for name, count in more.items() if names.in_model(name) in known.labels}
    has = set(map(names.of, others))
    merged = merge(text, found, served.complete(tuple(more.items())).complete(text, limit)) if more else found
    left = [one for one in merged if one.label not in has][:limit]
    return schemas.CompleteResponse(labels=[schemas.CompletedLabel(*one) for one in left])


@operations.get("/api/label/images")
def label_images(
    service: Service,
    served: ServedModel,
    label: Annotated[Id, Meta(examples=["sea"])],
    also: Annotated[Id | None, Meta(description="A label that they have as well.")] = None,
    without: Annotated[Id | None, Meta(description="A label that they lack.")] = None,
    offset: Annotated[int, Meta(ge=0)] = 0,
    limit: Annotated[int, Meta(ge=1, le=200)] = 12,
) -> schemas.LabelImagesResponse:
    """List the images of the model that have a label now, by ID: all, or those with or without another label."""
    found = _images_with(served, label)
    if also is not None:
        found = np.intersect1d(found, _images_with(served, also), assume_unique=True)
    if without is not None:
        found = np.setdiff1d(found, _images_with(served, without), assume_unique=True)
    images = served.annotator.known_.images.ids(found[offset : offset + limit])
    labeled = [
        schemas.LabeledImage(image=image, labels=now.names)
        for image, now in zip(images, served.labels.of_images(images), strict=True)
    ]
    return schemas.LabelImagesResponse(images=service.pictures.with_urls(served, labeled), total=len(found))


def _images_with(served: ServedModel, label: str) -> NDArray[np.int64]:
    """Return the images that have a label now; an `UnknownIdError` if neither the model nor a rule knows it."""
    labels = served.labels
    if labels.names.in_model(label) not in labels.known.labels and label not in labels.names.new:
        raise labels.known.labels.unknown(label)
    return labels.images_with(label)
