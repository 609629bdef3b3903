"""Image features: reading files, and the matrix they become."""

from vse_ens.exports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__, __file__)
