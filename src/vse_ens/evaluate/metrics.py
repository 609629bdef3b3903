"""Ranking metrics per image, each the expected value over all orders of tied labels.

A metric is a function of `TieRanks` that returns one value per image; reports show the mean over images. Symbols in
the formulas are as in `TieRanks`: a tie of ``t`` candidates, ``m`` of them held out, comes after ``a`` candidates,
``h`` of them held out; ``n`` of its ranks are within the first N; ``o`` candidates are not held out. A held-out label
that the model does not rank counts as held out and adds nothing to a metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import ConfigError
from vse_ens.evaluate.rankings import Rankings

TOPS = (1, 5, 10)
"""Default cut-offs N of the metrics at N."""

Numbers = NDArray[np.float64]


def per_image(rankings: Rankings, tops: Sequence[int] = TOPS) -> dict[str, Numbers]:
    """Return all metrics that have a value per image, by name."""
    if not tops or min(tops) < 1:
        raise ConfigError(f"top must be whole numbers of at least 1, got {list(tops)}")
    ranks = TieRanks.from_rankings(rankings)
    at = {
        "precision": precision,
        "recall": recall,
        "hit": hit,
        "ndcg": ndcg,
        "auc": auc_at,
    }
    return {
        **{f"{name}@{top}": metric(ranks, top) for name, metric in at.items() for top in sorted(set(tops))},
        "map": average_precision(ranks),
        "mrr": reciprocal_rank(ranks),
        "auc": auc(ranks),
    }


def precision(ranks: TieRanks, top: int) -> Numbers:
    """precision@N: the number of held-out labels within the first N, divided by N even if fewer are ranked.

    A tie contributes m n / t labels.
    """
    return ranks.total(ranks.per_rank(ranks.within(top))) / top


def recall(ranks: TieRanks, top: int) -> Numbers:
    """recall@N: the fraction of the image's held-out labels that are within the first N.

    A tie contributes m n / t labels.
    """
    return ranks.mean(ranks.per_rank(ranks.within(top)))


def hit(ranks: TieRanks, top: int) -> Numbers:
    """hit@N: 1 if at least one held-out label is within the first N, else 0.

    The best tie with a held-out label decides: 1 - C(t - m, n) / C(t, n), the probability that the n ranks of the tie
    within the first N do not all go to the t - m other labels.
    """
    first = ranks.starts
    tied, own, within = ranks.tied[first], ranks.own_tied[first], ranks.within(top)[first]
    missed = np.ones(len(first))
    for rank in range(top):
        others = np.divide(tied - own - rank, tied - rank, out=np.zeros_like(tied), where=tied > rank)
        missed *= np.where(rank < within, np.maximum(others, 0.0), 1.0)
    return 1.0 - missed


def ndcg(ranks: TieRanks, top: int) -> Numbers:
    """nDCG@N: the sum of 1 / log2(1 + rank) over held-out labels within the first N, divided by the maximum.

    The maximum has the held-out labels, at most N, at the first ranks. A tie contributes m / t times the sum over its
    ranks within the first N.
    """
    gains = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(2, top + 2)))])
    begin = np.minimum(ranks.above, top).astype(np.int64)
    end = begin + ranks.within(top).astype(np.int64)
    ideal = np.minimum(ranks.held_out, top).astype(np.int64)
    gained: Numbers = ranks.total(ranks.per_rank(gains[end] - gains[begin])) / gains[ideal]
    return gained


def average_precision(ranks: TieRanks) -> Numbers:
    """map: the mean over held-out labels of the precision at the rank of each, 0 if it is not ranked.

    A tie contributes the sum over its ranks j = 1..t of m / t (h + 1 + (j - 1)(m - 1) / (t - 1)) / (a + j). With
    S = 1 / (a + 1) + ... + 1 / (a + t) that is m / t ((h + 1) S + (m - 1) / (t - 1) (t - (a + 1) S)).
    """
    inverse = _inverse_ranks(ranks)
    spread = _ratio(ranks.own_tied - 1.0, ranks.tied - 1.0)
    within = (ranks.own_above + 1.0) * inverse + spread * (ranks.tied - (ranks.above + 1.0) * inverse)
    return ranks.mean(ranks.per_rank(within))


def reciprocal_rank(ranks: TieRanks) -> Numbers:
    """mrr: 1 / rank of the first held-out label, 0 if none is ranked.

    The best tie with a held-out label decides: the sum over j of p(j) / (a + j), where the first of m labels among t
    is at position j with p(1) = m / t and p(j + 1) = p(j) (t - j - m + 1) / (t - j).
    """
    first = ranks.starts
    above, tied, own = ranks.above[first], ranks.tied[first], ranks.own_tied[first]
    result = ranks.per_rank(_inverse_ranks(ranks))[first]
    several = np.flatnonzero((own > 1) & (tied > 0))
    above, tied, own = above[several], tied[several], own[several]
    result[several] = 0.0
    probability, position = own / tied, 1
    while len(several):
        result[several] += probability / (above + position)
        more = tied - position >= own
        several, above, tied, own, probability = several[more], above[more], tied[more], own[more], probability[more]
        probability = probability * (tied - position - own + 1.0) / (tied - position)
        position += 1
    return result


def auc(ranks: TieRanks) -> Numbers:
    """auc: the fraction of pairs of a held-out label and a candidate not held out that are in the right order.

    A tied pair counts half: each label of a tie contributes 1 - (a - h + (t - m) / 2) / o, a label that is not ranked
    0. The value is 1 if every candidate is held out.
    """
    wrong = ranks.above - ranks.own_above + (ranks.tied - ranks.own_tied) / 2.0
    return ranks.mean(np.where(ranks.tied > 0, 1.0 - _ratio(wrong, ranks.others), 0.0))


def auc_at(ranks: TieRanks, top: int) -> Numbers:
    """auc@N: as `auc`, except that a held-out label outside the first N counts 1/2, as if placed at random.

    This must be how the paper computed its AUC column (docs/paper-numbers.md). Each label of a tie contributes
    n / t (1 - (a - h) / o) - n (n - 1) (t - m) / (2 t (t - 1) o) + (t - n) / (2 t).
    """
    within = ranks.within(top)
    before = _ratio(ranks.above - ranks.own_above, ranks.others)
    mixed = _ratio(ranks.tied - ranks.own_tied, (ranks.tied - 1.0) * ranks.others)
    inside = within * (1.0 - before) - within * (within - 1.0) / 2.0 * mixed
    ranked = ranks.per_rank(inside + (ranks.tied - within) / 2.0)
    return ranks.mean(np.where(ranks.tied > 0, ranked, 0.5))


def coverage(rankings: Rankings, top: int) -> float:
    """coverage@N: the fraction of all labels of the model that are within the first N of at least one image.

    Lists are those that users see, with equal scores in the order of ids.
    """
    shown = np.zeros(len(rankings.labels) + 1, dtype=bool)
    shown[rankings.top[:, :top]] = True  # -1, the padding of short lists, selects the extra element at the end
    return int(np.count_nonzero(shown[:-1])) / rankings.ranked_labels if rankings.ranked_labels else 0.0


def _inverse_ranks(ranks: TieRanks) -> Numbers:
    """S: the sum of 1 / rank over the ranks of each tie."""
    last = (ranks.above + ranks.tied).astype(np.int64)
    sums = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, last.max(initial=0) + 1))])
    single = 1.0 / (ranks.above + 1.0)
    return np.where(ranks.tied == 1, single, sums[last] - sums[ranks.above.astype(np.int64)])


def _ratio(part: Numbers, whole: Numbers) -> Numbers:
    """part / whole, or 0 if whole is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


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
