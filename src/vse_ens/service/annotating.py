"""Suggestions for a request, encoded as JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic_core import to_json

from vse_ens.curate import suggest
from vse_ens.service.convert import rounded
from vse_ens.service.label_names import LabelNames
from vse_ens.service.models import ServedModel
from vse_ens.service.schemas import AnnotateRequest

# Looking up this many labels takes about a millisecond.
_MAX_LABELS_ON_LOOP = 100


class Encoded(NamedTuple):
    """An encoded `vse_ens.service.schemas.AnnotateResponse`, and its number of suggestions."""

    body: bytes
    suggestions: int


def is_fast(served: ServedModel, request: AnnotateRequest) -> bool:
    """Whether a request takes a millisecond at most, so that the event loop may answer it."""
    fast = served.is_fast if request.labels is None else served.is_fast_by_labels
    return fast and request.count == 1 and len(request.all_labels) <= _MAX_LABELS_ON_LOOP


def annotate_known(served: ServedModel, names: LabelNames, request: AnnotateRequest) -> Encoded | None:
    """Suggest labels for the images of a request; None if an ID is unknown. Unlike an error, that takes no time."""
    known = served.annotator.known_
    images = known.images.numbers(request.images or [], missing="minus-one")
    if (images < 0).any() or not all(names.in_model(label) in known.labels for label in request.all_labels):
        return None
    return _annotate(served, names, request, images)


def annotate(served: ServedModel, names: LabelNames, request: AnnotateRequest) -> Encoded:
    """Suggest labels for the images of a request, under the names in force."""
    return _annotate(served, names, request, served.annotator.known_.images.numbers(request.images or []))


def _annotate(served: ServedModel, names: LabelNames, request: AnnotateRequest, numbers: NDArray[np.int64]) -> Encoded:
    annotator, known = served.annotator, served.annotator.known_
    options: Any = {
        "top": request.top + names.extra,
        "allow": None if request.allow is None else [*map(names.in_model, request.allow)],
        "deny": None if request.deny is None else [*map(names.in_model, request.deny)],
        "min_confidence": request.min_confidence,
        "explain": request.explain,
    }
    if request.images is not None:
        images: list[str | None] = [*request.images]
        known_labels = [known.labels.ids(known.label_numbers(number)) for number in numbers.tolist()]
        suggestions = annotator.annotate_numbers(numbers, **options)
    else:
        known_labels = [[*map(names.in_model, labels)] for labels in request.labels or ()]
        images = [None] * len(known_labels)
        suggestions = annotator.annotate(labels=known_labels, **options)
    # Plain values in the form of the schema: objects of its classes would take longer than the suggestions.
    results: list[dict[str, Any]] = []
    for image, labels, best in zip(images, known_labels, suggestions, strict=True):
        shown = names.show(labels)
        found = names.show_suggestions(best, lambda one: one.label, _renamed, shown)[: request.top]
        encoded = [_suggestion(one, request.explain, names) for one in found]
        results.append({"image": image, "labels": shown, "suggestions": encoded})
    count = sum(len(one["suggestions"]) for one in results)
    return Encoded(to_json({"model": served.fingerprint, "results": results}), count)


def _renamed(one: suggest.Suggestion, name: str) -> suggest.Suggestion:
    return replace(one, label=name)


def _suggestion(one: suggest.Suggestion, explained: bool, names: LabelNames) -> dict[str, Any]:
    values = {"label": one.label, "score": rounded(one.score), "confidence": rounded(one.confidence)}
    values["hit"] = rounded(one.hit)
    if not explained:
        return values
    reasons = [
        {"labels": [*map(names.of, part.labels)], "share": rounded(part.share), "source": part.source}
        for part in one.because
    ]
    return {**values, "because": reasons}
