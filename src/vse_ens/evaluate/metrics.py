"""The metrics: for every image its expected value over all orders of tied labels.

Each is a function of a `Standing` and gives a value an image; what is reported is the mean over images. The symbols in
the formulas are those of `Standing`: a tie of ``t`` candidates, ``m`` of them held out, stands behind ``a`` candidates,
``h`` of them held out; ``n`` of its places are among the first N; ``o`` candidates are not held out. A held-out label
that the model does not rank has no place: it counts as held out, and adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vse_ens.errors import ConfigError
from vse_ens.evaluate.rankings import Rankings
from vse_ens.evaluate.ties import Numbers, TieRanks

TOPS = (1, 5, 10)
"""The N of the metrics at N, if not said otherwise."""


def per_image(rankings: Rankings, tops: Sequence[int] = TOPS) -> dict[str, Numbers]:
    """Every metric that has a value for each image, by name."""
    if not tops or min(tops) < 1:
        raise ConfigError(f"top must be whole numbers of at least 1, got {list(tops)}")
    standing = TieRanks.of(rankings)
    at = {
        "precision": precision,
        "recall": recall,
        "hit": hit,
        "ndcg": ndcg,
        "auc": auc_at,
    }
    return {
        **{f"{name}@{top}": metric(standing, top) for name, metric in at.items() for top in sorted(set(tops))},
        "map": average_precision(standing),
        "mrr": reciprocal_rank(standing),
        "auc": auc(standing),
    }


def precision(standing: TieRanks, top: int) -> Numbers:
    """precision@N: the held-out labels among the first N, divided by N, also where fewer than N are ranked.

    Of a tie: m n / t labels.
    """
    return standing.total(standing.per_place(standing.within(top))) / top


def recall(standing: TieRanks, top: int) -> Numbers:
    """recall@N: the share of the image's held-out labels that are among the first N.

    Of a tie: m n / t labels.
    """
    return standing.mean(standing.per_place(standing.within(top)))


def hit(standing: TieRanks, top: int) -> Numbers:
    """hit@N: 1 if one or more of the held-out labels are among the first N, else 0.

    Decided by the best tie with a held-out label: 1 - C(t - m, n) / C(t, n), the chance that not all of its n places
    among the first N go to the t - m others.
    """
    first = standing.starts
    tied, own, room = standing.tied[first], standing.own_tied[first], standing.within(top)[first]
    missed = np.ones(len(first))
    for place in range(top):
        taken = np.divide(tied - own - place, tied - place, out=np.zeros_like(tied), where=tied > place)
        missed *= np.where(place < room, np.maximum(taken, 0.0), 1.0)
    return 1.0 - missed


def ndcg(standing: TieRanks, top: int) -> Numbers:
    """nDCG@N: the sum of 1 / log2(1 + place) over held-out labels among the first N, divided by the largest possible.

    The largest possible has the held-out labels, at most N of them, in the first places. Of a tie: m / t times the sum
    over its places among the first N.
    """
    gains = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(2, top + 2)))])
    begin = np.minimum(standing.above, top).astype(np.int64)
    end = begin + standing.within(top).astype(np.int64)
    most = np.minimum(standing.held_out, top).astype(np.int64)
    gained: Numbers = standing.total(standing.per_place(gains[end] - gains[begin])) / gains[most]
    return gained


def average_precision(standing: TieRanks) -> Numbers:
    """map: the mean over held-out labels of the precision at each one's place, 0 for one that is not ranked.

    Of a tie: the sum over its places j = 1..t of m / t (h + 1 + (j - 1)(m - 1) / (t - 1)) / (a + j). With
    S = 1 / (a + 1) + ... + 1 / (a + t) that is m / t ((h + 1) S + (m - 1) / (t - 1) (t - (a + 1) S)).
    """
    inverse = _inverse_places(standing)
    spread = _share(standing.own_tied - 1.0, standing.tied - 1.0)
    within = (standing.own_above + 1.0) * inverse + spread * (standing.tied - (standing.above + 1.0) * inverse)
    return standing.mean(standing.per_place(within))


def reciprocal_rank(standing: TieRanks) -> Numbers:
    """mrr: 1 / the place of the first held-out label, 0 where none is ranked.

    Decided by the best tie with a held-out label: the sum over j of p(j) / (a + j), where the first of m labels among t
    is at place j with p(1) = m / t and p(j + 1) = p(j) (t - j - m + 1) / (t - j).
    """
    first = standing.starts
    above, tied, own = standing.above[first], standing.tied[first], standing.own_tied[first]
    result = standing.per_place(_inverse_places(standing))[first]
    several = np.flatnonzero((own > 1) & (tied > 0))
    above, tied, own = above[several], tied[several], own[several]
    result[several] = 0.0
    chance, place = own / tied, 1
    while len(several):
        result[several] += chance / (above + place)
        more = tied - place >= own
        several, above, tied, own, chance = several[more], above[more], tied[more], own[more], chance[more]
        chance = chance * (tied - place - own + 1.0) / (tied - place)
        place += 1
    return result


def auc(standing: TieRanks) -> Numbers:
    """auc: of all pairs of a held-out label and a candidate that is not held out, the share in the right order.

    A tied pair counts half: 1 - (a - h + (t - m) / 2) / o for each label of a tie; 0 for a label that is not ranked.
    Where every candidate is held out no pair can be wrong: 1.
    """
    wrong = standing.above - standing.own_above + (standing.tied - standing.own_tied) / 2.0
    return standing.mean(np.where(standing.tied > 0, 1.0 - _share(wrong, standing.others), 0.0))


def auc_at(standing: TieRanks, top: int) -> Numbers:
    """auc@N: as `auc`, with everything outside the first N unknown: a held-out label there counts as chance, 1/2.

    This is how the paper's AUC column must have been computed (docs/paper-numbers.md). For each label of a tie:
    n / t (1 - (a - h) / o) - n (n - 1) (t - m) / (2 t (t - 1) o) + (t - n) / (2 t).
    """
    room = standing.within(top)
    before = _share(standing.above - standing.own_above, standing.others)
    mixed = _share(standing.tied - standing.own_tied, (standing.tied - 1.0) * standing.others)
    inside = room * (1.0 - before) - room * (room - 1.0) / 2.0 * mixed
    ranked = standing.per_place(inside + (standing.tied - room) / 2.0)
    return standing.mean(np.where(standing.tied > 0, ranked, 0.5))


def coverage(rankings: Rankings, top: int) -> float:
    """coverage@N: the share of all labels the model ranks that are among the first N of one image or more.

    Lists as a user sees them: equal scores in the order of ids.
    """
    shown = np.zeros(len(rankings.labels) + 1, dtype=bool)
    shown[rankings.top[:, :top]] = True  # -1, where a list has ended, is the place behind the last label
    return int(np.count_nonzero(shown[:-1])) / rankings.ranked_labels if rankings.ranked_labels else 0.0


def _inverse_places(standing: TieRanks) -> Numbers:
    """S: the sum of 1 / place over the places of each tie."""
    last = (standing.above + standing.tied).astype(np.int64)
    sums = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, last.max(initial=0) + 1))])
    single = 1.0 / (standing.above + 1.0)
    return np.where(standing.tied == 1, single, sums[last] - sums[standing.above.astype(np.int64)])


def _share(part: Numbers, whole: Numbers) -> Numbers:
    """part / whole, 0 where there is no whole."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
