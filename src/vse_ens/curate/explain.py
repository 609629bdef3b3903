"""Why a label: what every known label, and every combination of two, adds to its score.

The score of label a for an image with known labels N is a sum,

    s = b_a + v_a . (own part) + sum_{b in N} (|N|^-1/2 v_a . u_b + w B_ba) + sum_{c in C} |C|^-1/2 v_a . u_c,

so its terms are exact shares. Without the context tower the own part was itself trained on the known labels, and only
the memory's share of each is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.attribution import PairContributions, context_contributions
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.model.model import Model

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Reason:
    """A part of a score: of one known label, of a combination of two, or of none."""

    labels: tuple[str, ...]
    share: float
    source: Literal["labels", "image", "bias"] = "labels"
    """Without labels: the image's own vector, or how common the label is."""


@dataclass(frozen=True)
class Explanation:
    """A label's score for an image, and the reasons that add up to it."""

    label: str
    score: float
    confidence: float | None
    reasons: tuple[Reason, ...]
    """Those by labels first, the largest share in front; then the image's own and the label's bias."""


@dataclass(frozen=True, eq=False)
class Shares:
    """The parts of one label's score for one image, by number."""

    known: NDArray[np.int32]
    by_label: Doubles  # one for each of ``known``
    label_pairs: NDArray[np.int32]  # m x 2: labels
    by_combination: Doubles
    image: float
    bias: float

    @property
    def score(self) -> float:
        """The sum of all parts."""
        return float(self.by_label.sum() + self.by_combination.sum() + self.image + self.bias)

    def by_labels(self, vocabulary: Vocabulary) -> list[Reason]:
        """What known labels and combinations of them say, by id; the largest share in front."""
        ids = dict(zip(self.known.tolist(), vocabulary.ids(self.known), strict=True))
        single = [
            Reason((ids[b],), share) for b, share in zip(self.known.tolist(), self.by_label.tolist(), strict=True)
        ]
        combined = zip(self.label_pairs.tolist(), self.by_combination.tolist(), strict=True)
        double = [Reason((ids[one], ids[other]), share) for (one, other), share in combined]
        return sorted(single + double, key=lambda reason: -abs(reason.share))

    def reasons(self, vocabulary: Vocabulary) -> tuple[Reason, ...]:
        """All parts that are not empty."""
        image = [Reason((), self.image, "image")] if self.image else []
        return (*self.by_labels(vocabulary), *image, Reason((), self.bias, "bias"))


def own_parts(embeddings: Embeddings, images: NDArray[np.integer]) -> Floats | None:
    """The vectors that images have for themselves, whatever labels they have; None where the tower has none."""
    return np.asarray(embeddings.image_vectors[images]) if len(embeddings.image_vectors) else None


def shares(model: Model, known: Csr, labels: NDArray[np.integer], own: Floats | None) -> list[Shares]:
    """The parts of the score of ``labels[i]`` for an image with the labels of row i and the vector ``own[i]``."""
    embeddings = model.embeddings
    pairs = Csr(known.indptr, known.indices)
    by_label = np.zeros(len(known.indices), np.float64)
    combined = PairContributions.allocate(pairs, embeddings.label_pair_table)
    if embeddings.has_context:
        context_contributions(
            pairs,
            labels.astype(np.int64),
            embeddings.label_vectors,
            embeddings.input_vectors,
            embeddings.label_pair_table,
            by_label,
            combined,
        )
    found = []
    for row, label in enumerate(labels.tolist()):
        first, last = known.indptr[row : row + 2]
        start, count = combined.starts[row], combined.counts[row]
        owned = known.indices[first:last]
        if model.label_weights is not None and model.label_weights_scale:
            by_label[first:last] += model.label_weights_scale * model.label_weights.weights_between(owned, label).astype(np.float64)
        image = 0.0 if own is None else float(own[row].astype(np.float64) @ embeddings.label_vectors[label])
        found.append(
            Shares(
                owned,
                by_label[first:last],
                owned[combined.positions[start : start + count]],
                combined.values[start : start + count],
                image,
                float(embeddings.label_bias[label]),
            )
        )
    return found


def explain(
    model: Model,
    vocabulary: Vocabulary,
    known: Csr,
    labels: NDArray[np.integer],
    own: Floats | None = None,
    confidences: Iterable[float | None] | None = None,
) -> list[Explanation]:
    """`shares` by id: one explanation for each of ``labels``, with a confidence where it is given."""
    parts = shares(model, known, labels, own)
    return [
        Explanation(label, one.score, confidence, one.reasons(vocabulary))
        for label, one, confidence in zip(
            vocabulary.ids(labels), parts, confidences or [None] * len(parts), strict=True
        )
    ]
