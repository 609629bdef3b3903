"""The samplers by name: what each needs looked up. How each draws is in `vse_ens.kernels.samplers`.

| name | draws | cost |
|---|---|---|
| `uniform` | any label the image has not | O(1) |
| `popularity` | by how many images a label has | O(1) |
| `dns` | the best-scored of m uniform draws | O(m k) |
| `warp` | uniformly until one violates the margin | O(N k), N up to \\|A\\| - 1 |
| `vse-ens` | rank by eq. 8, factor by eq. 7, label from that factor's ranking | O(k) |
| `naive` | rank by eq. 8 on the exact ranking | O(\\|A\\| k) |
"""

from __future__ import annotations

import numpy as np

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.tables import Sampling
from vse_ens.train.distributions import alias_table, popularity_probabilities, rank_probabilities

# A label the image has is drawn again at most so often; at one label in two known, one draw in 2**64 would be given up.
_MAX_REDRAWS = 64


def make_sampling(config: Config, data: Annotations, factors: int) -> Sampling:
    """The tables of a configuration's sampler for vectors of so many factors; the first refresh fills the rankings."""
    labels = len(data.labels)
    threshold, alias = np.empty(0, np.float32), np.empty(0, np.int32)
    rankings = np.empty((0, 0), np.uint16)
    if config.sampler in ("vse-ens", "naive"):
        threshold, alias = alias_table(rank_probabilities(labels, config.rank_distribution, config.rank_scale))
    elif config.sampler == "popularity":
        threshold, alias = alias_table(popularity_probabilities(data.images_per_label, config.popularity_power))
    if config.sampler == "vse-ens":
        small = labels <= np.iinfo(np.uint16).max + 1  # half the memory, and half the misses
        rankings = np.zeros((factors + 1, labels), np.uint16 if small else np.int32)
    return Sampling(
        rankings=rankings,
        spread=np.zeros(factors + 1, np.float32),
        threshold=threshold,
        alias=alias,
        candidates=max(labels - 1, 1) if config.sampler == "warp" else config.candidates,
        max_redraws=_MAX_REDRAWS,
    )
