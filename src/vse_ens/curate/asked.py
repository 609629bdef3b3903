"""What suggestions are asked for: images of the model, lists of labels, or rows of features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.csr import take_rows
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError
from vse_ens.kernels.arrays import Csr
from vse_ens.model.loaded import LoadedModel


class Asked(NamedTuple):
    """The arguments of `vse_ens.curate.suggest.Suggester.suggest`, and how the answer is given."""

    images: NDArray[np.int64] | None
    rows: Csr | None
    features: Any
    ids: list[str] | None
    """The ids of the images in the order of the caller; None if there are none, or for one image."""
    is_one: bool = False
    """Whether the caller asked for one image, not for a list of them."""

    @classmethod
    def of(cls, loaded: LoadedModel, images: str | Iterable[str] | None, labels: Any, features: Any) -> Asked:
        """Return what the arguments of `vse_ens.Annotator.annotate` ask for."""
        if features is not None and images is not None:
            raise ConfigError("annotate takes images or the features of new images, not both")
        if features is None and (images is None) == (labels is None):
            raise ConfigError("annotate takes images or labels, exactly one of them")
        if isinstance(labels, str):  # for callers without type checks
            raise ConfigError(f"labels must be a list of label ids, got the text {labels!r}")
        is_one = labels is not None and all(isinstance(label, str) for label in labels)
        if features is not None:
            ids, matrix, is_one = loaded.feature_rows(features)
            lists = [[] for _ in range(matrix.shape[0])] if labels is None else [labels] if is_one else labels
            if len(lists) != matrix.shape[0]:
                raise ConfigError(f"annotate needs labels for each of {matrix.shape[0]} rows, got {len(lists)} lists")
            return cls(None, loaded.label_rows(lists), matrix, ids, is_one)
        if labels is not None:
            return cls(None, loaded.label_rows([labels] if is_one else labels), None, None, is_one)
        if isinstance(images, str):
            return cls(np.array([loaded.known.images.number(images)]), None, None, None, True)
        ids = list(images or ())
        return cls(loaded.known.images.numbers(ids), None, None, ids)

    @classmethod
    def all_of(cls, loaded: LoadedModel, features: Any) -> tuple[Vocabulary, Asked]:
        """Return all images that ``features`` name, or all of the model, with the labels that the model knows."""
        known = loaded.known
        if features is None:
            return known.images, cls(None, None, None, None)
        ids, matrix, _ = loaded.feature_rows(features)
        if ids is None:
            raise ConfigError("features must name their images; give a mapping, a frame, a path or a FeatureTable")
        images = Vocabulary.from_ids(ids, "image")
        at = known.images.translate(images)
        counts = np.where(at >= 0, known.labels_per_image[at], 0)
        rows = Csr(np.concatenate([[0], np.cumsum(counts)]), known.rows(at[at >= 0]).indices)
        return images, cls(None, rows, matrix[np.argsort(images.numbers(ids))], ids)

    def named(self, known: Vocabulary) -> tuple[Vocabulary | None, Asked]:
        """Return the vocabulary of the images, for a frame, and the same in its order; None for lists of labels."""
        if self.rows is None:
            return known, self
        if self.ids is None:
            return None, self
        names = Vocabulary.from_ids(self.ids, "image")
        order = np.argsort(names.numbers(self.ids))
        return names, self._replace(rows=take_rows(*self.rows, order), features=self.features[order])
