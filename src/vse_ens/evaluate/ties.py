"""Ranks of held-out pairs, with ties, as float64 arrays for the metrics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vse_ens.evaluate.rankings import Rankings

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TieRanks:
    """Ranks of all held-out pairs, grouped by image, best first.

    Candidates with equal scores form a tie, which occupies the ranks ``above + 1`` to ``above + tied``. All orders
    within a tie are equally likely: a metric is its mean over these orders.
    """

    above: Numbers
    """a: number of candidates before the tie."""
    tied: Numbers
    """t: number of candidates in the tie; 0 if the label is not ranked."""
    own_above: Numbers
    """h: number of held-out labels of the image before the tie."""
    own_tied: Numbers
    """m: number of held-out labels of the image in the tie, including this one."""
    others: Numbers
    """o: number of candidates of the image that are not held out."""
    starts: NDArray[np.int64]
    """Index of the first pair of each image."""
    held_out: Numbers
    """Number of held-out labels per image, ranked or not."""

    @classmethod
    def from_rankings(cls, rankings: Rankings) -> TieRanks:
        """Sort the pairs of each image by rank."""
        held_out, starts = rankings.held_out, rankings.indptr[:-1]
        image = np.repeat(np.arange(len(held_out)), held_out)
        # A label that is not ranked comes after all candidates, so it is never tied with a ranked one.
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
        """Return the sum over the pairs of each image."""
        return np.add.reduceat(values, self.starts)

    def mean(self, values: Numbers) -> Numbers:
        """Return the mean over the pairs of each image, including those that are not ranked."""
        return self.total(values) / self.held_out

    def per_rank(self, values: Numbers) -> Numbers:
        """Divide the values of whole ties by their sizes; 0 if the label is not ranked."""
        return np.divide(values, self.tied, out=np.zeros_like(values), where=self.tied > 0)

    def within(self, top: int) -> Numbers:
        """n: number of ranks of the tie that are within the first ``top``."""
        return np.clip(top - self.above, 0.0, self.tied)
