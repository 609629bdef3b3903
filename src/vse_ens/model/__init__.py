"""Trained models: scoring, search, saving and loading. Does not train."""

from typing import TYPE_CHECKING

from vse_ens.exports import lazy_exports

if TYPE_CHECKING:
    from vse_ens.model.ann_index import ImageIndex as ImageIndex
    from vse_ens.model.calibration import Calibration as Calibration
    from vse_ens.model.embeddings import Embeddings as Embeddings
    from vse_ens.model.loaded import LoadedModel as LoadedModel
    from vse_ens.model.loaded import ModelRef as ModelRef
    from vse_ens.model.model import Model as Model
    from vse_ens.model.search import ImageSearch as ImageSearch
    from vse_ens.model.search import Query as Query
    from vse_ens.model.search import SearchResult as SearchResult
    from vse_ens.model.similar import similar_images as similar_images
    from vse_ens.model.similar import similar_labels as similar_labels
    from vse_ens.model.store import StoredModel as StoredModel
    from vse_ens.model.store import load_model as load_model
    from vse_ens.model.store import save_model as save_model
    from vse_ens.model.topk import TopKScorer as TopKScorer
    from vse_ens.model.topk import TopLabels as TopLabels
    from vse_ens.model.weights import LabelWeights as LabelWeights

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "ann_index": "ImageIndex",
        "calibration": "Calibration",
        "embeddings": "Embeddings",
        "loaded": "LoadedModel ModelRef",
        "model": "Model",
        "search": "ImageSearch Query SearchResult",
        "similar": "similar_images similar_labels",
        "store": "StoredModel load_model save_model",
        "topk": "TopKScorer TopLabels",
        "weights": "LabelWeights",
    },
)
