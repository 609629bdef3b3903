"""The paper's second contribution: is drawing by factors equivalent to drawing by inner products?

The paper proves that s*_i(a) of eq. 6 ranks labels as s_i(a) does. The sampler, however, draws from a mixture over
factors, p(a|i) = sum_f p(f|i) p(a|i,f), which is another distribution than the rank law on the ranking by s_i(a). Both
are computed here exactly, from an exact sort, for a trained model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.training import paper_config
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.engines import SerialEngine, Training
from vse_ens.train.sampling import rank_probabilities
from vse_ens.train.tables import padded

SAMPLERS = {"vse-ens": "VSE-ens", "naive": "naive", "uniform": "uniform"}
"""The compared samplers; all train with the hinge loss and the settings of VSE-ens."""

_IMAGES = 500

Floats = NDArray[np.float64]


def sampler_config(sampler: str, seed: int = 0) -> Config:
    """Return the paper's settings of VSE-ens with another sampler."""
    return paper_config("vse-ens", seed).override(sampler=sampler)


class Distributions(NamedTuple):
    """What each sampler draws for some images, one row per image and one column per label."""

    vse_ens: Floats
    naive: Floats
    ranks: NDArray[np.int64]
    """The rank of each label by s_i(a), from 1."""

    @classmethod
    def of(cls, images: NDArray[Any], labels: NDArray[Any], law: Floats) -> Distributions:
        """Compute the distributions of image vectors and label vectors for p(r) = ``law``, by exact sorts."""
        images, labels = images.astype(np.float64), labels.astype(np.float64)
        count = len(labels)
        # Position of every label in the list sorted by each factor (step 3 of the sampling process), from 0.
        positions = np.argsort(np.argsort(-labels, axis=0, kind="stable"), axis=0, kind="stable")
        weights = np.abs(images) * labels.std(axis=0)  # eq. 7
        totals = weights.sum(axis=1, keepdims=True)
        weights = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
        top, bottom = law[positions], law[count - 1 - positions]
        mixture = np.where(images > 0, weights, 0.0) @ top.T + np.where(images > 0, 0.0, weights) @ bottom.T
        ranking = np.argsort(np.argsort(-(images @ labels.T), axis=1, kind="stable"), axis=1, kind="stable")
        return cls(mixture, law[ranking], ranking + 1)


def total_variation(first: Floats, second: Floats) -> Floats:
    """Return the total variation distance of each row: 0 for the same distribution, 1 for disjoint ones."""
    return np.asarray(np.abs(first - second).sum(axis=-1) / 2.0)


def same_ranking(images: NDArray[Any], labels: NDArray[Any]) -> bool:
    """Return whether s*_i(a) of eq. 6 ranks all labels as s_i(a) does, for every image.

    Scores closer than the rounding of float64 are not compared.
    """
    images, labels = images.astype(np.float64), labels.astype(np.float64)
    mean, deviation = labels.mean(axis=0), labels.std(axis=0)
    standardized = np.divide(labels - mean, deviation, out=np.zeros_like(labels), where=deviation > 0)
    transformed = (np.abs(images) * deviation * np.sign(images)) @ standardized.T  # eq. 6, with eq. 7 not normalized
    scores = images @ labels.T
    order = np.argsort(-scores, axis=1)
    steps = np.diff(np.take_along_axis(transformed, order, axis=1), axis=1)
    tolerance = 1e-9 * np.abs(scores).max(initial=1.0)
    return bool((steps <= tolerance).all())


@dataclass
class EquivalenceObserver:
    """Collects the distances between the samplers while VSE-ens trains."""

    config: Config
    data: Annotations
    rows: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, epoch: int, model: Embeddings) -> None:
        """Add a row for the vectors after an epoch."""
        vectors = model.image_vectors
        count = len(vectors)
        chosen = np.argsort(Streams(0).child("equivalence").words(count), kind="stable")[:_IMAGES]
        dimensions = self.config.dimensions  # rows of the tables are padded
        images, labels = vectors[chosen, :dimensions], model.label_vectors[:, :dimensions]
        law = rank_probabilities(len(labels), self.config.rank_distribution, self.config.rank_scale, 0.0)
        vse_ens, naive, ranks = Distributions.of(images, labels, law)
        uniform = np.full_like(naive, 1.0 / len(labels))
        drawn = {"vse-ens": vse_ens, "naive": naive, "uniform": uniform}
        distances = {
            "vse-ens to naive": total_variation(vse_ens, naive),
            "uniform to naive": total_variation(uniform, naive),
            "vse-ens to uniform": total_variation(vse_ens, uniform),
        }
        self.rows.append(
            {
                "iteration": epoch,
                "images": len(chosen),
                "total_variation": {name: float(values.mean()) for name, values in distances.items()},
                "standard_error": {name: _standard_error(values) for name, values in distances.items()},
                "mean_rank": {name: float((p * ranks).sum(axis=1).mean()) for name, p in drawn.items()},
                "same_ranking": same_ranking(images, labels),
                "moved": moved_until_refresh(self.config, self.data, model) if epoch else None,
            }
        )


def moved_until_refresh(config: Config, data: Annotations, model: Embeddings) -> float:
    """Return how far the mean label moves in the list of a factor until the next refresh, as a share of the list.

    A copy of the model makes as many steps as there are between two refreshes.
    """
    copy = padded(model)
    before = copy.label_vectors.copy()
    with Workers(1) as workers:
        engine = SerialEngine(Training.of(config, data, copy, workers))
        engine.trace(engine.refresh_period, config.learning_rate, Streams(config.seed).child("moved"))
    places = [
        np.argsort(np.argsort(-vectors[:, : config.dimensions], axis=0, kind="stable"), axis=0)
        for vectors in (before, copy.label_vectors)
    ]
    return float(np.abs(places[0] - places[1]).mean() / len(before))


def _standard_error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
