"""Writing a directory of a JSON document, arrays and other files, sealed by a manifest: whole or not at all.

A directory that is replaced whole or not at all.

The new contents are written to a hidden sibling and moved into place when they are complete. Beside ``model`` there may
be, and after a kill there may stay until the next write:

    .model.lock       held by the one process that writes, by flock: the kernel lets go of it when that process ends
    .model.writing    what is being written; after the exchange, what was replaced
    .model.replaced   what was replaced, only on file systems that cannot exchange two directories

Whoever holds the lock owns the other two names, so what a dead writer left behind is known for what it is.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import io
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from vse_ens import __version__
from vse_ens.errors import ModelError
from vse_ens.storage.artifact import ARRAYS, MANIFEST, ArtifactSpec, Entry, canonical_json, manifest_bytes
from vse_ens.storage.tensors import shapes, write_tensors


@contextmanager
def writing(path: Path, kind: ArtifactSpec) -> Iterator[ArtifactWriter]:
    """Give a draft to add files to; when the block ends well it is sealed and takes the place of ``path``."""
    try:
        with replace_dir(path, kind.check_replaceable) as folder:
            draft = ArtifactWriter(folder, kind)
            yield draft
            with draft.file(MANIFEST) as manifest:
                manifest.write(manifest_bytes(draft.entries))
    except OSError as error:
        cause = f"{error.strerror or error}{f' ({error.filename})' if error.filename else ''}"
        raise ModelError(
            f"the {kind.noun} {path} could not be written: {cause}; see to that or choose another place"
        ) from error


@dataclass(frozen=True)
class ArtifactWriter:
    """A directory in the making: each file is hashed as it is written, and on the disk when it is done."""

    folder: Path
    kind: ArtifactSpec
    entries: dict[str, Entry] = field(default_factory=dict)

    @contextmanager
    def file(self, name: str) -> Iterator[HashedFile]:
        """Open a new file for writing."""
        with (self.folder / name).open("xb") as opened:
            hashed = HashedFile(opened)
            yield hashed
            opened.flush()
            os.fsync(opened.fileno())
        self.entries[name] = hashed.entry()

    def document(self, content: Mapping[str, Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write the JSON document: which format this is, ``content``, and what the arrays look like."""
        for name, values in content.items():
            _check_json(f"the {name} of a {self.kind.noun}", values)
        header = {"format": self.kind.format, "version": self.kind.version, "written_by": f"vse-ens {__version__}"}
        with self.file(self.kind.document) as file:
            file.write(canonical_json({**header, **content, "arrays": shapes(arrays)}))

    def arrays(self, arrays: Mapping[str, NDArray[Any]], *, finite: bool) -> None:
        """Write the arrays; with ``finite``, refuse numbers that are not."""
        with self.file(ARRAYS) as file:
            write_tensors(file, arrays, finite=finite)


class HashedFile(io.RawIOBase):
    """A file that knows the size and the SHA-256 of what has been written to it, so that it need not be read again."""

    def __init__(self, opened: BinaryIO) -> None:
        self._opened = opened
        self._size = 0
        self._digest = hashlib.sha256()

    def writable(self) -> bool:
        """Yes."""
        return True

    def tell(self) -> int:
        """How much has been written."""
        return self._size

    def write(self, content: Any, /) -> int:
        """Write bytes, all of them."""
        written = self._opened.write(content)
        self._digest.update(content)
        self._size += written
        return written

    def entry(self) -> Entry:
        """What the manifest is to say of this file."""
        return Entry(self._size, self._digest.hexdigest())


def _check_json(what: str, values: Mapping[str, Any]) -> None:
    """Refuse what would come back as something else: tuples, numbers as keys, NaN, NumPy numbers."""
    for name, value in values.items():
        try:
            same = json.loads(canonical_json({name: value})) == {name: value}
        except (TypeError, ValueError):
            same = False
        if not same:
            raise ModelError(
                f"{what} must be plain JSON (text, finite numbers, lists, objects with text keys), and {name!r} is not"
            )
