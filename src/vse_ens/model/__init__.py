"""Trained models: scoring, search, saving and loading. Does not train."""

from vse_ens.exports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__, __file__)
