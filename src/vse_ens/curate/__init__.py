"""Uses of a trained model: suggestions, explanations, search and label audits."""

from vse_ens.exports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__, __file__)
