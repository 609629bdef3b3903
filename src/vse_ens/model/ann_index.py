"""Approximate search for more than a million images: an index proposes candidates, which are scored exactly.

The search looks for large sums of s_i(a) / T_i - log total_i over the included labels a. Without label weights this is
the inner product of (v_i / T_i, 1 / T_i, log total_i) and (sum v_a, sum b_a, -number of labels), and a neighbor graph
(HNSW, by usearch) finds its largest values by visiting few images. Of images with features, both vectors have the main
directions of their predictions as well, and 1 / T_i is 0 if they have no labels. The part of the label weights has too
many dimensions for this, but few labels make up most of it, so the images of these labels are candidates too. In a
query for several labels, an image may be known to have some of them, and only the others count for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vse_ens.data.csr import take_rows
from vse_ens.errors import ModelError, optional_library
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.gram_ridge import transpose_pairs
from vse_ens.model.ann_file import check_graph_file
from vse_ens.model.embeddings import Floats
from vse_ens.model.search import ImageSearch, Numbers, Query, SearchResult
from vse_ens.storage.atomic import replace_file

if TYPE_CHECKING:
    from usearch.index import Index

# Candidates of each kind per requested image, with a minimum, and the labels with the largest label weights that
# propose their images. With label weights, on an Open Images sample and IAPR-TC12, 0.99 of the exact top 10 are found.
_CANDIDATES, _MIN_CANDIDATES = 50, 500
_PROPOSING_LABELS = 30
# In a query for several labels, all images of a label are candidates if they are at most this many times as many.
_MAX_OWNERS = 4
# All images are scored if the candidates are a larger part of them.
_MAX_CANDIDATE_SHARE = 0.25
# What is taken from the score of images with labels to find those without.
_HANDICAP = 50.0
_BLOCK = 65_536


@dataclass(frozen=True, eq=False)
class ImageIndex:
    """An `ImageSearch` that scores only candidates; the scores are as in the exact search."""

    search: ImageSearch
    graph: Index
    """The neighbor graph of the images' vectors, as `_on_sphere` returns them."""

    @classmethod
    def build(cls, search: ImageSearch, *, threads: int = 0) -> ImageIndex:
        """Index all images, which takes minutes per million; ``threads`` of 0 uses all cores."""
        index = _usearch().Index(ndim=_width(search), metric="ip", dtype="f16")
        longest = max((float(np.linalg.norm(block, axis=1).max()) for _, block in _vectors(search)), default=1.0)
        for numbers, block in _vectors(search):
            index.add(numbers, _on_sphere(block, longest), threads=threads)
        return cls(search, index)

    def save(self, path: str | Path) -> None:
        """Write the index file atomically."""
        with replace_file(Path(path)) as partial:
            self.graph.save(str(partial))

    @classmethod
    def load(cls, path: str | Path, search: ImageSearch) -> ImageIndex:
        """Check the index file of the same model, and memory-map it."""
        index = _usearch().Index
        try:
            check_graph_file(str(path), len(search.known.images), _width(search))
            graph = index.restore(str(path), view=True)
        except FileNotFoundError:
            raise ModelError(f"there is no image index {path}; build it first") from None
        except (OSError, RuntimeError, ValueError) as error:
            raise ModelError(f"{path} is not an image index of this model ({error}); build it again") from error
        if graph is None:
            raise ModelError(f"{path} cannot be mapped; build it again")
        return cls(search, graph)

    def find(self, query: Query, top: int, *, tagged: bool = False) -> SearchResult:
        """Search as `ImageSearch.find` does, except that an image of the exact result may be missing."""
        include = query.include
        count = max(_CANDIDATES * top, _MIN_CANDIDATES)
        while len(include) and count < _MAX_CANDIDATE_SHARE * len(self.search.known.images):
            candidates = np.unique(np.concatenate(self._candidates(include, count, tagged)))
            result = self.search.find(query, top, tagged=tagged, among=candidates)
            if len(result.images) == top:
                return result
            count *= 8
        return self.search.find(query, top, tagged=tagged)

    def _candidates(self, include: Numbers, count: int, tagged: bool) -> list[Numbers]:
        queries = [include] if len(include) == 1 else [include, *include[:, None]]
        proposed = [self._by_vectors(labels, count) for labels in queries]
        if self.search.model.features is not None:  # images with the labels would leave no room for those without any
            proposed += [self._by_vectors(labels, count, _HANDICAP) for labels in queries]
        proposed += [self._by_label_weights(labels, count, tagged) for labels in queries]
        if len(include) > 1:
            rare = include[self.search.known.images_per_label[include] <= _MAX_OWNERS * count]
            proposed.append(take_rows(*self._images_of, rare).indices.astype(np.int64))
        return proposed

    def _by_vectors(self, include: Numbers, count: int, handicap: float = 0.0) -> Numbers:
        embeddings, features = self.search.model.embeddings, self.search.model.features
        bias = embeddings.label_bias[include].sum() - handicap
        given = [] if features is None else features.label_directions[include].sum(axis=0)
        query = np.concatenate([embeddings.label_vectors[include].sum(axis=0), [bias, -len(include)], given, [0.0]])
        return np.asarray(self.graph.search(query.astype(np.float32), count).keys).astype(np.int64)

    def _by_label_weights(self, include: Numbers, count: int, tagged: bool) -> Numbers:
        label_weights = self.search.model.label_weights
        if label_weights is None or not self.search.model.label_weights_scale:
            return np.empty(0, np.int64)
        weights = np.sum([label_weights.weights_for(int(label)) for label in include], axis=0)
        proposing = np.argsort(-weights, kind="stable")[:_PROPOSING_LABELS]
        rows = take_rows(*self._images_of, proposing)
        images = len(self.search.known.images)
        weighted = np.bincount(rows.indices, np.repeat(weights[proposing], np.diff(rows.indptr)), images)
        sums = weighted / self.search.temperatures(np.arange(images))
        if not tagged:
            owned = np.bincount(take_rows(*self._images_of, include).indices, minlength=images)
            sums[owned == len(include)] = -np.inf
        return np.argpartition(-sums, count)[:count]

    @cached_property
    def _images_of(self) -> Csr:
        """The images of every label."""
        known = self.search.known
        indptr = np.concatenate([[0], np.cumsum(known.images_per_label)])
        images = np.empty(known.pairs, np.int32)
        transpose_pairs(Csr(known.indptr, known.indices), indptr[:-1].copy(), images)
        return Csr(indptr, images)


def _width(search: ImageSearch) -> int:
    features = search.model.features
    return search.model.embeddings.dimensions + 3 + (0 if features is None else features.label_directions.shape[1])


def _vectors(search: ImageSearch) -> Iterator[tuple[Numbers, Floats]]:
    """Yield (v_i / T_i, 1 / T_i, log total_i - its mean) in blocks."""
    totals = np.where(np.isfinite(search.log_totals), search.log_totals, np.float32(0.0))
    totals -= totals.mean() if len(totals) else np.float32(0.0)
    for first in range(0, len(totals), _BLOCK):
        numbers = np.arange(first, min(first + _BLOCK, len(totals)))
        inverse = 1.0 / search.temperatures(numbers)[:, None]
        vectors = search.model.embeddings.vectors(numbers, known=search.known) * inverse
        given, features = np.empty((len(numbers), 0)), search.model.features
        if features is not None:
            counts = search.known.labels_per_image[numbers]
            given = features.directions(numbers, counts) * inverse
            inverse[(counts == 0) & features.present[numbers]] = 0
        yield numbers, np.column_stack([vectors, inverse, totals[numbers], given]).astype(np.float32)


def _on_sphere(vectors: Floats, longest: float) -> Floats:
    """Return the vectors with one more dimension that makes their lengths equal.

    Among vectors of equal length, the one with the largest inner product is the nearest.
    """
    vectors = vectors / np.float32(longest)
    height = np.sqrt(np.maximum(1.0 - np.einsum("if,if->i", vectors, vectors), 0.0))
    return np.column_stack([vectors, height]).astype(np.float32)


def _usearch() -> Any:
    return optional_library("usearch.index", "an image index needs the library usearch", "index")
