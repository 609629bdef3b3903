"""How often in an epoch the shards exchange what they changed: docs/scale.md has what more and fewer give and cost."""

from __future__ import annotations

import math

from vse_ens.config import Config

# A softmax draw does the work of dozens, so that an exchange costs little beside it: after half of |A| ln |A| draws in
# every shard, but no more than so often.
_MOST = 4
# Draws with one negative are so quick that an exchange costs as much as tens of draws a label. Early on it pays, while
# all vectors are on their way from nothing; later once an epoch does.
_EARLY_EPOCHS, _EARLY = 5, 8


def exchanges(config: Config, labels: int, pairs: int, epoch: int) -> int:
    """Of an epoch, counted from 0: as the configuration says, or by the data where it leaves that open."""
    if config.exchanges:
        return config.exchanges
    if config.loss != "softmax":
        return _EARLY if epoch < _EARLY_EPOCHS else 1
    draws = labels * math.log(max(labels, 2)) / 2
    return max(1, min(_MOST, round(pairs / config.shards / draws)))
