"""Images for labels, with these and without those, ranked exactly.

Scores of one label cannot be compared across images: a softmax never sees what all scores of an image have in common.
What can be compared is a label's share of its image,

    q_i(a) = e^(s_i(a) / T_i) / sum_b e^(s_i(b) / T_i),    b over all labels the image is not known to have,

and from it the chance that the label is among n labels drawn so, n being how many an image has on average,

    P_i(a) = 1 - e^(-n q_i(a)).

An image is ranked by the logarithm of the chance that it has every wanted label and no unwanted one: the sum of
log P_i(a) over wanted labels and of log(1 - P_i(a)) = -n q_i(a) over unwanted ones. Without the second bound, an image
that has nothing to do with an unwanted label would be paid for it without limit. A label that an image is known to have
is certain: a wanted one costs nothing, an unwanted one rules the image out.

The scores of a few labels for many images, without the scores of all the others.
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
from vse_ens.model.topk import Run, Temperature, TopKScorer, in_turn, no_temperature

# Images whose scores for the asked labels are looked at together.
_BLOCK = 65_536

Numbers = NDArray[np.int64]


class Query(NamedTuple):
    """The numbers of the labels an image should have, and of those it should not."""

    wanted: Numbers
    unwanted: Numbers

    @classmethod
    def parse(cls, terms: Sequence[str], labels: Vocabulary) -> Query:
        """From label ids, a dash before those that are not wanted; an id that begins with a dash itself is wanted."""
        wanted, unwanted = set(), set()
        for term in terms:
            if term.startswith("-") and term not in labels:
                unwanted.add(labels.number(term[1:]))
            else:
                wanted.add(labels.number(term))
        if wanted & unwanted:
            label = labels.id(min(wanted & unwanted))
            raise ConfigError(f"the label {label!r} is both wanted and unwanted; leave one of the two out")
        if not wanted | unwanted:
            raise ConfigError("a search needs at least one label")
        return cls(np.array(sorted(wanted), np.int64), np.array(sorted(unwanted), np.int64))


class Found(NamedTuple):
    """Images, best first, equal ones in the order of numbers."""

    images: Numbers
    scores: NDArray[np.float64]
    """The logarithm of the chance that an image has what is wanted and nothing of what is not."""
    label_scores: Floats
    """images x labels: s_i(a) of the wanted labels, then of the unwanted ones; inf where the image is known to have
    it."""
    log_totals: Floats
    """log sum_b e^(s_i(b) / T_i)."""

    def joined(self, more: Found) -> Found:
        """Both."""
        return Found(
            np.concatenate([self.images, more.images]),
            np.concatenate([self.scores, more.scores]),
            np.concatenate([self.label_scores, more.label_scores]),
            np.concatenate([self.log_totals, more.log_totals]),
        )

    def leading(self, top: int) -> Found:
        """The best of them in their order, without those ruled out."""
        possible = np.flatnonzero(self.scores > -np.inf)
        if len(possible) > top:
            edge = np.partition(self.scores[possible], -top)[-top]
            possible = possible[self.scores[possible] >= edge]
        order = possible[np.lexsort((self.images[possible], -self.scores[possible]))][:top]
        return Found(self.images[order], self.scores[order], self.label_scores[order], self.log_totals[order])


class ImageSearch:
    """Searches all images that a model knows; ``known`` are the labels they are known to have.

    The first search scores all labels of all images once, for their totals, which are kept: 4 bytes an image.
    """

    def __init__(
        self, model: Model, known: Annotations, *, temperature: Temperature = no_temperature, run: Run = in_turn
    ) -> None:
        self.model = model
        self.known = known
        self.temperature = temperature
        self._run = run
        self._labels_per_image = max(1.0, known.pairs / max(1, int(np.count_nonzero(known.labels_per_image))))

    @cached_property
    def log_totals(self) -> Floats:
        """log sum_b e^(s_i(b) / T_i) of every image."""
        return self._totals_of(np.arange(len(self.known.images)))

    def temperatures(self, images: Numbers) -> Floats:
        """T_i of some images."""
        return self.temperature(self.known.indptr[images + 1] - self.known.indptr[images])

    def _totals_of(self, images: Numbers) -> Floats:
        suggester = TopKScorer(self.model, 1, temperature=self.temperature, run=self._run)
        blocks = [block.log_totals for block in suggester.of_images(self.known, images)]
        return np.concatenate([*blocks, np.empty(0, np.float32)])

    def find(self, query: Query, top: int, *, tagged: bool = False, among: Numbers | None = None) -> Found:
        """The ``top`` best images, of all or of those ``among``.

        Images that are known to have every wanted label already are found only if ``tagged``.
        """
        if top < 1:
            raise ConfigError(f"top must be at least 1, got {top}")
        columns = LabelColumns(self.model, np.concatenate(query))
        if among is None:
            images, totals = np.arange(len(self.known.images)), self.log_totals
        else:
            images, totals = among, self.log_totals[among] if "log_totals" in vars(self) else self._totals_of(among)
        best = self._score(columns, len(query.wanted), images[:0], totals[:0], tagged)
        for first in range(0, len(images), _BLOCK):
            block = slice(first, first + _BLOCK)
            found = self._score(columns, len(query.wanted), images[block], totals[block], tagged)
            best = best.joined(found).leading(top)
        return best

    def _score(self, columns: LabelColumns, wanted: int, images: Numbers, totals: Floats, tagged: bool) -> Found:
        scores = columns.scores(images, self.known)
        has = columns.known(images, self.known)
        powers = scores.astype(np.float64) / self.temperatures(images)[:, None] - totals[:, None]
        shares = np.exp(np.minimum(powers, 0.0))
        absent = -self._labels_per_image * shares
        with np.errstate(divide="ignore"):
            present = np.log(-np.expm1(absent))
        sums = np.where(has[:, :wanted], 0.0, present[:, :wanted]).sum(axis=1)
        sums += np.where(has[:, wanted:], -np.inf, absent[:, wanted:]).sum(axis=1)
        if wanted and not tagged:
            sums[has[:, :wanted].all(axis=1)] = -np.inf
        scores[has] = np.inf
        return Found(images, sums, scores, totals)


class LabelColumns:
    """Columns of the score matrix.

    A score is linear in the inputs of an image's labels, so that each input is multiplied by the label vectors once,
    not once for every image that has it.
    """

    def __init__(self, model: Model, labels: NDArray[np.int64]) -> None:
        self.labels = labels
        self._embeddings = model.embeddings
        self._vectors = model.embeddings.label_vectors[labels]
        self._inputs = model.embeddings.input_vectors @ self._vectors.T if model.embeddings.has_context else None
        self._told = (
            np.stack([model.label_weights.weights_of(int(label)) for label in labels])
            * np.float32(model.label_weights_scale)
            if model.label_weights is not None and model.label_weights_scale
            else None
        )

    def scores(self, images: NDArray[np.int64], known: Annotations) -> Floats:
        """images x labels: s_i(a)."""
        rows = known.rows(images)
        scores = np.zeros((len(images), len(self.labels)), np.float32)
        if self._inputs is not None:
            # The same tower, in a space with a dimension for each of the labels.
            context_vectors(Csr(*rows), self._inputs, self._embeddings.label_pair_table, scores)
        if len(self._embeddings.image_vectors):
            scores += self._embeddings.image_vectors[images] @ self._vectors.T
        scores += self._embeddings.label_bias[self.labels]
        if self._told is not None:
            image = np.repeat(np.arange(len(images)), np.diff(rows.indptr))
            for column, told in enumerate(self._told):
                scores[:, column] += np.bincount(image, told[rows.indices], len(images)).astype(np.float32)
        return scores

    def known(self, images: NDArray[np.int64], known: Annotations) -> NDArray[np.bool_]:
        """images x labels: whether the image is known to have the label."""
        rows = known.rows(images)
        image = np.repeat(np.arange(len(images)), np.diff(rows.indptr))
        has = np.zeros((len(images), len(self.labels)), np.bool_)
        for column, label in enumerate(self.labels):
            has[image[rows.indices == label], column] = True
        return has
