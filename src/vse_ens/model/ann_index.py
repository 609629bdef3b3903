"""Search past a million images: candidates from an approximate index, scored exactly.

What is searched for is sum_a (s_i(a) / T_i - log total_i) over the wanted labels a. All of it but the memory's part is
an inner product of (v_i / T_i, 1 / T_i, log total_i) and (sum v_a, sum b_a, -their number), and a graph of neighbours
(HNSW, by usearch) finds its largest values by looking at few images. The memory's part has too many dimensions for
that, but few labels make most of it: their images are candidates as well. Where several labels are wanted, an image may
be known to have some of them, and only the others count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vse_ens.data.csr import take_rows
from vse_ens.errors import MissingPartError, ModelError
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.gram_ridge import transpose_pairs
from vse_ens.model.embeddings import Floats
from vse_ens.model.search import Found, ImageSearch, Numbers, Query
from vse_ens.storage.atomic import replace_files

if TYPE_CHECKING:
    from usearch.index import Index

# Candidates of each kind for every image asked for, and the fewest; and the labels whose images the memory proposes. On
# the Open Images sample and IAPR-TC12, with a memory, these gave 0.99 of the exact first ten.
_CANDIDATES, _FEWEST_CANDIDATES = 50, 500
_SPEAKERS = 30
# The images known to have one of several wanted labels are all candidates where they are so many times as many at most.
_OWNERS = 4
# Where so much of all images would have to be scored, all of them are.
_LARGEST_SHARE = 0.25
_BLOCK = 65_536


@dataclass(frozen=True, eq=False)
class ImageIndex:
    """An `ImageSearch` that looks at a part of the images only; what it finds has the scores of the exact search."""

    search: ImageSearch
    graph: Index
    """Of the images' vectors as `_placed` has them."""

    @classmethod
    def build(cls, search: ImageSearch, *, threads: int = 0) -> ImageIndex:
        """Index all images: minutes for a million. ``threads`` of 0: all cores."""
        index = _usearch()(ndim=_width(search), metric="ip", dtype="f16")
        longest = max((float(np.linalg.norm(block, axis=1).max()) for _, block in _vectors(search)), default=1.0)
        for numbers, block in _vectors(search):
            index.add(numbers, _placed(block, longest), threads=threads)
        return cls(search, index)

    def save(self, path: str | Path) -> None:
        """Write the index file, whole or not at all."""
        with replace_files(Path(path)) as (partial,):
            self.graph.save(str(partial))

    @classmethod
    def load(cls, path: str | Path, search: ImageSearch) -> ImageIndex:
        """Open an index file of the same model as a memory map."""
        try:
            graph = _usearch().restore(str(path), view=True)
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"{path} is no index of images ({error}); build it again") from error
        if graph is None:
            raise ModelError(f"there is no index of images at {path}; build it first")
        if len(graph) != len(search.known.images) or graph.ndim != _width(search):
            raise ModelError(f"{path} is the index of another model; build it again")
        return cls(search, graph)

    def find(self, query: Query, top: int, *, tagged: bool = False) -> Found:
        """As `ImageSearch.find`, but an image of the exact answer may be missing."""
        wanted = query.wanted
        count = max(_CANDIDATES * top, _FEWEST_CANDIDATES)
        while len(wanted) and count < _LARGEST_SHARE * len(self.search.known.images):
            candidates = np.unique(np.concatenate(self._candidates(wanted, count, tagged)))
            found = self.search.find(query, top, tagged=tagged, among=candidates)
            if len(found.images) == top:
                return found
            count *= 8
        return self.search.find(query, top, tagged=tagged)

    def _candidates(self, wanted: Numbers, count: int, tagged: bool) -> list[Numbers]:
        asked = [wanted] if len(wanted) == 1 else [wanted, *wanted[:, None]]
        proposed = [self._near(labels, count) for labels in asked]
        proposed += [self._spoken_for(labels, count, tagged) for labels in asked]
        if len(wanted) > 1:
            few = wanted[self.search.known.images_per_label[wanted] <= _OWNERS * count]
            proposed.append(take_rows(*self._images_of, few).indices.astype(np.int64))
        return proposed

    def _near(self, wanted: Numbers, count: int) -> Numbers:
        embeddings = self.search.model.embeddings
        bias = embeddings.label_bias[wanted].sum()
        query = np.concatenate([embeddings.label_vectors[wanted].sum(axis=0), [bias, -len(wanted), 0.0]])
        return np.asarray(self.graph.search(query.astype(np.float32), count).keys).astype(np.int64)

    def _spoken_for(self, wanted: Numbers, count: int, tagged: bool) -> Numbers:
        memory = self.search.model.label_weights
        if memory is None or not self.search.model.label_weights_scale:
            return np.empty(0, np.int64)
        told = np.sum([memory.weights_for(int(label)) for label in wanted], axis=0)
        speakers = np.argsort(-told, kind="stable")[:_SPEAKERS]
        rows = take_rows(*self._images_of, speakers)
        images = len(self.search.known.images)
        spoken = np.bincount(rows.indices, np.repeat(told[speakers], np.diff(rows.indptr)), images)
        sums = spoken / self.search.temperatures(np.arange(images))
        if not tagged:
            owners = np.bincount(take_rows(*self._images_of, wanted).indices, minlength=images)
            sums[owners == len(wanted)] = -np.inf
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
    return search.model.embeddings.dimensions + 3


def _vectors(search: ImageSearch) -> Iterator[tuple[Numbers, Floats]]:
    """(v_i / T_i, 1 / T_i, log total_i), the last from its mean, in blocks."""
    totals = np.where(np.isfinite(search.log_totals), search.log_totals, np.float32(0.0))
    totals -= totals.mean() if len(totals) else np.float32(0.0)
    for first in range(0, len(totals), _BLOCK):
        numbers = np.arange(first, min(first + _BLOCK, len(totals)))
        inverse = 1.0 / search.temperatures(numbers)[:, None]
        vectors = search.model.embeddings.vectors(numbers, known=search.known)
        yield numbers, np.column_stack([vectors * inverse, inverse, totals[numbers]]).astype(np.float32)


def _placed(vectors: Floats, longest: float) -> Floats:
    """The same on a sphere of one more dimension: among vectors of one length the largest product is the nearest."""
    vectors = vectors / np.float32(longest)
    height = np.sqrt(np.maximum(1.0 - np.einsum("if,if->i", vectors, vectors), 0.0))
    return np.column_stack([vectors, height]).astype(np.float32)


def _usearch() -> type[Index]:
    try:
        from usearch.index import Index
    except ImportError as error:
        raise MissingPartError("an index of images needs the library usearch: pip install 'vse-ens[index]'") from error
    return Index
