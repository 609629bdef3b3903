"""The state of one image: labels from the data and from feedback, rejected labels, and suggestions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query

from vse_ens.service.convert import rounded, to_suggestions
from vse_ens.service.label_names import LabelNames
from vse_ens.service.models import ServedModel
from vse_ens.service.openapi import READING, WRITING
from vse_ens.service.routes.strict_json import StrictRoute
from vse_ens.service.schemas import (
    Id,
    ImageState,
    LabelInForce,
    RejectedLabel,
    SharedLabel,
    SharedSuggestion,
    Suggestion,
    TogetherImage,
    TogetherRequest,
    TogetherResponse,
    Top,
)
from vse_ens.service.settings import MAX_TOP
from vse_ens.service.state import Service
from vse_ens.service.verdicts import ImageVerdicts

_TOGETHER_EXAMPLES: Any = {"two images": {"value": {"images": ["img_0000001", "img_0000002"], "top": 5}}}


def images_router(service: Service) -> APIRouter:
    """Return the route of a single image."""
    router = APIRouter(tags=["catalog"], route_class=StrictRoute)

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

    @router.post("/api/together", responses=WRITING)
    async def together(
        request: Annotated[TogetherRequest, Body(openapi_examples=_TOGETHER_EXAMPLES)],
    ) -> TogetherResponse:
        """Return the current labels of several images, and the labels that most of them probably lack."""
        served = await service.models.current()
        images = list(dict.fromkeys(request.images))
        await service.check_known(served.annotator.known_.images, images)
        response = await service.compute.run(_together, service, served, images, request.top)
        service.pictures.add_urls(served, response.images)
        return response

    return router


def _together(service: Service, served: ServedModel, images: list[str], top: int) -> TogetherResponse:
    names = service.rules.names(served.annotator.known_)
    labels: Counter[str] = Counter()
    found: dict[str, list[Suggestion]] = {}
    settled: list[tuple[str, set[str]]] = []
    for image in images:
        state = _state(served, image, _verdicts(service, image), names, MAX_TOP, explain=False)
        state = service.rules.show(state, names, MAX_TOP)
        labels.update(one.label for one in state.labels)
        rejected = {names.of(one.label) for one in state.rejected}
        settled.append((image, {one.label for one in state.labels} | rejected))
        for suggestion in state.suggestions:
            found.setdefault(suggestion.label, []).append(suggestion)
    shared = [
        _shared(label, ones, [image for image, names_of in settled if label not in names_of])
        for label, ones in found.items()
    ]
    # By the number that is shown, or without confidences by how many images lack it.
    shared.sort(key=lambda one: (-len(one.images), -one.score) if one.confidence is None else (-one.confidence,))
    return TogetherResponse(
        images=[TogetherImage(image=image) for image in images],
        labels=[SharedLabel(label=label, images=count) for label, count in labels.most_common()],
        suggestions=shared[:top],
    )


def _shared(label: str, found: list[Suggestion], lacking: list[str]) -> SharedSuggestion:
    confidences = [one.confidence for one in found if one.confidence is not None]
    return SharedSuggestion(
        label=label,
        score=rounded(sum(one.score for one in found) / len(found)),
        # Beyond the first suggestions of an image, a confidence is nearly 0.
        confidence=rounded(sum(confidences) / len(lacking)) if confidences else None,
        images=lacking,
    )


async def image_state(service: Service, served: ServedModel, image: str, top: int) -> ImageState:
    """Return the state of an image with its ``top`` suggestions."""
    verdicts, names = _verdicts(service, image), service.rules.names(served.annotator.known_)
    if served.is_fast_by_labels:
        state = _state(served, image, verdicts, names, top + names.extra)
    else:
        state = await service.suggest.run(_state, served, image, verdicts, names, top + names.extra)
    state.url = service.pictures.url(served, image)
    state = service.rules.show(state, names, top)
    service.metrics.suggestions.inc(len(state.suggestions))
    return state


def labels_of_images(service: Service, served: ServedModel, images: Sequence[str]) -> list[list[str]]:
    """Return the labels of known images: of the data, less rejected, plus accepted ones, with the rules applied."""
    known, decided = served.annotator.known_, served.rankings.decided
    decided.refresh()
    names = service.rules.names(known)
    found = []
    for image, number in zip(images, known.images.numbers(list(images)).tolist(), strict=True):
        trained = known.labels.ids(known.label_numbers(number))
        # Most images have no verdict, and looking them up takes time.
        verdicts = _verdicts(service, image) if decided.mask[number] else ImageVerdicts({}, {})
        rejected = {names.of(label) for label in verdicts.rejected}
        labels = [label for label in trained if names.of(label) not in rejected]
        labels += [label for label in verdicts.accepted if label not in trained]
        found.append(names.show(labels, verdicts.rejected))
    return found


def _verdicts(service: Service, image: str) -> ImageVerdicts:
    return service.feedback.of(image) if service.feedback is not None else ImageVerdicts({}, {})


def _state(
    served: ServedModel, image: str, verdicts: ImageVerdicts, names: LabelNames, top: int, explain: bool = True
) -> ImageState:
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
        context = [label for label in (names.in_model(one.label) for one in labels) if label in vocabulary]
        deny = [label for label in map(names.in_model, verdicts.rejected) if label in vocabulary]
        suggestions = annotator.annotate(labels=context, deny=deny, top=top, explain=explain)
    else:
        suggestions = annotator.annotate(image, top=top, explain=explain)
    return ImageState(
        model=served.fingerprint,
        image=image,
        known=known,
        labels=labels,
        rejected=[RejectedLabel(label=label, event=event) for label, event in verdicts.rejected.items()],
        suggestions=to_suggestions(suggestions, explained=explain),
        url=None,
    )
