"""Exact search for images by labels to include and labels to exclude.

Scores of one label cannot be compared across images, because a softmax ignores a constant that is added to all scores
of an image. Comparable is the share of a label in its image,

    q_i(a) = e^(s_i(a) / T_i) / sum_b e^(s_i(b) / T_i),    b over all labels the image is not known to have,

and from it the probability that the label is among n labels drawn from these shares,

    P_i(a) = 1 - e^(-n q_i(a)),    n being the mean number of labels per image.

Images are ranked by the log probability of having every included and no excluded label: the sum of log P_i(a) over
included labels and of log(1 - P_i(a)) = -n q_i(a) over excluded ones. The second term is at most 0, so that an image
gains nothing by being ever less related to an excluded label. A label that an image is known to have is certain: an
included one costs nothing, an excluded one rules the image out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.context import context_vectors
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model
from vse_ens.model.neighbors import NeighborTerms
from vse_ens.model.products import row_products
from vse_ens.model.topk import TaskRunner, TemperatureFn, TopKScorer, run_serial, unit_temperature

# Images scored at a time.
_BLOCK = 65_536

Numbers = NDArray[np.int64]


class Query(NamedTuple):
    """The numbers of the labels that an image should have, and of those it should not have."""

    include: Numbers
    exclude: Numbers

    @classmethod
    def parse(cls, terms: Sequence[str], labels: Vocabulary) -> Query:
        """Parse label ids, where a leading dash excludes a label unless the id itself begins with a dash."""
        include, exclude = set(), set()
        for term in terms:
            if term.startswith("-") and term not in labels:
                exclude.add(labels.number(term[1:]))
            else:
                include.add(labels.number(term))
        if include & exclude:
            label = labels.id(min(include & exclude))
            raise ConfigError(f"the label {label!r} is both included and excluded; remove one of the two")
        if not include | exclude:
            raise ConfigError("a search needs at least one label")
        return cls(np.array(sorted(include), np.int64), np.array(sorted(exclude), np.int64))


class SearchResult(NamedTuple):
    """Images by number, best first, ties in the order of numbers."""

    images: Numbers
    scores: NDArray[np.float64]
    """The log probability that an image has every included and no excluded label."""
    label_scores: Floats
    """images x labels: s_i(a) of the included, then of the excluded labels; inf if the image is known to have it."""
    log_totals: Floats
    """log sum_b e^(s_i(b) / T_i)."""

    def concat(self, other: SearchResult) -> SearchResult:
        """Return the images of both results, in no particular order."""
        return SearchResult(
            np.concatenate([self.images, other.images]),
            np.concatenate([self.scores, other.scores]),
            np.concatenate([self.label_scores, other.label_scores]),
            np.concatenate([self.log_totals, other.log_totals]),
        )

    def best(self, top: int) -> SearchResult:
        """Return the ``top`` best images in order, without those ruled out."""
        possible = np.flatnonzero(self.scores > -np.inf)
        if len(possible) > top:
            lowest = np.partition(self.scores[possible], -top)[-top]
            possible = possible[self.scores[possible] >= lowest]
        order = possible[np.lexsort((self.images[possible], -self.scores[possible]))][:top]
        return SearchResult(self.images[order], self.scores[order], self.label_scores[order], self.log_totals[order])


class ImageSearch:
    """Searches all images of a model, given their ``known`` labels.

    The first search scores all labels of all images once for the totals, which are kept: 4 bytes per image.
    """

    def __init__(
        self,
        model: Model,
        known: Annotations,
        *,
        temperature: TemperatureFn = unit_temperature,
        run: TaskRunner = run_serial,
    ) -> None:
        self.model = model
        self.known = known
        self.temperature = temperature
        self._run = run
        self._terms: NeighborTerms | None = None
        self._labels_per_image = max(1.0, known.pairs / max(1, int(np.count_nonzero(known.labels_per_image))))

    @cached_property
    def log_totals(self) -> Floats:
        """log sum_b e^(s_i(b) / T_i) of every image."""
        return self._totals_of(np.arange(len(self.known.images)))

    @property
    def neighbor_terms(self) -> NeighborTerms | None:
        """What neighbors add to the scores of every image; None if the model has no neighbors."""
        if self._terms is None and self.model.neighbors is not None:
            self._terms = self.model.neighbors.all_terms(self._run)
        if self.model.features is not None:
            self.model.features.use_all_terms(self._run)
        return self._terms

    def use_scan(self, log_totals: Floats, terms: NeighborTerms | None) -> None:
        """Take over what a scan of all images has found."""
        self.log_totals, self._terms = log_totals, terms

    def temperatures(self, images: Numbers) -> Floats:
        """Return T_i of images."""
        return self.temperature(self.model.evidence(Csr(*self.known.rows(images)), images))

    def _totals_of(self, images: Numbers) -> Floats:
        scorer = TopKScorer(self.model, 1, temperature=self.temperature, run=self._run)
        blocks = [block.log_totals for block in scorer.of_images(self.known, images)]
        return np.concatenate([*blocks, np.empty(0, np.float32)])

    def find(self, query: Query, top: int, *, tagged: bool = False, among: Numbers | None = None) -> SearchResult:
        """Return the ``top`` best images, of all or ``among`` some.

        Images that are known to have every included label are returned only if ``tagged``.
        """
        if top < 1:
            raise ConfigError(f"top must be at least 1, got {top}")
        columns = LabelColumns(self.model, np.concatenate(query))
        terms = None
        if among is None:
            images, totals, terms = np.arange(len(self.known.images)), self.log_totals, self.neighbor_terms
        else:
            images, totals = among, self.log_totals[among] if "log_totals" in vars(self) else self._totals_of(among)
        included = len(query.include)
        best = self._score(columns, included, images[:0], totals[:0], None, tagged)
        for first in range(0, len(images), _BLOCK):
            block = slice(first, first + _BLOCK)
            found = self._score(columns, included, images[block], totals[block], terms, tagged)
            best = best.concat(found).best(top)
        return best

    def _score(
        self,
        columns: LabelColumns,
        included: int,
        images: Numbers,
        totals: Floats,
        terms: NeighborTerms | None,
        tagged: bool,
    ) -> SearchResult:
        """Score images; the first ``included`` columns are the included labels. ``terms`` are of all images."""
        part = terms.rows(int(images[0]), len(images)) if terms is not None and len(images) else None
        scores = columns.scores(images, self.known, part)
        has = columns.known(images, self.known)
        powers = scores.astype(np.float64) / self.temperatures(images)[:, None] - totals[:, None]
        shares = np.exp(np.minimum(powers, 0.0))
        absent = -self._labels_per_image * shares
        with np.errstate(divide="ignore"):
            present = np.log(-np.expm1(absent))
        sums = np.where(has[:, :included], 0.0, present[:, :included]).sum(axis=1)
        sums += np.where(has[:, included:], -np.inf, absent[:, included:]).sum(axis=1)
        if included and not tagged:
            sums[has[:, :included].all(axis=1)] = -np.inf
        scores[has] = np.inf
        return SearchResult(images, sums, scores, totals)


class LabelColumns:
    """Columns of the score matrix: the scores of a few labels for many images.

    A score is linear in the input vectors of an image's labels. Therefore each input vector is multiplied by the label
    vectors once, not once for every image that has it.
    """

    def __init__(self, model: Model, labels: NDArray[np.int64]) -> None:
        self.labels = labels
        self._embeddings = model.embeddings
        self._model = model
        self._vectors = model.embeddings.label_vectors[labels]
        self._inputs: Floats | None = None
        if model.embeddings.has_context:
            self._inputs = np.ascontiguousarray(row_products(self._vectors, model.embeddings.input_vectors).T)
        self._weights: Floats | None = None
        if model.label_weights is not None and model.label_weights_scale:
            weights = np.stack([model.label_weights.weights_for(int(label)) for label in labels])
            self._weights = weights * np.float32(model.label_weights_scale)

    def scores(self, images: NDArray[np.int64], known: Annotations, terms: NeighborTerms | None = None) -> Floats:
        """Return s_i(a), images x labels; ``terms`` are what neighbors add, if that has been computed."""
        return self.scores_of_rows(Csr(*known.rows(images)), images, terms)

    def scores_of_rows(self, rows: Csr, images: NDArray[np.int64], terms: NeighborTerms | None = None) -> Floats:
        """Return s_i(a) of images that have the labels of ``rows``, images x labels."""
        scores = np.zeros((len(images), len(self.labels)), np.float32)
        if self._inputs is not None:
            # The context tower in a space with one dimension per label of the query.
            context_vectors(rows, self._inputs, self._embeddings.label_pair_table, scores)
        if len(self._embeddings.image_vectors):
            scores += row_products(self._vectors, self._embeddings.own_vectors(images)).T
        scores += self._embeddings.label_bias[self.labels]
        if self._weights is not None:
            image = np.repeat(np.arange(len(images)), np.diff(rows.indptr))
            for column, weights in enumerate(self._weights):
                scores[:, column] += np.bincount(image, weights[rows.indices], len(images)).astype(np.float32)
        if self._model.neighbors is not None:
            terms = terms or self._model.neighbors.terms(rows, images)
            for column, label in enumerate(self.labels):
                where, values = terms.column(int(label), len(images))
                scores[where, column] += values
        self._model.add_features(rows, images, scores, labels=self.labels)
        return scores

    def known(self, images: NDArray[np.int64], known: Annotations) -> NDArray[np.bool_]:
        """Return whether each image is known to have each label, images x labels."""
        rows = known.rows(images)
        image = np.repeat(np.arange(len(images)), np.diff(rows.indptr))
        has = np.zeros((len(images), len(self.labels)), np.bool_)
        for column, label in enumerate(self.labels):
            has[image[rows.indices == label], column] = True
        return has
