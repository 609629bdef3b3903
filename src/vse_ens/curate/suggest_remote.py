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
        """Return the suggestions for ``images``."""
        return {"blocks": [_payload(block) for block in self._suggester.suggest(task["images"])]}


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
        chosen = np.arange(len(self._known.images)) if images is None else images
        tasks = [{"images": chosen[first : first + _IMAGES]} for first in range(0, len(chosen), _IMAGES)]
        empty = {"confidences": None, "held_out_probabilities": None, "vocabulary": self._known.labels}
        done = 0
        for answer in self._pool.map(FACTORY, self._settings, tasks):
            for block in answer["blocks"]:
                rows = slice(done, done + len(block["labels"]))
                yield SuggestionBlock(images=chosen[rows], **{**empty, **block})
                done = rows.stop
