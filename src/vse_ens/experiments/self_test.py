"""A check on the machine at hand that one image and many, and any number of workers, give the same bits."""

from __future__ import annotations

from collections.abc import Iterator

from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes

_IMAGES = 300  # more than one task of the scorer
_WORKERS = 3


def different_bits() -> list[str]:
    """Return the promises that do not hold here; an empty list is a pass."""
    train, test = scenes(images=_IMAGES, labels=70, seed=0).leave_one_out(seed=0)
    one, several = (Annotator(epochs=2, dimensions=30, seed=0, workers=n).fit(train) for n in (1, _WORKERS))
    return [*_of_training(one, several), *_of_answers(one, several, test)]


def _of_training(one: Annotator, several: Annotator) -> Iterator[str]:
    for name, array in one.model_.arrays().items():
        if array.tobytes() != several.model_.arrays()[name].tobytes():
            yield f"the array {name} after training with 1 and {_WORKERS} workers"


def _of_answers(one: Annotator, several: Annotator, test: Annotations) -> Iterator[str]:
    images = list(one.known_.images)
    together = one.annotate(images)
    if several.annotate(images) != together:
        yield f"suggestions by 1 and {_WORKERS} workers"
    if [one.annotate(image) for image in images] != together:
        yield "suggestions for one image and for many"
    known = [one.known_.labels_of(image) for image in images]
    if [one.annotate(labels=labels) for labels in known] != one.annotate(labels=known):
        yield "suggestions for one list of labels and for many"
    if dict(one.evaluate(test)) != dict(several.evaluate(test)):
        yield f"metrics by 1 and {_WORKERS} workers"
