"""Search for images by labels, and for similar labels and images, by id."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vse_ens.data.arrow import rows_to_frame
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.display import ResultList, Table, rounded
from vse_ens.kernels.arrays import Csr
from vse_ens.model.ann_index import ImageIndex
from vse_ens.model.embeddings import Floats
from vse_ens.model.loaded import LoadedModel
from vse_ens.model.neighbors import NeighborTerms
from vse_ens.model.search import ImageSearch, Query, SearchResult
from vse_ens.model.similar import ImageSimilarity, Similar, similar_labels
from vse_ens.model.topk import TaskRunner


@dataclass(frozen=True)
class FoundImage:
    """An image found by a search."""

    image: str
    score: float
    """The logarithm of the probability that it has all wanted and no unwanted labels; comparable between images."""
    confidence: float | None
    """The product of the confidences of these labels; None if training held no labels out.

    It also depends on how many labels an image has and how complete each label is, and need not follow the score, which
    finds more of the right images (docs/benchmarks.md).
    """

    def __repr__(self) -> str:
        confidence = "" if self.confidence is None else f", confidence={rounded(self.confidence)}"
        return f"FoundImage({self.image!r}, score={rounded(self.score)}{confidence})"


class FoundImages(ResultList[FoundImage]):
    """The images found by a search, best first: a list that is shown as a table."""

    def to_frame(self, backend: str = "arrow") -> Any:
        """Return a frame with the columns image, score and confidence; it is "arrow", "pandas" or "polars"."""
        types = {"image": "large_string", "score": "float64", "confidence": "float64"}
        return rows_to_frame(self._rows(), types, backend)

    def _rows(self) -> list[tuple[str, float, float | None]]:
        return [(one.image, one.score, one.confidence) for one in self]

    def _tables(self) -> list[Table]:
        return [Table(("image", "score", "confidence"), self._rows(), bars=("confidence",))]


@dataclass(frozen=True)
class Neighbor:
    """An image or label that is similar to another."""

    id: str
    similarity: float
    """The cosine similarity, from -1 to 1."""

    def __repr__(self) -> str:
        return f"Neighbor({self.id!r}, similarity={rounded(self.similarity)})"


class Neighbors(ResultList[Neighbor]):
    """Similar images or labels, most similar first: a list that is shown as a table."""

    def to_frame(self, backend: str = "arrow") -> Any:
        """Return a frame with the columns id and similarity; it is "arrow", "pandas" or "polars"."""
        return rows_to_frame(self._rows(), {"id": "large_string", "similarity": "float64"}, backend)

    def _rows(self) -> list[tuple[str, float]]:
        return [(one.id, one.similarity) for one in self]

    def _tables(self) -> list[Table]:
        return [Table(("id", "similarity"), self._rows(), bars=("similarity",))]


class Searcher:
    """Searches the images of a model. The first search scores all images once and keeps their softmax totals."""

    def __init__(self, loaded: LoadedModel, run: TaskRunner) -> None:
        self.loaded = loaded
        self._search = ImageSearch(loaded.model, loaded.known, temperature=loaded.temperature, run=run)
        self._similarity = ImageSimilarity(loaded.model.embeddings, loaded.known, run)

    def search(self, terms: list[str], top: int, *, tagged: bool, index: Path | None = None) -> FoundImages:
        """Return the best images, by an exact search or by the index file ``index``, which is created if missing."""
        query = Query.parse(terms, self.loaded.known.labels)
        result = (self._search if index is None else self._index(index)).find(query, top, tagged=tagged)
        ids = self.loaded.known.images.ids(result.images)
        confidences = self._confidences(result, query)
        return FoundImages(FoundImage(*one) for one in zip(ids, result.scores.tolist(), confidences, strict=True))

    def use_scan(self, log_totals: Floats, terms: NeighborTerms | None, pairs: Csr) -> None:
        """Take over what a scan of all images found: softmax totals, what neighbors add, and label pairs by number."""
        self._search.use_scan(log_totals, terms)
        self._similarity.use_label_pairs(pairs)

    def _index(self, path: Path) -> ImageIndex:
        if not path.exists():
            ImageIndex.build(self._search).save(path)
        return ImageIndex.load(path, self._search)

    def _confidences(self, result: SearchResult, query: Query) -> list[float] | list[None]:
        calibration, included = self.loaded.calibration, len(query.include)
        if calibration is None:
            return [None] * len(result.images)
        counts = self.loaded.evidence(result.images)[:, None]
        known = np.isposinf(result.label_scores)
        scores = np.where(known, np.float32(0.0), result.label_scores)
        probabilities = calibration.held_out_probabilities(scores, result.log_totals[:, None], counts)
        per_label = calibration.confidences(probabilities, counts, np.concatenate(query))
        per_label = np.where(known, np.float32(1.0), per_label)
        confidences = per_label[:, :included].prod(axis=1) * (1.0 - per_label[:, included:]).prod(axis=1)
        return confidences.tolist()  # type: ignore[no-any-return]

    def similar_labels(self, label: str, top: int) -> Neighbors:
        """Return the labels nearest to a label."""
        labels = self.loaded.known.labels
        return _by_id(similar_labels(self.loaded.model.embeddings, labels.number(label), top), labels)

    def similar_images(self, image: str, top: int) -> Neighbors:
        """Return the images nearest to an image."""
        known = self.loaded.known
        return _by_id(self._similarity.nearest(known.images.number(image), top), known.images)


def _by_id(near: Similar, vocabulary: Vocabulary) -> Neighbors:
    return Neighbors(
        Neighbor(*one) for one in zip(vocabulary.ids(near.numbers), near.similarities.tolist(), strict=True)
    )
