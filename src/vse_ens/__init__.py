"""Learn which labels belong to which image from nothing but (image, label) pairs.

    from vse_ens import Annotations, Annotator

    data = Annotations.read("pairs.csv")
    train, test = data.leave_one_out(seed=0)
    model = Annotator(seed=0).fit(train)
    model.annotate("img_17", top=5)

Names are resolved on first use, so that ``import vse_ens`` stays fast and loads neither numba nor pyarrow.
"""

from typing import TYPE_CHECKING

from vse_ens.exports import lazy_exports
from vse_ens.portable import portable_requested, use_portable_cpu

if TYPE_CHECKING:
    from vse_ens.annotator import Annotator as Annotator
    from vse_ens.completer import LabelCompleter as LabelCompleter
    from vse_ens.curate.suggest import Suggestion as Suggestion
    from vse_ens.data.annotations import Annotations as Annotations
    from vse_ens.data.vocabulary import Vocabulary as Vocabulary
    from vse_ens.errors import ConfigError as ConfigError
    from vse_ens.errors import DataError as DataError
    from vse_ens.errors import MissingPartError as MissingPartError
    from vse_ens.errors import ModelError as ModelError
    from vse_ens.errors import TrainingError as TrainingError
    from vse_ens.errors import UnknownIdError as UnknownIdError
    from vse_ens.errors import VseError as VseError
    from vse_ens.streams import Streams as Streams

__version__ = "0.3.0"

__getattr__, _exported = lazy_exports(
    __name__,
    {
        "annotator": "Annotator",
        "completer": "LabelCompleter",
        "curate.suggest": "Suggestion",
        "data.annotations": "Annotations",
        "data.vocabulary": "Vocabulary",
        "errors": "ConfigError DataError MissingPartError ModelError TrainingError UnknownIdError VseError",
        "streams": "Streams",
    },
)

__all__ = ["__version__", "use_portable_cpu", *_exported()]

if portable_requested():
    use_portable_cpu()


def __dir__() -> list[str]:
    return __all__
