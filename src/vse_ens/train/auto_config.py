"""Settings chosen from the shape of the data; docs/context.md says how the rules were found."""

from __future__ import annotations

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations

# With more labels per image there are too many label pairs to learn.
_MAX_LABELS_PER_IMAGE = 12
_MAX_LABEL_PAIRS = 200_000
# Negatives are drawn from about this many top ranks, and from at most this share of a small vocabulary.
_RANK_DEPTH = 200
_MAX_RANK_SCALE = 0.55


def resolve_auto(config: Config, data: Annotations) -> Config:
    """Return the configuration with every setting left to the data filled in."""
    resolved: dict[str, float] = {}
    if config.rank_scale == 0.0:
        resolved["rank_scale"] = round(min(_MAX_RANK_SCALE, _RANK_DEPTH / max(len(data.labels), 1)), 4)
    if config.label_pairs < 0:
        few = config.has_context and data.pairs <= _MAX_LABELS_PER_IMAGE * len(data.images)
        resolved["label_pairs"] = _MAX_LABEL_PAIRS if few else 0
    return config.override(**resolved)
