"""Everything this package raises on purpose.

A message is one sentence that names the file, line, column, option or id at fault and says what to do. The command
line prints it as it is; a traceback is for faults of ours.
"""

from collections.abc import Sequence


class VseError(Exception):
    """The parent of every error a user can cause or mend."""


class ConfigError(VseError, ValueError):
    """An option or argument has a value that cannot work."""


class DataError(VseError, ValueError):
    """A file, frame or matrix does not hold what was expected of it."""


class ModelError(DataError):
    """A model or checkpoint directory is missing, damaged, of another format, or cannot be written."""


class TrainingError(VseError):
    """Training went wrong: the numbers are no longer finite."""


class ClusterError(VseError):
    """A cluster cannot be reached, or its workers were lost faster than they could be replaced."""


class InsufficientMemoryError(VseError, MemoryError):  # noqa: N818  # what it is, not what went wrong: nothing was begun
    """The work would not fit into the memory that is left; it was not begun."""


class MissingPartError(VseError, ImportError):
    """An optional part is not installed; the message says how to get it."""


class UnknownIdError(VseError, KeyError):
    """An image or label id that the vocabulary does not hold, with the nearest ones it does."""

    def __init__(self, unknown: str, kind: str, nearest: Sequence[str] = ()) -> None:
        self.unknown = unknown
        self.kind = kind
        self.nearest = tuple(nearest)
        hint = f"; the nearest known: {', '.join(map(repr, self.nearest))}" if self.nearest else ""
        super().__init__(f"no {kind} {unknown!r} is known{hint}")

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0])
