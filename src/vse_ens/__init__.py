"""Learn which labels belong to which image from nothing but (image, label) pairs.

    from vse_ens import Annotations, Annotator

    data = Annotations.read("pairs.csv")
    train, test = data.leave_one_out(seed=0)
    model = Annotator(seed=0).fit(train)
    model.annotate("img_17", top=5)

Names are resolved on first use, so that ``import vse_ens`` stays fast and loads neither numba nor pyarrow.
"""

from vse_ens.exports import lazy_exports
from vse_ens.portable import portable_requested, use_portable_cpu

__version__ = "0.3.0"

__getattr__, _exported = lazy_exports(__name__, __file__)

__all__ = ["__version__", *_exported()]

if portable_requested():
    use_portable_cpu()


def __dir__() -> list[str]:
    return __all__
