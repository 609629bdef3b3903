"""The pairs of one shard: images known by number alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.rows import Rows
from vse_ens.data.vocabulary import Vocabulary


def shard_images(images: int, shard: int, shards: int) -> NDArray[np.int64]:
    """The numbers of a shard's images: every ``shards``-th one, so that neighbours, which are often alike, are spread
    over all shards and each is a fair sample.
    """
    return np.arange(shard, images, shards)


def unnamed(rows: Rows, labels: int) -> Annotations:
    """Pairs by number as `Annotations`, their ids being the numbers."""
    return Annotations.trusted(_numbers(len(rows.indptr) - 1, "image"), _numbers(labels, "label"), *rows)


def _numbers(count: int, kind: str) -> Vocabulary:
    digits = pa.array(np.arange(count)).cast(pa.large_string())
    return Vocabulary.trusted(pc.utf8_lpad(digits, len(str(count)), "0"), kind)
