"""Suggestions as tasks that any worker of a pool can do: a bench has a model, and a task is a range of its images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.curate.suggest import Best, Suggester, SuggestOptions, Trained
from vse_ens.model.loaded import ModelRef, opened
from vse_ens.run.pool import Payload, Pool
from vse_ens.run.threads import Workers

FACTORY = f"{__name__}.SuggestTask"

# Images of a task: a whole number of the blocks in which a desk answers (8,192 images, or 512 where there are very many
# labels), so that what is written block by block is the same bytes as without a pool.
_IMAGES = 8_192


class SuggestTask:
    """Answers for the images of a model directory that it opens."""

    def __init__(self, settings: Payload, workers: Workers) -> None:
        self._desk = Suggester(Trained(*opened(ModelRef(*settings["place"]))), run=workers.run, **settings["wanted"])

    def __call__(self, task: Payload) -> Payload:
        """The best labels of some images by number, or of all from the ``first`` up to the ``last``."""
        images = task["images"] if "images" in task else np.arange(task["first"], task["last"])
        return {"blocks": [_plain(best) for best in self._desk.images(images)]}


def _plain(best: Best) -> dict[str, Any]:
    found = {"labels": best.labels, "scores": best.scores}
    return found if best.confidences is None else {**found, "confidences": best.confidences}


class RemoteSuggester:
    """Answers as a `Desk` does, to the byte, by the workers of a pool."""

    def __init__(self, pool: Pool, place: ModelRef, images: int, wanted: SuggestOptions) -> None:
        self._pool = pool
        self._settings = {"place": list(place), "wanted": dict(wanted)}
        self._images = images

    def images(self, images: NDArray[np.int64] | None = None) -> Iterator[Best]:
        """Of images by number, or of all; block by block, in their order."""
        count = self._images if images is None else len(images)
        cuts = [(first, min(first + _IMAGES, count)) for first in range(0, count, _IMAGES)]
        if images is None:
            tasks: list[Payload] = [{"first": first, "last": last} for first, last in cuts]
        else:
            tasks = [{"images": images[first:last]} for first, last in cuts]
        for (first, last), answer in zip(cuts, self._pool.map(FACTORY, self._settings, tasks), strict=True):
            numbers = np.arange(first, last) if images is None else images[first:last]
            done = 0
            for block in answer["blocks"]:
                rows = slice(done, done + len(block["labels"]))
                yield Best(numbers[rows], block["labels"], block["scores"], block.get("confidences"))
                done = rows.stop
