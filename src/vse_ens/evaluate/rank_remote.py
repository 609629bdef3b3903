"""Ranking as tasks that any worker of a pool can do: a bench has a model, and a task is a block of images."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from vse_ens.data.annotations import Annotations
from vse_ens.evaluate.rank import Block, Ranker, rank_block
from vse_ens.evaluate.scorer import ModelScores
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.ranks import RankResults
from vse_ens.model.loaded import ModelRef, opened
from vse_ens.run.pool import Payload, Pool
from vse_ens.run.threads import Workers

FACTORY = f"{__name__}.RankTask"


class RankTask:
    """Ranks blocks of images by a model directory that it opens."""

    def __init__(self, settings: Payload, workers: Workers) -> None:
        self._model, self._known, _ = opened(ModelRef(*settings["place"]))
        self._top = settings["top"]
        self._workers = workers

    def __call__(self, task: Payload) -> Payload:
        """Where the held-out labels of a block stand."""
        # Kernels are compiled for arrays that may be written to; those of a cluster may not.
        own = {name: np.require(array, requirements="W") for name, array in task.items()}
        block = Block(own["images"], Csr(own["indptr"], own["labels"]))
        if "known_indptr" in own:
            known = Csr(own["known_indptr"], own["known_labels"])
            scores = ModelScores.of_labels(self._model, known, self._workers.run)
        else:
            known = Csr(self._known.indptr, self._known.indices)
            scores = ModelScores.of_known(self._model, self._known, self._workers.run)
        return rank_block(scores, len(self._known.labels), Csr(*known), block, self._top, self._workers)._asdict()


def remote_ranker(pool: Pool, place: ModelRef, top: int, known: Annotations | None = None) -> Ranker:
    """A ranker whose blocks are ranked by the workers of a pool.

    With ``known``, in the label numbers of the model, images are numbered as there and known by these labels alone: the
    workers get those of each block with it.
    """

    def task(block: Block) -> Payload:
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

    def rank(blocks: Iterable[Block]) -> Iterator[RankResults]:
        settings = {"place": list(place), "top": top}
        return (RankResults(**found) for found in pool.map(FACTORY, settings, [task(block) for block in blocks]))

    return rank
