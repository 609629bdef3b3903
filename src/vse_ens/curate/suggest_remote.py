"""Suggestions by the workers of a pool: each opens the model, and a task is a range of images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.curate.suggest import Suggester, SuggestionBlock, SuggestOptions
from vse_ens.data.annotations import Annotations
from vse_ens.model.loaded import LoadedModel, ModelRef
from vse_ens.run.pool import Payload, Pool
from vse_ens.run.threads import Workers

FACTORY = f"{__name__}.SuggestTask"

# Images per task: a multiple of the block sizes of a `Suggester` (8,192 images, or 512 for very many labels), so that
# files written block by block have the same bytes as without a pool on one kind of CPU.
_IMAGES = 8_192


class SuggestTask:
    """Opens a model directory and suggests labels for its images."""

    def __init__(self, settings: Payload, workers: Workers) -> None:
        loaded = LoadedModel.open(ModelRef(*settings["model"]))
        self._suggester = Suggester(loaded, run=workers.run, **settings["options"])

    def __call__(self, task: Payload) -> Payload:
        """Return the suggestions for ``images``, or for the images from ``first`` up to ``last``."""
        images = task["images"] if "images" in task else np.arange(task["first"], task["last"])
        return {"blocks": [_payload(block) for block in self._suggester.suggest(images)]}


def _payload(block: SuggestionBlock) -> dict[str, Any]:
    """Return the arrays of a block; the caller has the numbers of the images and the ids."""
    left_out = ("images", "vocabulary", "because")
    return {name: value for name, value in block._asdict().items() if name not in left_out and value is not None}


class RemoteSuggester:
    """Gives the same results as a `Suggester`, byte for byte on one kind of CPU, by the workers of a pool."""

    def __init__(self, pool: Pool, model: ModelRef, known: Annotations, options: SuggestOptions) -> None:
        self._pool = pool
        self._settings = {"model": list(model), "options": dict(options)}
        self._known = known

    def suggest(self, images: NDArray[np.int64] | None = None) -> Iterator[SuggestionBlock]:
        """Yield suggestions for images by number, or for all images, block by block in order."""
        count = len(self._known.images) if images is None else len(images)
        ranges = [(first, min(first + _IMAGES, count)) for first in range(0, count, _IMAGES)]
        if images is None:
            tasks: list[Payload] = [{"first": first, "last": last} for first, last in ranges]
        else:
            tasks = [{"images": images[first:last]} for first, last in ranges]
        empty = {"confidences": None, "held_out_probabilities": None, "vocabulary": self._known.labels}
        for (first, last), answer in zip(ranges, self._pool.map(FACTORY, self._settings, tasks), strict=True):
            numbers = np.arange(first, last) if images is None else images[first:last]
            done = 0
            for block in answer["blocks"]:
                rows = slice(done, done + len(block["labels"]))
                yield SuggestionBlock(images=numbers[rows], **{**empty, **block})
                done = rows.stop
