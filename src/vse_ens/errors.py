"""The exceptions that this package raises for errors a user can cause or fix.

A message is one sentence that names the file, line, column, option or id at fault and says what to do. The command line
prints the message; a traceback means a bug.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any


class VseError(Exception):
    """Base class of all errors that a user can cause or fix."""


class ConfigError(VseError, ValueError):
    """An option or argument has an invalid value."""


class DataError(VseError, ValueError):
    """A file, frame or matrix has invalid content."""


class ModelError(DataError):
    """A model or checkpoint directory is missing, damaged, in another format or not writable."""


class NotFiniteError(ModelError):
    """Vectors or scores of a model are not finite: its training diverged, or its file is damaged."""


class TrainingError(VseError):
    """Training diverged: the parameters are no longer finite."""


class ClusterError(VseError):
    """A cluster is unreachable, or its workers were lost faster than they could be replaced."""


class HubError(VseError):
    """The Hugging Face Hub cannot be reached, refuses a request, or has no model of this name."""


class InsufficientMemoryError(VseError, MemoryError):
    """The work needs more RAM than is available; it was not started."""


class MissingPartError(VseError, ImportError):
    """An optional dependency is not installed; the message says how to install it."""


def optional_library(module: str, missing: str, extra: str) -> Any:
    """Import a module of an optional dependency, which is in an ``extra``; ``missing`` says what needs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPartError(f"{missing}: pip install 'vse-ens[{extra}]'") from error


class UnknownIdError(VseError, KeyError):
    """An image or label id is not in the vocabulary; ``nearest`` has similar ids that are, ``example`` any one."""

    def __init__(self, unknown: str, kind: str, nearest: Sequence[str] = (), example: str | None = None) -> None:
        self.unknown = unknown
        self.kind = kind
        self.nearest = tuple(nearest)
        hint = "" if example is None else f"; there are {kind}s such as {example!r}"
        if self.nearest:
            hint = f"; did you mean {', '.join(map(repr, self.nearest))}?"
        super().__init__(f"unknown {kind} {unknown!r}{hint}")

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0])


MAX_LABEL = 1_000
"""Characters of the longest label that is read."""


class LongLabelError(DataError):
    """A label is longer than any label is meant to be, such as a text or a whole file in the column of labels."""

    def __init__(self, label: str) -> None:
        super().__init__(
            f"label {label[:40]!r} has {len(label):,} characters, more than {MAX_LABEL:,}; name the column of labels, "
            f"or shorten it"
        )
