"""The state of one image or of several, and their pictures as thumbnails."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from starlette.responses import Response

from vse_ens.curate.suggest import Suggestion
from vse_ens.service import schemas
from vse_ens.service.models import ServedModel
from vse_ens.service.operations import Header, Operations
from vse_ens.service.pictures import PictureSize
from vse_ens.service.schemas import ImageId, Top, doc, rounded
from vse_ens.service.settings import MAX_TOP
from vse_ens.service.state import Service
from vse_ens.service.suggest import MAX_REASONS, shown, suggest

# Pictures seldom change; afterwards the browser asks with the ETag.
_CACHE_CONTROL = "private, max-age=3600"

operations = Operations("catalog")


@operations.get("/api/image")
async def image(
    service: Service,
    served: ServedModel,
    id: ImageId,  # noqa: A002  # the name of the query parameter
    top: Top = 12,
    all_reasons: Annotated[bool, doc("All reasons, not only the first few.")] = False,
) -> schemas.ImageState:
    """Return the current state of an image, with suggestions from its current labels."""
    if not served.labels.of(id).settled:
        await service.check_known(served, id)
    return await image_state(service, served, id, top, all_reasons=all_reasons)


async def image_state(
    service: Service, served: ServedModel, image: str, top: int, *, all_reasons: bool = False
) -> schemas.ImageState:
    """Return the state of an image with its ``top`` suggestions."""
    now = served.labels.of(image)
    if served.is_fast(now):
        [suggestions] = suggest(served, [now], top=top, explain=True)
    else:
        [suggestions] = await service.suggest.run(suggest, served, [now], top=top, explain=True)
    service.metrics.suggestions.inc(len(suggestions))
    most = None if all_reasons else MAX_REASONS
    return schemas.ImageState(
        model=served.fingerprint,
        image=image,
        known=now.number is not None,
        labels=[schemas.LabelInForce(*one) for one in now.labels],
        rejected=[schemas.RejectedLabel(label=label, event=event) for label, event in now.rejected.items()],
        suggestions=[shown(one, now.naming, True, most) for one in suggestions],
        url=service.pictures.url(served, image),
    )


@operations.post("/api/together")
def together(service: Service, served: ServedModel, request: schemas.TogetherRequest) -> schemas.TogetherResponse:
    """Return the current labels of several images, and the labels that most of them probably lack."""
    images = list(dict.fromkeys(request.images))
    served.annotator.known_.images.numbers(images)  # an error if one is unknown
    states = served.labels.of_images(images)
    labels = Counter(label for one in states for label in one.names)
    found: dict[str, list[Suggestion]] = {}
    for suggestions in suggest(served, states, top=MAX_TOP):
        for one in suggestions:
            found.setdefault(one.label, []).append(one)
    shared = [
        _shared(label, ones, [image for image, now in zip(images, states, strict=True) if label not in now.settled])
        for label, ones in found.items()
    ]
    # By the number that is shown, or without confidences by how many images lack it.
    shared.sort(key=lambda one: (-len(one.images), -one.score) if one.confidence is None else (-one.confidence,))
    return schemas.TogetherResponse(
        images=service.pictures.with_urls(served, [schemas.TogetherImage(image=image) for image in images]),
        labels=[schemas.SharedLabel(label=label, images=count) for label, count in labels.most_common()],
        suggestions=shared[: request.top],
    )


def _shared(label: str, found: list[Suggestion], lacking: list[str]) -> schemas.SharedSuggestion:
    confidences = [one.confidence for one in found if one.confidence is not None]
    return schemas.SharedSuggestion(
        label=label,
        score=rounded(sum(one.score for one in found) / len(found)),
        # Beyond the first suggestions of an image, a confidence is nearly 0.
        confidence=rounded(sum(confidences) / len(lacking)) if confidences else None,
        images=lacking,
    )


@operations.get("/api/picture", errors=(401, 403, 404, 415, 422, 503))
async def picture(
    service: Service,
    served: ServedModel,
    image: ImageId,
    size: Annotated[PictureSize, doc("Longer side in pixels.")] = 320,
    if_none_match: Annotated[str, Header("If-None-Match")] = "",
) -> Response:
    """Return a thumbnail of the picture of an image, if the service was started with pictures."""
    await service.check_known(served, image)
    found = await service.pictures.thumbnail(served, image, size, if_none_match.removeprefix("W/").strip('"'))
    headers = {"ETag": f'"{found.etag}"', "Cache-Control": _CACHE_CONTROL}
    if not found.content:
        return Response(status_code=304, headers=headers)
    return Response(found.content, headers=headers, media_type=found.media_type)
