"""How often in an epoch the shards exchange what they changed: docs/scale.md has what more and fewer give and cost."""

from __future__ import annotations

import math

from vse_ens.config import Config

# A softmax draw does the work of dozens, so that an exchange costs little beside it: after so many times |A| ln |A|
# draws in every shard, and at most so often in an epoch.
_SOFTMAX_DRAWS = 0.25
_MOST_SOFTMAX = 8
# Draws with one negative are so quick that an exchange costs as much as tens of draws a label. Early on it pays, while
# all vectors are on their way from nothing; later once an epoch does, and somewhat more often with many shards.
_EARLY_EPOCHS, _EARLY = 5, 8
_SHARDS_AN_EXCHANGE, _MOST = 4, 4


def exchanges(config: Config, labels: int, pairs: int, epoch: int) -> int:
    """Of an epoch, counted from 0: as the configuration says, or by the data where it leaves that open."""
    if config.exchanges:
        return config.exchanges
    if config.loss != "softmax":
        return _EARLY if epoch < _EARLY_EPOCHS else max(1, min(_MOST, config.shards // _SHARDS_AN_EXCHANGE))
    draws = _SOFTMAX_DRAWS * labels * math.log(max(labels, 2))
    return max(1, min(_MOST_SOFTMAX, round(pairs / config.shards / draws)))
