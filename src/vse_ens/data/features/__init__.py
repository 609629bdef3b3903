"""Image features: reading files, and the matrix they become."""

from typing import TYPE_CHECKING

from vse_ens.exports import lazy_exports

if TYPE_CHECKING:
    from vse_ens.data.features.attach import attach_features as attach_features
    from vse_ens.data.features.attach import plain_features as plain_features
    from vse_ens.data.features.read import read_features as read_features
    from vse_ens.data.features.read import read_scores as read_scores
    from vse_ens.data.features.table import FeatureTable as FeatureTable

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "attach": "attach_features plain_features",
        "read": "read_features read_scores",
        "table": "FeatureTable",
    },
)
