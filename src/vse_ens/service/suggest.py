"""Suggestions for images by the labels they have now, and their form in responses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from vse_ens.curate import explain
from vse_ens.curate.suggest import Suggestion
from vse_ens.data.current_labels import ImageLabels
from vse_ens.data.rules.label_names import LabelNames
from vse_ens.service import schemas
from vse_ens.service.models import ServedModel
from vse_ens.service.schemas import AnnotatedImage, AnnotateRequest, AnnotateResponse, rounded

MAX_REASONS = 5
"""Reasons of a suggestion, unless all are requested."""

# Looking up this many labels takes about a millisecond.
_MAX_LABELS_ON_LOOP = 100
_LABEL = attrgetter("label")


def suggest(
    served: ServedModel,
    images: Sequence[ImageLabels],
    *,
    top: int,
    allow: Collection[str] | None = None,
    deny: Collection[str] = (),
    min_confidence: float = 0.0,
    explain: bool = False,
    vectors: Sequence[Sequence[float]] | None = None,
) -> list[list[Suggestion]]:
    """Suggest labels for images, under the names in force: none that an image has or that was rejected.

    An image whose labels differ from those of the data is scored by the labels it has now. ``vectors`` are features of
    images that the model does not know.
    """
    if not images:
        return []
    annotator, names = served.annotator, images[0].naming
    # Several labels may have one name, and rejected ones are removed below.
    extra = names.extra + max(len(one.rejected) for one in images)
    options: Any = {
        "top": top + extra,
        "allow": None if allow is None else [*map(names.in_model, allow)],
        "deny": [*map(names.in_model, deny)],
        "min_confidence": min_confidence,
        "explain": explain,
    }
    unchanged: list[int] = []
    changed: list[int] = []
    given: list[int] = []
    for index, one in enumerate(images):
        (given if one.number is None else changed if one.has_changed else unchanged).append(index)

    def numbers(chosen: list[int]) -> NDArray[np.int64]:
        return np.array([images[index].number for index in chosen], np.int64)

    def contexts(chosen: list[int]) -> list[list[str]]:
        return [images[index].context for index in chosen]

    if vectors is not None:
        options["features"] = np.array(vectors, np.float32)
    lists = [
        *(annotator.annotate_numbers(numbers(unchanged), **options) if unchanged else ()),
        *(annotator.annotate_numbers(numbers(changed), contexts(changed), **options) if changed else ()),
        *(annotator.annotate(labels=contexts(given), **options) if given else ()),
    ]
    found = dict(zip([*unchanged, *changed, *given], lists, strict=True))
    denied = frozenset(map(names.of, deny))
    return [
        names.show_suggestions(found[index], _LABEL, _rename, one.settled | denied if denied else one.settled)[:top]
        for index, one in enumerate(images)
    ]


def _rename(one: Suggestion, name: str) -> Suggestion:
    return replace(one, label=name)


def annotate_images(served: ServedModel, request: AnnotateRequest) -> AnnotateResponse:
    """Answer a request; an `UnknownIdError` names the first unknown ID."""
    if request.images is not None:
        return _annotate(served, request, served.labels.of_images(request.images))
    given = request.labels or [[] for _ in request.vectors or ()]
    in_model = [served.labels.names.in_model(label) for labels in given for label in labels]
    served.annotator.known_.labels.numbers(in_model)
    return _annotate(served, request, [*map(served.labels.of_given, given)])


def annotate_if_fast(served: ServedModel, request: AnnotateRequest) -> AnnotateResponse | None:
    """Answer a request that takes a millisecond at most; None for any other one, and if an ID is unknown."""
    known = served.annotator.known_
    if request.count > 1 or len(request.all_labels) > _MAX_LABELS_ON_LOOP:
        return None
    names = served.labels.names if request.all_labels else None
    if names and not all(names.in_model(label) in known.labels for label in request.all_labels):
        return None
    if request.images is not None:
        [image] = map(served.labels.of, request.images)
        if image.number is None:
            return None
    else:
        [image] = map(served.labels.of_given, request.labels or [[]])
    return _annotate(served, request, [image]) if served.is_fast(image) else None


def _annotate(served: ServedModel, request: AnnotateRequest, images: Sequence[ImageLabels]) -> AnnotateResponse:
    names = images[0].naming
    suggestions = suggest(
        served,
        images,
        top=request.top,
        allow=request.allow,
        deny=request.deny or (),
        min_confidence=request.min_confidence,
        explain=request.explain,
        vectors=request.vectors,
    )
    most = None if request.all_reasons else MAX_REASONS
    results = [
        AnnotatedImage(one.image, one.names, [shown(best, names, request.explain, most) for best in found])
        for one, found in zip(images, suggestions, strict=True)
    ]
    return AnnotateResponse(model=served.fingerprint, results=results)


def shown(one: Suggestion, names: LabelNames, explained: bool, most: int | None = MAX_REASONS) -> schemas.Suggestion:
    """Return a suggestion as in answers; without ``explained``, ``because`` is left out."""
    return schemas.Suggestion(
        label=one.label,
        score=rounded(one.score),
        confidence=rounded(one.confidence),
        hit=rounded(one.hit),
        because=shown_reasons(one.because, names, most) if explained else UNSET,
    )


def shown_reasons(
    reasons: Iterable[explain.Reason], names: LabelNames, most: int | None = MAX_REASONS
) -> list[schemas.Reason]:
    """Return the first reasons, or all of them, as in answers: under the names in force."""
    return [
        schemas.Reason(
            labels=[*map(names.of, one.labels)],
            share=rounded(one.share),
            source=one.source,
            images=[*one.images] if one.images else UNSET,
            count=one.count or UNSET,
        )
        for one in [*reasons][:most]
    ]
