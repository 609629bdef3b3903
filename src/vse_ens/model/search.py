"""Images for labels, with these and without those, ranked exactly.

Scores of one label cannot be compared across images: a softmax never sees what all scores of an image have in common.
What can be compared is a label's share of its image,

    q_i(a) = e^(s_i(a) / T) / sum_b e^(s_i(b) / T),    b over all labels the image is not known to have,

and from it the chance that the label is among n labels drawn so, n being how many an image has on average,

    P_i(a) = 1 - e^(-n q_i(a)).

An image is ranked by the logarithm of the chance that it has every wanted label and no unwanted one: the sum of
log P_i(a) over wanted labels and of log(1 - P_i(a)) = -n q_i(a) over unwanted ones. Without the second bound, an image
that has nothing to do with an unwanted label would be paid for it without limit. A label that an image is known to have
is certain: a wanted one costs nothing, an unwanted one rules the image out.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError
from vse_ens.model.columns import LabelColumns
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model
from vse_ens.model.suggesting import Run, Suggester, in_turn

# Images whose scores for the asked labels are looked at together.
_BLOCK = 65_536

Numbers = NDArray[np.int64]


class Found(NamedTuple):
    """Images, best first, equal ones in the order of numbers."""

    images: Numbers
    scores: NDArray[np.float64]
    """The logarithm of the chance that an image has what is wanted and nothing of what is not."""
    label_scores: Floats
    """images x labels: s_i(a) of the wanted labels, then of the unwanted ones; inf where the image is known to have
    it."""
    log_totals: Floats
    """log sum_b e^(s_i(b) / T)."""


class ImageSearch:
    """Searches all images that a model knows; ``known`` are the labels they are known to have.

    The first search scores all labels of all images once, for their totals, which are kept: 4 bytes an image.
    """

    def __init__(self, model: Model, known: Annotations, *, temperature: float = 1.0, run: Run = in_turn) -> None:
        self._model = model
        self._known = known
        self._temperature = temperature
        self._run = run
        self._labels_per_image = known.pairs / max(1, np.count_nonzero(known.labels_per_image))

    @cached_property
    def log_totals(self) -> Floats:
        """log sum_b e^(s_i(b) / T) of every image."""
        suggester = Suggester(self._model, 1, temperature=self._temperature, run=self._run)
        blocks = [block.log_totals for block in suggester.of_images(self._known)]
        return np.concatenate([*blocks, np.empty(0, np.float32)])

    def find(
        self,
        wanted: Numbers,
        unwanted: Numbers,
        top: int,
        *,
        tagged: bool = False,
        among: Numbers | None = None,
    ) -> Found:
        """The ``top`` best images for some labels by number, all of them or those ``among`` (rising).

        Images that are known to have every wanted label already are found only if ``tagged``.
        """
        if top < 1:
            raise ConfigError(f"top must be at least 1, got {top}")
        if not len(wanted) + len(unwanted):
            raise ConfigError("a search needs at least one label")
        images = np.arange(len(self._known.images)) if among is None else among
        columns = LabelColumns(self._model, np.concatenate([wanted, unwanted]))
        best = Found(np.empty(0, np.int64), np.empty(0), np.empty((0, len(columns.labels)), np.float32), np.empty(0, np.float32))
        for first in range(0, len(images), _BLOCK):
            block = self._score(columns, len(wanted), images[first : first + _BLOCK], tagged)
            best = _leading(Found(*(np.concatenate(pair) for pair in zip(best, block, strict=True))), top)
        return best

    def _score(self, columns: LabelColumns, wanted: int, images: Numbers, tagged: bool) -> Found:
        scores = columns.scores(images, self._known)
        has = columns.known(images, self._known)
        totals = self.log_totals[images]
        shares = np.exp(np.minimum(scores / np.float64(self._temperature) - totals[:, None], 0.0))
        absent = -self._labels_per_image * shares
        with np.errstate(divide="ignore"):
            present = np.log(-np.expm1(absent))
        sums = np.where(has[:, :wanted], 0.0, present[:, :wanted]).sum(axis=1)
        sums += np.where(has[:, wanted:], -np.inf, absent[:, wanted:]).sum(axis=1)
        if wanted and not tagged:
            sums[has[:, :wanted].all(axis=1)] = -np.inf
        scores[has] = np.inf
        return Found(images, sums, scores, totals)


def _leading(found: Found, top: int) -> Found:
    possible = np.flatnonzero(found.scores > -np.inf)
    order = possible[np.lexsort((found.images[possible], -found.scores[possible]))][:top]
    return Found(*(part[order] for part in found))
