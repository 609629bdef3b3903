"""Ranking by the workers of a pool: each opens the model, and a task is a block of images."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from vse_ens.data.annotations import Annotations
from vse_ens.evaluate.rank import RankBlock, Ranker, rank_block
from vse_ens.evaluate.scorer import ModelScores
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.ranks import RankResults
from vse_ens.model.loaded import LoadedModel, ModelRef
from vse_ens.run.pool import Payload, Pool
from vse_ens.run.threads import Workers

FACTORY = f"{__name__}.RankTask"


class RankTask:
    """Opens a model directory and ranks blocks of images."""

    def __init__(self, settings: Payload, workers: Workers) -> None:
        self._model, self._known, _ = LoadedModel.open(ModelRef(*settings["model"]))
        self._top = settings["top"]
        self._workers = workers

    def __call__(self, task: Payload) -> Payload:
        """Return the `RankResults` of a block."""
        # Kernels are compiled for writable arrays; those of a cluster are read-only.
        own = {name: np.require(array, requirements="W") for name, array in task.items()}
        block = RankBlock(own["images"], Csr(own["indptr"], own["labels"]))
        if "known_indptr" in own:
            known = Csr(own["known_indptr"], own["known_labels"])
            scores = ModelScores.of_labels(self._model, known, self._workers.run)
        else:
            known = Csr(self._known.indptr, self._known.indices)
            scores = ModelScores.of_known(self._model, self._known, self._workers.run)
        return rank_block(scores, len(self._known.labels), known, block, self._top, self._workers)._asdict()


def remote_ranker(pool: Pool, model: ModelRef, top: int, known: Annotations | None = None) -> Ranker:
    """Return a ranker that sends blocks to the workers of a pool.

    With ``known``, which uses the label numbers of the model, image numbers refer to ``known`` and images are scored by
    these labels alone; the labels of each block are sent with it.
    """

    def task(block: RankBlock) -> Payload:
        images, (indptr, labels) = block
        if known is None:
            return {"images": images, "indptr": indptr, "labels": labels}
        rows = known.rows(images)
        return {
            "images": np.arange(len(images)),
            "indptr": indptr,
            "labels": labels,
            "known_indptr": rows.indptr,
            "known_labels": rows.indices,
        }

    def rank(blocks: Iterable[RankBlock]) -> Iterator[RankResults]:
        settings = {"model": list(model), "top": top}
        return (RankResults(**results) for results in pool.map(FACTORY, settings, [task(block) for block in blocks]))

    return rank
