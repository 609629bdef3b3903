"""Images for labels, and what is like what, by id."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.model.ann_index import ImageIndex
from vse_ens.model.loaded import LoadedModel
from vse_ens.model.search import Found, ImageSearch, Query
from vse_ens.model.similar import Similar, similar_images, similar_labels
from vse_ens.model.topk import TaskRunner


@dataclass(frozen=True)
class FoundImage:
    """An image that may have what was searched for."""

    image: str
    score: float
    """The logarithm of the chance that it has all that is wanted and nothing that is not, as far as images can be
    compared by it."""
    confidence: float | None
    """The same chance by what was learnt on held-out labels; None where training held none out."""


@dataclass(frozen=True)
class Neighbour:
    """An image or a label that is like another."""

    id: str
    similarity: float
    """From -1 to 1."""


class Searcher:
    """Searches the images of a model. The first search looks at all of them once, for what they have in common."""

    def __init__(self, loaded: LoadedModel, run: TaskRunner) -> None:
        self.loaded = loaded
        self._search = ImageSearch(loaded.model, loaded.known, temperature=loaded.temperature, run=run)

    def search(self, terms: list[str], top: int, *, tagged: bool, index: Path | None = None) -> list[FoundImage]:
        """The best images; through an index file, which is made where there is none, if one is given."""
        query = Query.parse(terms, self.loaded.known.labels)
        found = (self._search if index is None else self._index(index)).find(query, top, tagged=tagged)
        ids = self.loaded.known.images.ids(found.images)
        sure = self._confidences(found, len(query.wanted))
        return [FoundImage(*one) for one in zip(ids, found.scores.tolist(), sure, strict=True)]

    def _index(self, path: Path) -> ImageIndex:
        if not path.exists():
            ImageIndex.build(self._search).save(path)
        return ImageIndex.load(path, self._search)

    def _confidences(self, found: Found, wanted: int) -> list[float] | list[None]:
        if self.loaded.calibration is None:
            return [None] * len(found.images)
        indptr = self.loaded.known.indptr
        counts = (indptr[found.images + 1] - indptr[found.images])[:, None]
        known = np.isposinf(found.label_scores)
        scores = np.where(known, np.float32(0.0), found.label_scores)
        sure = self.loaded.calibration.confidences(scores, found.log_totals[:, None], counts)
        sure = np.where(known, np.float32(1.0), sure)
        both = sure[:, :wanted].prod(axis=1) * (1.0 - sure[:, wanted:]).prod(axis=1)
        confidences: list[float] = both.tolist()
        return confidences

    def labels_like(self, label: str, top: int) -> list[Neighbour]:
        """The labels nearest to a label."""
        labels = self.loaded.known.labels
        return _by_id(similar_labels(self.loaded.model.embeddings, labels.number(label), top), labels)

    def images_like(self, image: str, top: int) -> list[Neighbour]:
        """The images nearest to an image."""
        known = self.loaded.known
        near = similar_images(self.loaded.model.embeddings, known, known.images.number(image), top)
        return _by_id(near, known.images)


def _by_id(near: Similar, vocabulary: Vocabulary) -> list[Neighbour]:
    return [Neighbour(*one) for one in zip(vocabulary.ids(near.numbers), near.similarities.tolist(), strict=True)]
