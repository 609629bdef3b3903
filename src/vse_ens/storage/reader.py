"""Reading an artifact: checked against its manifest, and memory-mapped.

All files are opened relative to one open directory, so that they belong together even if the path is replaced. They
must be regular files of the size in the manifest: a FIFO or a device is refused without waiting for it.
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
from typing import Any, TypeVar

from numpy.typing import NDArray

from vse_ens.errors import ModelError
from vse_ens.storage.artifact import (
    MANIFEST,
    MAX_MANIFEST_BYTES,
    ArtifactSpec,
    Entry,
    parse_manifest,
    read_small,
)
from vse_ens.storage.atomic import replaced_name
from vse_ens.storage.tensors import BLOCK_BYTES, NOT_FINITE, map_tensors, not_finite, read_header, shapes
from vse_ens.system import OpenFolder

Result = TypeVar("Result")

# Between two attempts a writer may move the directory from the name tried last to the name tried first.
_OPEN_ATTEMPTS = 4


def read_artifact(
    path: Path, spec: ArtifactSpec, read: Callable[[ArtifactReader], Result], *, in_memory: bool = False
) -> Result:
    """Return the result of ``read`` on the artifact at ``path``; start again if it is replaced meanwhile."""
    while True:
        with ArtifactReader(path, spec, in_memory=in_memory) as reader:
            try:
                return read(reader)
            except ModelError:
                if reader.is_current():
                    raise


def manifest_digest(path: Path) -> str:
    """Return the SHA-256 of the manifest of an artifact, which lists that of every file; empty if it is unreadable."""
    try:
        raw = read_small(path / MANIFEST, MAX_MANIFEST_BYTES)
    except OSError:
        return ""
    return hashlib.sha256(raw).hexdigest() if raw else ""


class ArtifactReader:
    """An open artifact directory; every error names the file and the fault.

    With ``in_memory``, `map` reads a file into RAM once, and `verify` checks these bytes. A mapped file that is
    truncated in place ends the process (SIGBUS) and one that is overwritten changes the arrays; a copy does neither.
    """

    def __init__(self, path: Path, spec: ArtifactSpec, *, in_memory: bool = False) -> None:
        self.path = path
        self.spec = spec
        self._in_memory = in_memory
        self._folder = _open_folder(path, spec)
        self._entries: dict[str, Entry] = {}
        self._copies: dict[str, memoryview] = {}

    def __enter__(self) -> ArtifactReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.close()

    def is_current(self) -> bool:
        """Whether the path still leads to this directory."""
        with ArtifactReader(self.path, self.spec) as now:
            return self._folder.is_same(now._folder)

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
            raw = self._read_up_to(name, file, self.spec.max_text_bytes)
        self._check_digest(name, hashlib.sha256(raw).hexdigest())
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise self.damaged(name, "it is not UTF-8 text") from error

    def map(self, name: str) -> memoryview:
        """Return a file as a read-only memory map, or as a copy in RAM."""
        if name in self._copies:
            return self._copies[name]
        size = self._entries[name].size
        with self._open(name) as file:
            if not size:  # an empty file cannot be mapped
                return memoryview(b"")
            if not self._in_memory:
                # The size checked above: a file that has grown meanwhile is not mapped beyond it.
                return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
            copy = memoryview(mmap.mmap(-1, size))
            if file.readinto(copy) != size:
                raise self.damaged(name, "it was truncated while it was read")
        self._copies[name] = copy.toreadonly()
        return self._copies[name]

    def verify(self, name: str, inspect: Callable[[int, memoryview], str | None] | None = None) -> None:
        """Read a file once, in blocks, and check its SHA-256.

        ``inspect`` is called with the offset and the bytes of each block and returns the fault it finds, or None.
        """
        digest = hashlib.sha256()
        offset, fault = 0, None
        for block in self._blocks(name):
            digest.update(block)
            if inspect is not None and fault is None:
                fault = inspect(offset, block)
            offset += len(block)
        # The digest comes first: a flipped byte is reported as such even if it has made a number infinite.
        self._check_digest(name, digest.hexdigest())
        if fault is not None:
            raise self.damaged(name, fault)

    def arrays(self, name: str, expected: dict[str, Any], *, verify: bool, finite: bool) -> dict[str, NDArray[Any]]:
        """Return the arrays of a safetensors file, memory-mapped; they must have the ``expected`` types and shapes.

        With ``verify`` the whole file is read and checked, with ``finite`` also for NaN and numbers beyond 1e15.
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
            return None if array is None else f"the array {array!r} {NOT_FINITE}"

        if verify:
            self.verify(name, inspect if finite else None)
        try:
            return map_tensors(mapped, tensors)
        except ValueError as error:  # more dimensions than NumPy has, or an empty array of an impossible length
            raise self.damaged(name, f"its arrays are not possible ({error})") from error

    def damaged(self, name: str, fault: str) -> ModelError:
        """Return the error for a damaged file."""
        return ModelError(f"{self.path / name} is damaged: {fault}; {self.spec.remedy}")

    def _blocks(self, name: str) -> Iterator[memoryview]:
        if self._in_memory:
            copy = self.map(name)
            yield from (copy[first : first + BLOCK_BYTES] for first in range(0, len(copy), BLOCK_BYTES))
            return
        buffer = memoryview(bytearray(BLOCK_BYTES))
        left = self._entries[name].size
        with self._open(name) as file:
            while left and (count := file.readinto(buffer[:left])):
                yield buffer[:count]
                left -= count

    def _read_up_to(self, name: str, file: io.BufferedReader, limit: int) -> bytes:
        raw = file.read(limit + 1)
        if len(raw) > limit:
            raise self.damaged(name, f"it has more than {limit:,} bytes")
        return raw

    @contextmanager
    def _open(self, name: str) -> Iterator[io.BufferedReader]:
        """Open a regular file of this directory and check its size."""
        try:
            descriptor = self._folder.open(name)
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
        if not any(self._folder.has(name) for name in (MANIFEST, self.spec.document)):
            raise self._not_this_kind()
        with self._open(MANIFEST) as file:
            raw = self._read_up_to(MANIFEST, file, MAX_MANIFEST_BYTES)
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


def _open_folder(path: Path, spec: ArtifactSpec) -> OpenFolder:
    """Open the directory at ``path``, or its old contents if a writer is between two renames or died there."""
    for folder in (path, replaced_name(path.resolve())) * _OPEN_ATTEMPTS:
        try:
            return OpenFolder(folder)
        except FileNotFoundError:
            continue
        except NotADirectoryError:
            raise ModelError(
                f"{path} is a file, not a {spec.noun} directory; check the order of the arguments"
            ) from None
        except OSError as error:
            raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    raise ModelError(f"there is no {spec.noun} {path}; {_advice(path, spec)}")


def _advice(path: Path, spec: ArtifactSpec) -> str:
    try:
        artifacts = [entry.name for entry in path.parent.iterdir() if (entry / spec.document).is_file()]
    except OSError:
        return f"there is no directory {path.parent} either"
    near = difflib.get_close_matches(path.name, artifacts, n=3)
    return (
        f"did you mean {' or '.join(str(path.parent / name) for name in near)}?"
        if near
        else "check the path and the order of the arguments"
    )
