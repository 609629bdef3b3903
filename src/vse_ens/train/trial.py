"""Images of which one label is held out: all that a judge needs to know of the data."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.feature_matrix import plain_features
from vse_ens.data.splits import OneEach, one_label_each
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError

# Of how many images a label is held out: enough to see a difference of one point in recall, but never so many that what
# is left to learn from is another data set: a share of the images or, where images have many labels, of the pairs.
_MOST_IMAGES = 4_000
_MOST_SHARE = 0.2
_MOST_OF_PAIRS = 0.04
# With very many labels ranking them all takes its time after every epoch: fewer images do, but not too few.
_MOST_SCORES = 20_000_000
_ENOUGH_IMAGES = 1_000


class Trial(NamedTuple):
    """Some images, numbered anew from 0, with the labels that training sees and the one that it does not."""

    images: NDArray[np.int64]
    """Their numbers in the whole."""
    split: Split
    features: Any


def most_held_out(images: int, labels: int, pairs: int) -> int:
    """Of how many images a label is held out; of fewer where not as many have two."""
    share = math.ceil(max(_MOST_SHARE * images, _MOST_OF_PAIRS * pairs))
    return min(share, _MOST_IMAGES, max(_MOST_SCORES // max(labels, 1), _ENOUGH_IMAGES))


def choose_held_out(config: Config, data: Annotations) -> OneEach:
    """Which labels are kept from training; the pairs may be mapped into memory."""
    most = most_held_out(len(data.images), len(data.labels), data.pairs)
    chosen = one_label_each(data.indptr, config.seed, "validation", most)
    if not len(chosen.images):
        raise DataError(
            "no image has two labels, so that none can be held out and found by the others; bring more labels an "
            "image, or use --preset opt-auc"
        )
    return chosen


def make_trial(whole: Annotations, part: Annotations, chosen: OneEach) -> Trial:
    """The trial by the labels that were chosen of the whole, and are not in the part."""
    images = Vocabulary.trusted(whole.images.arrow.take(chosen.images), whole.images.kind)
    held_out = Annotations.trusted(
        images, whole.labels, np.arange(len(chosen.places) + 1), np.asarray(whole.indices[chosen.places])
    )
    known = Annotations.trusted(images, whole.labels, *part.rows(chosen.images))
    features = None if whole.features is None else plain_features(whole.features)[chosen.images]
    return Trial(chosen.images, Split(known, held_out), features)
