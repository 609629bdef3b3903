"""Search past a million images: candidates from an approximate index, scored exactly.

What is searched for is sum_a (s_i(a) - T log total_i) over the wanted labels a. Its part v_i . sum_a v_a - T log total_i
is an inner product, which a graph of neighbours (HNSW, by usearch) finds the largest of in a fraction of all images. The
memory's part has too many dimensions for that, but few labels make most of it: their images are the other candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.rows import Rows, take_rows
from vse_ens.data.whole_file import written_whole
from vse_ens.errors import MissingPartError, ModelError
from vse_ens.kernels.memory import turn_pairs
from vse_ens.kernels.tables import Pairs
from vse_ens.model.embeddings import Floats
from vse_ens.model.search import Found, ImageSearch, Numbers

if TYPE_CHECKING:
    from usearch.index import Index

# Candidates of each kind for every image asked for, and the fewest; and the labels whose images the memory proposes. On
# the Open Images sample and IAPR-TC12, with a memory, these gave 0.99 of the exact first ten.
_CANDIDATES, _FEWEST_CANDIDATES = 50, 500
_SPEAKERS = 30
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
        with written_whole(Path(path)) as (partial,):
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

    def find(self, wanted: Numbers, unwanted: Numbers, top: int, *, tagged: bool = False) -> Found:
        """As `ImageSearch.find`, but an image of the exact answer may be missing."""
        count = max(_CANDIDATES * top, _FEWEST_CANDIDATES)
        while len(wanted) and count < _LARGEST_SHARE * len(self.search.known.images):
            candidates = np.union1d(self._near(wanted, count), self._spoken_for(wanted, count, tagged))
            found = self.search.find(wanted, unwanted, top, tagged=tagged, among=candidates)
            if len(found.images) == top:
                return found
            count *= 8
        return self.search.find(wanted, unwanted, top, tagged=tagged)

    def _near(self, wanted: Numbers, count: int) -> Numbers:
        vector = self.search.model.embeddings.label_vectors[wanted].sum(axis=0)
        query = np.concatenate([vector, [-len(wanted), 0.0]]).astype(np.float32)
        return np.asarray(self.graph.search(query, count).keys).astype(np.int64)

    def _spoken_for(self, wanted: Numbers, count: int, tagged: bool) -> Numbers:
        memory = self.search.model.memory
        if memory is None or not self.search.model.memory_weight:
            return np.empty(0, np.int64)
        told = np.sum([memory.weights_of(int(label)) for label in wanted], axis=0)
        speakers = np.argsort(-told, kind="stable")[:_SPEAKERS]
        rows = take_rows(*self._images_of, speakers)
        sums = np.bincount(rows.indices, np.repeat(told[speakers], np.diff(rows.indptr)), len(self.search.known.images))
        if not tagged:
            owners = np.bincount(take_rows(*self._images_of, wanted).indices, minlength=len(sums))
            sums[owners == len(wanted)] = -np.inf
        return np.argpartition(-sums, count)[:count]

    @cached_property
    def _images_of(self) -> Rows:
        """The images of every label."""
        known = self.search.known
        indptr = np.concatenate([[0], np.cumsum(known.images_per_label)])
        images = np.empty(known.pairs, np.int32)
        turn_pairs(Pairs(known.indptr, known.indices), indptr[:-1].copy(), images)
        return Rows(indptr, images)
