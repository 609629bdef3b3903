"""The label-label memory of some pairs, by the form that its number of labels can afford."""

from __future__ import annotations

from vse_ens.data.partition.store import Partition
from vse_ens.errors import ConfigError
from vse_ens.label_weights.closed_form import BLOCK, dense_label_weights, ram_needed
from vse_ens.label_weights.gram import PairSource, gram
from vse_ens.label_weights.sparse import MOST_SUMS, sparse_label_weights
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import Pool

DENSE_LABELS = 8_000
"""Up to so many labels every pair of them has a weight. At 8,000 the closed form takes 10 s of one core and 0.8 GB
(measured); its time grows with the cube."""

SUPPORT = 256
"""m, where there are more labels: how many a label is told from. On pairs held out of the Open Images sample 32, 64,
128, 256 gave recall@10 0.695, 0.707, 0.711, 0.713 (all that occur together 0.715, the closed form 0.720); twice as many
take 2 to 4 times as long."""

ROW_POWER = 0.5
"""p: an image with n labels counts for n^-p, so that those with many do not drown the others. On pairs held out of the
five data sets, with the best lambda of each, 0.5 against 0 changed recall@10 by -0.0002 to +0.004 and the reciprocal
rank by +0.0004 to +0.005; 1 lost on two of them."""

# The pairs read the other way, and what is made of a block of them on the way.
_BYTES_A_PAIR = 4
_BYTES_OF_A_BLOCK = 16 << 20
# Room for a support's label, sum and weight, and whether it is filled; where it is, what turning it into rows takes.
_BYTES_A_PLACE = 17
_BYTES_A_WEIGHT = 12


def learn_label_weights(
    data: PairSource,
    regularization: float,
    pool: Pool,
    *,
    row_power: float = ROW_POWER,
    dense_labels: int = DENSE_LABELS,
    support: int = SUPPORT,
) -> LabelWeights:
    """The weights that tell each label best from the others of an image, by ridge regression.

    ``regularization``, lambda, is in images: two labels that share far fewer than that say little of each other. The
    workers of the pool count and solve; the closed form is made in this process.
    """
    if not regularization > 0.0:
        raise ConfigError(f"regularization of the memory must be a number above 0, got {regularization!r}")
    labels = data.counts.labels if isinstance(data, Partition) else len(data.labels)
    if labels <= dense_labels:
        return LabelWeights(dense_label_weights(gram(data, pool, row_power), regularization))
    return sparse_label_weights(data, regularization, support, pool, row_power=row_power)


def learning_bytes(labels: int, pairs: int, meetings: int) -> int:
    """Bytes that `learn_memory` may need at its peak beside the data, with its own defaults: never much less.

    ``meetings`` is how many other labels the pairs' images have, summed over all pairs.
    """
    turned = _BYTES_A_PAIR * pairs + min(_BYTES_OF_A_BLOCK, 16 * pairs)
    if labels <= DENSE_LABELS:
        return int(1e9 * ram_needed(labels)) + 24 * min(labels, BLOCK) ** 2 + turned
    sums = 12 * min(MOST_SUMS, labels * (labels - 1) // 2, meetings)
    places = labels * SUPPORT
    return sums + _BYTES_A_PLACE * places + _BYTES_A_WEIGHT * min(places, meetings) + turned


def held_bytes(labels: int, meetings: int) -> int:
    """Bytes of the memory that `learn_memory` gives, at most."""
    return 4 * labels**2 if labels <= DENSE_LABELS else 8 * (labels + min(labels * SUPPORT, meetings))
