"""Ranking by a model: in this process, or by the workers of a pool, which open it and rank blocks of images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.data.partition.parts import number_ids
from vse_ens.evaluate.metrics import per_image
from vse_ens.evaluate.rank import DEFAULT_MEMORY, FunctionScorer, RankBlock, Ranker, evaluate, rank_block, rank_held_out
from vse_ens.evaluate.rankings import Rankings
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.ranks import RankResults
from vse_ens.model.embeddings import Floats
from vse_ens.model.loaded import LoadedModel, ModelRef
from vse_ens.model.model import Model
from vse_ens.model.topk import TaskRunner
from vse_ens.run.pool import Payload, Pool
from vse_ens.run.threads import Workers

FACTORY = f"{__name__}.RankTask"

Vectors = Callable[[NDArray[np.int64]], Floats]
"""From image numbers to v_i, one row per image."""

# Images per task: more are hardly faster and leave threads without work.
_TASK_ROWS = 128


@dataclass(frozen=True, eq=False)
class ModelScores:
    """Scores of all labels by a model, as a function of image numbers; ``known`` are the labels of all images.

    ``own`` are their numbers as `Model.scores_of` takes them. The scores of an image have the same bits in any block,
    for any number of threads and in any process. The vectors of the model must not change.
    """

    model: Model
    vectors: Vectors
    known: Csr
    own: NDArray[np.integer] | None
    run: TaskRunner

    @classmethod
    def of_known(cls, model: Model, known: Annotations, run: TaskRunner) -> ModelScores:
        """Score the images that the model was trained on."""
        return cls(
            model,
            lambda images: model.embeddings.vectors(images, known=known),
            Csr(known.indptr, known.indices),
            np.arange(len(known.images)),
            run,
        )

    @classmethod
    def of_labels(
        cls, loaded: LoadedModel, known: Csr, own: NDArray[np.integer] | None, run: TaskRunner
    ) -> ModelScores:
        """Score images by their labels as new ones; without a context tower, all of them are folded in now."""
        if loaded.model.embeddings.has_context:
            by_labels: Vectors = lambda images: loaded.vectors_by_labels(take_rows(*known, images))  # noqa: E731
            return cls(loaded.model, by_labels, known, own, run)
        vectors = loaded.vectors_by_labels(known)
        return cls(loaded.model, lambda images: vectors[images], known, own, run)

    def __call__(self, images: NDArray[np.int64]) -> Floats:
        """Return the scores of a block of images, one row per image."""
        scores = np.empty((len(images), len(self.model.embeddings.label_vectors)), np.float32)

        def task(rows: slice) -> Callable[[int], None]:
            return lambda _worker: self._fill(images[rows], scores[rows])

        self.run([task(slice(first, first + _TASK_ROWS)) for first in range(0, len(images), _TASK_ROWS)])
        return scores

    def _fill(self, images: NDArray[np.int64], scores: Floats) -> None:
        embeddings, rows = self.model.embeddings, take_rows(*self.known, images)
        np.add(embeddings.label_products.of(self.vectors(images)), embeddings.label_bias, out=scores)
        self.model.add_label_weights(rows, scores)
        own = None if self.own is None else self.own[images]
        self.model.add_neighbors(rows, own, scores)
        self.model.add_features(rows, own, scores)


class RankTask:
    """Opens a model directory and ranks blocks of images."""

    def __init__(self, settings: Payload, workers: Workers) -> None:
        self._loaded = LoadedModel.open(ModelRef(*settings["model"]))
        self._top = settings["top"]
        self._workers = workers

    def __call__(self, task: Payload) -> Payload:
        """Return the `RankResults` of a block."""
        # Kernels are compiled for writable arrays; those of a cluster are read-only.
        own = {name: np.require(array, requirements="W") for name, array in task.items()}
        block = RankBlock(own["images"], Csr(own["indptr"], own["labels"]))
        if "known_indptr" in own:
            known = Csr(own["known_indptr"], own["known_labels"])
            scores = ModelScores.of_labels(self._loaded, known, own["own"], self._workers.run)
        else:
            known = Csr(self._loaded.known.indptr, self._loaded.known.indices)
            scores = ModelScores.of_known(self._loaded.model, self._loaded.known, self._workers.run)
        labels = len(self._loaded.known.labels)
        return rank_block(scores, labels, known, block, self._top, self._workers)._asdict()


def rank_by_model(
    loaded: LoadedModel,
    test: Annotations,
    known: Annotations | None = None,
    remote: tuple[Pool, ModelRef] | None = None,
    *,
    top: int = 10,
    memory: int | None = None,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
    own: NDArray[np.int64] | None = None,
) -> Rankings:
    """Rank the labels of ``test``; with ``known``, images are scored by these labels instead of those of the training.

    ``own`` is then the number of each image of ``known`` in the model, or -1; by default it is found by its id.
    ``remote`` are the workers of a cluster and the saved model; the other arguments are as in `rank_held_out`.
    """
    shown = None if known is None else known.relabeled(loaded.known.labels)
    pairs = loaded.known if shown is None else shown
    memory = memory or DEFAULT_MEMORY
    if shown is not None and own is None:
        own = loaded.known.images.translate(shown.images)
    if remote is not None:
        rank = remote_ranker(*remote, top, shown, own)
        return rank_held_out(rank, pairs, test, top=top, memory=memory, progress=progress)
    with Workers(workers) as threads:
        if shown is None:
            scores = ModelScores.of_known(loaded.model, loaded.known, threads.run)
        else:
            scores = ModelScores.of_labels(loaded, Csr(shown.indptr, shown.indices), own, threads.run)
        scorer = FunctionScorer(pairs.images, pairs.labels, scores)
        return evaluate(scorer, pairs, test, top=top, memory=memory, workers=workers, progress=progress)


def remote_ranker(
    pool: Pool,
    model: ModelRef,
    top: int,
    known: Annotations | None = None,
    own: NDArray[np.int64] | None = None,
) -> Ranker:
    """Return a ranker that sends blocks to the workers of a pool; ``own``: as in `rank_by_model`.

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
            "own": np.full(len(images), -1) if own is None else own[images],
        }

    def rank(blocks: Iterable[RankBlock]) -> Iterator[RankResults]:
        settings = {"model": list(model), "top": top}
        return (RankResults(**results) for results in pool.map(FACTORY, settings, [task(block) for block in blocks]))

    return rank


def mean_reciprocal_rank(
    loaded: LoadedModel, data: Annotations, *, by_id: bool = True, workers: int | None = None
) -> float:
    """Return the mean reciprocal rank of the labels in ``data``, each ranked by the others; see `leave_each_out`."""
    known, test, own = leave_each_out(data, loaded.known, by_id=by_id)
    rankings = rank_by_model(loaded, test, known, top=1, workers=workers, own=own)
    return float(per_image(rankings, (1,))["mrr"].mean())


class LeftOut(NamedTuple):
    """One image per pair, in the order of the pairs."""

    known: Annotations
    """The labels that are known of its image, without the label of the pair; label ids are the model's."""
    test: Annotations
    """The label of the pair."""
    own: NDArray[np.int64]
    """The number of its image in ``known``, or -1."""


def leave_each_out(data: Annotations, known: Annotations, *, by_id: bool = True) -> LeftOut:
    """Return every pair of ``data`` as a question, with the labels of ``known``.

    The known labels of an image that ``known`` has are those that it has there. For other images, and for all if
    ``by_id`` is False, they are the other labels of the image in ``data``.
    """
    own = data.relabeled(known.labels)
    images = np.arange(len(data.images))
    found = known.images.translate(data.images) if by_id else np.full(len(images), -1)
    both = Csr(
        np.concatenate([known.indptr, own.indptr[1:] + known.pairs]), np.concatenate([known.indices, own.indices])
    )
    per_image = take_rows(*both, np.where(found >= 0, found, len(known.images) + images))
    rows = take_rows(*per_image, data.image_numbers())
    label = known.labels.translate(data.labels)[data.indices]
    sizes = np.diff(rows.indptr)
    others = rows.indices != np.repeat(label, sizes)
    indptr = np.concatenate([[0], np.cumsum(others, dtype=np.int64)])[rows.indptr]
    questions = number_ids(data.pairs, "image")
    return LeftOut(
        Annotations.trusted(questions, known.labels, indptr, rows.indices[others]),
        Annotations.trusted(questions, data.labels, np.arange(data.pairs + 1), data.indices),
        found[data.image_numbers()],
    )
