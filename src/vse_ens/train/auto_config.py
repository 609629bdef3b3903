"""Settings that are left open, chosen from the shape of the data. docs/context.md says how the rules were found."""

from __future__ import annotations

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations

# With more labels an image the combinations outnumber what can be learnt of them.
_MOST_LABELS_AN_IMAGE = 12
_MOST_COMBINATIONS = 200_000
# Negatives are drawn about so many labels deep, and from so much of a small vocabulary at most.
_RANK_DEPTH = 200
_MOST_OF_LABELS = 0.55


def resolve_auto(config: Config, data: Annotations) -> Config:
    """The configuration with every setting that it leaves to the data filled in."""
    chosen: dict[str, float] = {}
    if config.rank_scale == 0.0:
        chosen["rank_scale"] = round(min(_MOST_OF_LABELS, _RANK_DEPTH / max(len(data.labels), 1)), 4)
    if config.label_pairs < 0:
        few = config.has_context and data.pairs <= _MOST_LABELS_AN_IMAGE * len(data.images)
        chosen["label_pairs"] = _MOST_COMBINATIONS if few else 0
    return config.override(**chosen)
