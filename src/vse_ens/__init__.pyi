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
from vse_ens.portable import use_portable_cpu as use_portable_cpu
from vse_ens.streams import Streams as Streams

__version__: str
__all__: list[str]
