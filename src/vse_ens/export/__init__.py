"""Export of suggestions, vectors and indexes to files for other programs, and of models to the Hub."""

from vse_ens.exports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__, __file__)
