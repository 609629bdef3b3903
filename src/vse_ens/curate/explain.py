"""Explanations: the contribution of every known label, and of every pair of labels, to a score.

The score of label a for an image with known labels N and label pairs C is a sum,

    s = b_a + v_a . (own vector) + sum_{b in N} (|N|^-1/2 v_a . u_b + w B_ba) + sum_{c in C} |C|^-1/2 v_a . u_c,

so its terms are exact contributions. Without a context tower, the image's own vector was itself trained on the known
labels, and a known label contributes only by the label weights B. What similar images have is one more term, and so is
what the features of the image say. Of an image without labels, that is the whole score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.arrow import rows_to_frame
from vse_ens.data.csr import take_rows
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.display import Table, TableRepr, rounded
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.attribution import PairContributions, context_contributions
from vse_ens.model.calibration import FEATURES, KIND_SHIFT, NOTHING
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model

Doubles = NDArray[np.float64]

_ALONE: dict[int, Literal["features", "frequency"]] = {FEATURES: "features", NOTHING: "frequency"}
_NEIGHBORS_NAMED, _IMAGES_SHOWN, _REASONS_SHOWN = 5, 2, 3
_SOURCE_NAMES = {
    "image": "the image's own vector",
    "features": "the image's features",
    "frequency": "how common the label is",
    "bias": "the label's own bias",
}


@dataclass(frozen=True)
class Reason:
    """A term of a score: of a known label, of a pair of known labels, of similar images, or of none of these."""

    labels: tuple[str, ...]
    share: float
    """The amount that it adds to the score."""
    source: Literal["labels", "neighbors", "image", "features", "frequency", "bias"] = "labels"
    """If there are no labels: similar images that have the label, the image's own vector or features, or the label's
    frequency or bias."""
    images: tuple[str, ...] = ()
    """The most similar images that have the label."""
    count: int = 0
    """The number of similar images that have the label."""

    @property
    def name(self) -> str:
        """The labels, or the source in words."""
        if self.source == "neighbors":
            return f"{self.count:,} similar image{'s' if self.count > 1 else ''}"
        return " + ".join(self.labels) or _SOURCE_NAMES[self.source]

    @property
    def described(self) -> str:
        """The name, with the most similar images."""
        more = ", ..." if self.count > _IMAGES_SHOWN else ""
        return f"{self.name}: {', '.join(self.images[:_IMAGES_SHOWN])}{more}" if self.images else self.name

    def __repr__(self) -> str:
        return f"Reason({self.name!r}, {self.share:+.3f})"


def reasons_text(reasons: Sequence[Reason]) -> str:
    """Return the first few reasons with their shares, such as ``sea (+1.20), sand (+0.42)``."""
    return ", ".join(f"{one.name} ({one.share:+.2f})" for one in reasons[:_REASONS_SHOWN])


@dataclass(frozen=True, repr=False)
class Explanation(TableRepr):
    """A label's score for an image, and the reasons that add up to it."""

    label: str
    score: float
    confidence: float | None
    reasons: tuple[Reason, ...]
    """Known labels and pairs by size of contribution, then the image's own vector and the label's bias."""
    left_out: bool = False
    """Whether the image has the label; it is then explained by the other labels, as if the image lacked it."""

    def to_frame(self, backend: str = "arrow") -> Any:
        """Return a frame with the columns reason, source and share; it is "arrow", "pandas" or "polars"."""
        rows = [(one.name, one.source, one.share) for one in self.reasons]
        return rows_to_frame(rows, {"reason": "string", "source": "string", "share": "float64"}, backend)

    def _tables(self) -> list[Table]:
        confidence = "" if self.confidence is None else f", confidence {rounded(self.confidence)}"
        left_out = ", explained by the other labels" if self.left_out else ""
        title = f"{self.label}: score {rounded(self.score)}{confidence}{left_out}"
        return [Table(("reason", "share"), [(one.described, one.share) for one in self.reasons], title)]


@dataclass(frozen=True, eq=False)
class Contributions:
    """The terms of one label's score for one image, by label number."""

    known: NDArray[np.int32]
    by_label: Doubles
    """One per known label."""
    label_pairs: NDArray[np.int32]
    """m x 2 label numbers."""
    by_pair: Doubles
    """One per label pair."""
    image: float
    bias: float
    neighbors: Reason | None = None
    features: float | None = None
    """What the features add."""
    alone: Literal["features", "frequency"] | None = None
    """Set for an image without labels: its score is ``features``, or comes from the ``frequency`` of the label."""

    @property
    def score(self) -> float:
        """The sum of all terms."""
        if self.alone:
            return self.features or 0.0
        neighbors = (self.neighbors.share if self.neighbors else 0.0) + (self.features or 0.0)
        return float(self.by_label.sum() + self.by_pair.sum() + self.image + self.bias + neighbors)

    def label_reasons(self, vocabulary: Vocabulary) -> list[Reason]:
        """Return the terms of known labels, label pairs and similar images by id, largest absolute value first."""
        ids = dict(zip(self.known.tolist(), vocabulary.ids(self.known), strict=True))
        labels = zip(self.known.tolist(), self.by_label.tolist(), strict=True)
        pairs = zip(self.label_pairs.tolist(), self.by_pair.tolist(), strict=True)
        single = [Reason((ids[label],), share) for label, share in labels]
        double = [Reason((ids[one], ids[other]), share) for (one, other), share in pairs]
        similar = [self.neighbors] if self.neighbors else []
        return sorted(single + double + similar, key=lambda reason: -abs(reason.share))

    def reasons(self, vocabulary: Vocabulary) -> tuple[Reason, ...]:
        """Return all terms by id; the image's own term is left out if it is 0."""
        if self.alone:
            return (Reason((), self.score, self.alone),)
        image = [Reason((), self.image, "image")] if self.image else []
        image += [Reason((), self.features, "features")] if self.features is not None else []
        return (*self.label_reasons(vocabulary), *image, Reason((), self.bias, "bias"))


def contributions(
    model: Model,
    known: Csr,
    labels: NDArray[np.integer],
    own: Floats | None,
    images: NDArray[np.integer] | None = None,
    features: Any = None,
) -> list[Contributions]:
    """Return the terms of the score of ``labels[i]`` for an image with the known labels of row i and vector ``own[i]``.

    Pass ``own=None`` if images have no own vectors. ``images`` are the numbers that `Model.scores_of` takes, and
    ``features`` the rows of features.
    """
    embeddings = model.embeddings
    numbers = labels.astype(np.int64)
    by_label = np.zeros(len(known.indices), np.float64)
    by_pair = PairContributions.allocate(known, embeddings.label_pair_table)
    if embeddings.has_context:
        context_contributions(
            known,
            numbers,
            embeddings.label_vectors,
            embeddings.input_vectors,
            embeddings.label_pair_table,
            by_label,
            by_pair,
        )
    kinds = model.evidence(known, images, features) >> KIND_SHIFT
    results = []
    found, found_for = None, (b"", -1)
    for row, label in enumerate(numbers.tolist()):
        first, last = known.indptr[row : row + 2]
        pairs = slice(by_pair.starts[row], by_pair.starts[row] + by_pair.counts[row])
        positives = known.indices[first:last]
        if model.label_weights is not None and model.label_weights_scale:
            weights = model.label_weights.weights_between(positives, label).astype(np.float64)
            by_label[first:last] += model.label_weights_scale * weights
        neighbors, term_of_features = None, None
        if kinds[row]:
            one, here = np.zeros((1, 1), np.float32), slice(row, row + 1)
            model.add_features(
                take_rows(*known, np.array([row])),
                None if images is None else images[here],
                one,
                None if features is None else features[here],
                labels=np.array([label]),
            )
            term_of_features = float(one[0, 0])
        if model.neighbors is not None:
            number = -1 if images is None else int(images[row])
            if found is None or found_for != (positives.tobytes(), number):  # the labels of an image come together
                found, found_for = model.neighbors.find(positives, number), (positives.tobytes(), number)
            term, count, first_images = found.with_label(label, _NEIGHBORS_NAMED)
            if term:
                ids = tuple(model.neighbors.known.images.ids(first_images))
                neighbors = Reason((), term, "neighbors", ids, count)
        image = 0.0 if own is None else float(own[row].astype(np.float64) @ embeddings.label_vectors[label])
        results.append(
            Contributions(
                positives,
                by_label[first:last],
                positives[by_pair.positions[pairs]],
                by_pair.values[pairs],
                image,
                float(embeddings.label_bias[label]),
                neighbors,
                term_of_features,
                _ALONE.get(int(kinds[row])),
            )
        )
    return results
