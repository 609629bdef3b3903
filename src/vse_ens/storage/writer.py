"""Writing an artifact: a directory of a JSON document, arrays and other files, listed in a manifest."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from vse_ens import __version__
from vse_ens.errors import ModelError
from vse_ens.storage.artifact import ARRAYS, MANIFEST, ArtifactSpec, Entry, canonical_json, manifest_bytes
from vse_ens.storage.atomic import replace_dir
from vse_ens.storage.tensors import shapes, write_tensors


@contextmanager
def write_artifact(path: Path, spec: ArtifactSpec) -> Iterator[ArtifactWriter]:
    """Yield a writer to add files to; at the end of the block the directory with its manifest replaces ``path``."""
    with replace_dir(path, check=spec.check_replaceable, error=ModelError) as folder:
        writer = ArtifactWriter(folder, spec)
        yield writer
        with writer.file(MANIFEST) as manifest:
            manifest.write(manifest_bytes(writer.entries))


@dataclass(frozen=True)
class ArtifactWriter:
    """Adds files to a new artifact; each file is hashed as it is written."""

    folder: Path
    spec: ArtifactSpec
    entries: dict[str, Entry] = field(default_factory=dict)

    @contextmanager
    def file(self, name: str) -> Iterator[HashedFile]:
        """Open a new file for writing."""
        with (self.folder / name).open("xb") as file:
            hashed = HashedFile(file)
            yield hashed
        self.entries[name] = hashed.entry()

    def document(self, content: Mapping[str, Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write the JSON document: the format, ``content``, and the types and shapes of ``arrays``."""
        for name, values in content.items():
            _check_json(f"the {name} of a {self.spec.noun}", values)
        header = {"format": self.spec.format, "version": self.spec.version, "written_by": f"vse-ens {__version__}"}
        with self.file(self.spec.document) as file:
            file.write(canonical_json({**header, **content, "arrays": shapes(arrays)}))

    def arrays(self, arrays: Mapping[str, NDArray[Any]], *, finite: bool) -> None:
        """Write the arrays; with ``finite``, refuse infinities and NaN."""
        with self.file(ARRAYS) as file:
            write_tensors(file, arrays, finite=finite)


class HashedFile(io.RawIOBase):
    """A file open for writing that counts and hashes its bytes, so that it need not be read again."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = 0
        self._digest = hashlib.sha256()

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._size

    def write(self, content: Any, /) -> int:
        """Write all of ``content``."""
        written = self._file.write(content)
        self._digest.update(content)
        self._size += written
        return written

    def entry(self) -> Entry:
        """Return the manifest entry of this file."""
        return Entry(self._size, self._digest.hexdigest())


def _check_json(what: str, values: Mapping[str, Any]) -> None:
    """Raise for values that JSON would not return unchanged: tuples, numbers as keys, NaN, NumPy numbers."""
    for name, value in values.items():
        try:
            same = json.loads(canonical_json({name: value})) == {name: value}
        except (TypeError, ValueError):
            same = False
        if not same:
            raise ModelError(
                f"{what} must be plain JSON (text, finite numbers, lists, objects with text keys), and {name!r} is not"
            )
