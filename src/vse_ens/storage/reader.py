"""Reading an artifact: checked against its manifest, and memory-mapped.

All files are opened relative to one open directory, so that they belong together even if the path is replaced.
"""

from __future__ import annotations

import difflib
import hashlib
import io
import json
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from numpy.typing import NDArray

from vse_ens.errors import ModelError
from vse_ens.storage.artifact import MANIFEST, ArtifactSpec, Entry, parse_manifest
from vse_ens.storage.atomic import replaced_name
from vse_ens.storage.tensors import BLOCK_BYTES, map_tensors, not_finite, read_header, shapes

Result = TypeVar("Result")

# Between two attempts a writer may move the directory from the name tried last to the name tried first.
_OPEN_ATTEMPTS = 4


def read_artifact(path: Path, spec: ArtifactSpec, read: Callable[[ArtifactReader], Result]) -> Result:
    """Return the result of ``read`` on the artifact at ``path``; start again if it is replaced meanwhile."""
    while True:
        with ArtifactReader(path, spec) as reader:
            try:
                return read(reader)
            except ModelError:
                if reader.is_current():
                    raise


class ArtifactReader:
    """An open artifact directory; every error names the file and the fault."""

    def __init__(self, path: Path, spec: ArtifactSpec) -> None:
        self.path = path
        self.spec = spec
        self._descriptor = _open_folder(path, spec)
        self._entries: dict[str, Entry] = {}

    def __enter__(self) -> ArtifactReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def is_current(self) -> bool:
        """Whether the path still leads to this directory."""
        with ArtifactReader(self.path, self.spec) as now:
            return os.path.samestat(os.fstat(self._descriptor), os.fstat(now._descriptor))

    def document(self, *fields: str) -> dict[str, Any]:
        """Return the JSON document, which must have these fields, after a check of the manifest and all sizes."""
        self._read_manifest()
        document = self._parse_document()
        listed, expected = set(self._entries), self.spec.parts | {self.spec.document}
        if listed != expected:
            name = min(listed ^ expected)
            raise self.damaged(MANIFEST, f"it {'lists' if name in listed else 'does not list'} {name!r}")
        for name in sorted(self.spec.parts):
            with self._open(name):
                pass
        for name in (*fields, "arrays"):
            if not isinstance(document.get(name), dict):
                raise self.damaged(self.spec.document, f"it has no {name!r}")
        return document

    def text(self, name: str) -> str:
        """Return the contents of a small text file, always checked."""
        with self._open(name) as file:
            raw = file.read()
        self._check_digest(name, hashlib.sha256(raw).hexdigest())
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise self.damaged(name, "it is not UTF-8 text") from error

    def map(self, name: str) -> memoryview:
        """Return a file as a read-only memory map."""
        with self._open(name) as file:
            if not self._entries[name].size:  # an empty file cannot be mapped
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def verify(self, name: str, inspect: Callable[[int, memoryview], str | None] | None = None) -> None:
        """Read a file once, in blocks, and check its SHA-256.

        ``inspect`` is called with the offset and the bytes of each block and returns the fault it finds, or None.
        """
        digest = hashlib.sha256()
        buffer = memoryview(bytearray(BLOCK_BYTES))
        offset, fault = 0, None
        with self._open(name) as file:
            while count := file.readinto(buffer):
                block = buffer[:count]
                digest.update(block)
                if inspect is not None and fault is None:
                    fault = inspect(offset, block)
                offset += count
        # The digest comes first: a flipped byte is reported as such even if it has made a number infinite.
        self._check_digest(name, digest.hexdigest())
        if fault is not None:
            raise self.damaged(name, fault)

    def arrays(self, name: str, expected: dict[str, Any], *, verify: bool, finite: bool) -> dict[str, NDArray[Any]]:
        """Return the arrays of a safetensors file, memory-mapped; they must have the ``expected`` types and shapes.

        With ``verify`` the whole file is read and checked, with ``finite`` also for infinities and NaN.
        """
        mapped = self.map(name)
        try:
            tensors = read_header(mapped)
        except ValueError as error:
            raise self.damaged(name, str(error)) from error
        actual = shapes(tensors)
        for array in sorted(actual.keys() | expected.keys()):
            if actual.get(array) != expected.get(array):
                should, does = (described.get(array, "absent") for described in (expected, actual))
                raise self.damaged(name, f"the array {array!r} should be {should} and is {does}")

        def inspect(offset: int, block: memoryview) -> str | None:
            array = not_finite(tensors, offset, block)
            return None if array is None else f"the array {array!r} contains numbers that are not finite"

        if verify:
            self.verify(name, inspect if finite else None)
        return map_tensors(mapped, tensors)

    def damaged(self, name: str, fault: str) -> ModelError:
        """Return the error for a damaged file."""
        return ModelError(f"{self.path / name} is damaged: {fault}; {self.spec.remedy}")

    @contextmanager
    def _open(self, name: str) -> Iterator[io.BufferedReader]:
        """Open a file of this directory and check its size."""
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._descriptor)
            with os.fdopen(descriptor, "rb") as file:
                size = os.fstat(descriptor).st_size
                if name in self._entries and size != self._entries[name].size:
                    raise self.damaged(name, f"it has {size:,} bytes and should have {self._entries[name].size:,}")
                yield file
        except FileNotFoundError:
            raise ModelError(f"{self.path / name} is missing; {self.spec.remedy}") from None
        except OSError as error:
            raise ModelError(f"{self.path / name} cannot be read: {error.strerror or error}") from error

    def _check_digest(self, name: str, digest: str) -> None:
        if digest != self._entries[name].sha256:
            raise self.damaged(name, "its contents are not what was written")

    def _read_manifest(self) -> None:
        if not any(os.access(name, os.F_OK, dir_fd=self._descriptor) for name in (MANIFEST, self.spec.document)):
            raise self._not_this_kind()
        with self._open(MANIFEST) as file:
            raw = file.read()
        try:
            self._entries = parse_manifest(raw)
        except ValueError as error:
            raise self.damaged(MANIFEST, f"it is {error}") from error
        if self.spec.document not in self._entries:
            raise self._not_this_kind()

    def _parse_document(self) -> dict[str, Any]:
        path, text = self.path / self.spec.document, self.text(self.spec.document)
        try:
            document: dict[str, Any] = json.loads(text)
            name, version = document["format"], document["version"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self.damaged(self.spec.document, "it does not say which format this is") from error
        if name != self.spec.format or type(version) is not int or version < 1:
            raise ModelError(f"{path} has an unknown format, {name!r} {version!r}; {self.spec.remedy}")
        if version > self.spec.version:
            raise ModelError(f"{path} was written by a newer vse-ens (format {version}); upgrade vse-ens to read it")
        if version < self.spec.version:
            raise ModelError(f"{path} was written by an older vse-ens (format {version}); {self.spec.remedy}")
        return document

    def _not_this_kind(self) -> ModelError:
        return ModelError(
            f"{self.path} is not a {self.spec.noun} directory: it has no {self.spec.document}; choose another path"
        )


def _open_folder(path: Path, spec: ArtifactSpec) -> int:
    """Open the directory at ``path``, or its old contents if a writer is between two renames or died there."""
    for folder in (path, replaced_name(path.resolve())) * _OPEN_ATTEMPTS:
        try:
            return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except NotADirectoryError:
            raise ModelError(f"{path} is a file, not a {spec.noun} directory; name the directory") from None
        except OSError as error:
            raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    raise ModelError(f"there is no {spec.noun} {path}; {_advice(path, spec)}")


def _advice(path: Path, spec: ArtifactSpec) -> str:
    try:
        artifacts = [entry.name for entry in path.parent.iterdir() if (entry / spec.document).is_file()]
    except OSError:
        return f"there is no directory {path.parent} either"
    near = difflib.get_close_matches(path.name, artifacts, n=3)
    return f"did you mean {' or '.join(str(path.parent / name) for name in near)}?" if near else "check the path"
