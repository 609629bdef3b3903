"""Learning label weights: dense up to a number of labels, sparse beyond."""

from __future__ import annotations

from vse_ens.data.partition.store import Partition
from vse_ens.errors import ConfigError
from vse_ens.label_weights.closed_form import dense_label_weights
from vse_ens.label_weights.gram import gram_matrix
from vse_ens.label_weights.pairs import PairSource
from vse_ens.label_weights.sparse import sparse_label_weights
from vse_ens.model.checks import MAX_REGULARIZATION
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import Pool

DENSE_LABELS = 8_000
"""Up to this number of labels, every pair of labels has a weight. At 8,000 the closed form takes 10 s on one core and
0.8 GB (measured); its time grows with the cube."""

SUPPORT = 256
"""m: with more labels, a label is predicted from at most m others. On pairs held out of the Open Images sample, m = 32,
64, 128, 256 gave recall@10 0.695, 0.707, 0.711, 0.713 (all co-occurring labels 0.715, the closed form 0.720); doubling
m takes 2 to 4 times as long."""

ROW_POWER = 0.5
"""p: an image with n labels has the weight n^-p, so that images with many labels do not dominate. On pairs held out of
five data sets, with the best lambda of each, 0.5 instead of 0 changed recall@10 by -0.0002 to +0.004 and the reciprocal
rank by +0.0004 to +0.005; 1 was worse on two of them."""


def learn_label_weights(
    data: PairSource,
    regularization: float,
    pool: Pool,
    *,
    row_power: float = ROW_POWER,
    dense_labels: int = DENSE_LABELS,
    support: int = SUPPORT,
) -> LabelWeights:
    """Learn the weights that predict each label from the others of an image, by ridge regression.

    ``regularization``, lambda, is in images: labels that occur together on far fewer images have small weights. The
    workers of the pool count and solve; the closed form is computed in this process.
    """
    if not 0.0 < regularization <= MAX_REGULARIZATION:
        raise ConfigError(
            f"regularization of the label weights must be a number above 0 and at most {MAX_REGULARIZATION:g}, "
            f"got {regularization!r}"
        )
    labels = data.counts.labels if isinstance(data, Partition) else len(data.labels)
    if labels <= dense_labels:
        return LabelWeights(dense_label_weights(gram_matrix(data, pool, row_power), regularization))
    return sparse_label_weights(data, regularization, support, pool, row_power=row_power)
