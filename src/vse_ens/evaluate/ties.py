"""Held-out pairs in the order of their ranking, with all that a tie means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vse_ens.evaluate.rankings import Rankings

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TieRanks:
    """For every held-out pair, image by image and best first; float64, for arithmetic.

    Candidates with equal scores form a tie. Its labels take the places ``above + 1`` to ``above + tied``, in every
    order with the same chance: a metric is its mean over all these orders.
    """

    above: Numbers
    """a: candidates before the tie."""
    tied: Numbers
    """t: candidates in the tie; 0 where the label is not ranked."""
    own_above: Numbers
    """h: held-out labels of the image before the tie."""
    own_tied: Numbers
    """m: held-out labels of the image in the tie, this one included."""
    others: Numbers
    """o: candidates of the image that are not held out."""
    starts: NDArray[np.int64]
    """The first pair of every image."""
    held_out: Numbers
    """For every image: its held-out labels, ranked or not."""

    @classmethod
    def of(cls, rankings: Rankings) -> TieRanks:
        """Sort the pairs of every image by place."""
        held_out, starts = rankings.held_out, rankings.indptr[:-1]
        image = np.repeat(np.arange(len(held_out)), held_out)
        # A label that is not ranked stands behind all candidates: no tie with a ranked one.
        order = np.lexsort((rankings.above, image))
        above, tied = rankings.above[order], rankings.tied[order]
        first = np.flatnonzero(np.diff(image, prepend=-1) | np.diff(above, prepend=-1))
        sizes = np.diff(first, append=len(above))
        ranked = np.add.reduceat(rankings.tied > 0, starts, dtype=np.int64)
        return cls(
            above=above.astype(np.float64),
            tied=tied.astype(np.float64),
            own_above=np.repeat(first - starts[image[first]], sizes).astype(np.float64),
            own_tied=np.repeat(sizes, sizes).astype(np.float64),
            others=np.repeat(rankings.candidates - ranked, held_out).astype(np.float64),
            starts=starts,
            held_out=held_out.astype(np.float64),
        )

    def total(self, values: Numbers) -> Numbers:
        """Sums over the pairs of every image."""
        return np.add.reduceat(values, self.starts)

    def mean(self, values: Numbers) -> Numbers:
        """Means over the pairs of every image, those not ranked included."""
        return self.total(values) / self.held_out

    def per_place(self, values: Numbers) -> Numbers:
        """Values of a whole tie divided by its places; 0 where the label is not ranked."""
        return np.divide(values, self.tied, out=np.zeros_like(values), where=self.tied > 0)

    def within(self, top: int) -> Numbers:
        """n: places of the tie among the first ``top``."""
        return np.clip(top - self.above, 0.0, self.tied)
