"""Reading a directory that is sealed by a manifest: only if it is unharmed, and no more of it than is asked for."""

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
from vse_ens.storage.tensors import BLOCK_BYTES, map_tensors, not_finite, read_header, shapes
from vse_ens.storage.writer import replaced_name

Read = TypeVar("Read")

# Between two looks a writer may move a directory from the place looked at last to the one looked at first.
_LOOKS = 4


def reading(path: Path, kind: ArtifactSpec, read: Callable[[ArtifactReader], Read]) -> Read:
    """What ``read`` makes of the sealed directory at ``path``; again from the start if it is replaced meanwhile."""
    while True:
        with ArtifactReader(path, kind) as sealed:
            try:
                return read(sealed)
            except ModelError:
                if sealed.is_in_place():
                    raise


class ArtifactReader:
    """An open directory: its files are reached through it, so they belong together even if another takes its place."""

    def __init__(self, path: Path, kind: ArtifactSpec) -> None:
        self.path = path
        self.kind = kind
        self._descriptor = _open_folder(path, kind)
        self._entries: dict[str, Entry] = {}

    def __enter__(self) -> ArtifactReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def is_in_place(self) -> bool:
        """Whether who opens the same path now gets this directory."""
        with ArtifactReader(self.path, self.kind) as now:
            return os.path.samestat(os.fstat(self._descriptor), os.fstat(now._descriptor))

    def document(self, *fields: str) -> dict[str, Any]:
        """The JSON document, which must have these fields; the manifest and all sizes are checked first."""
        self._read_manifest()
        document = self._parse_document()
        listed, due = set(self._entries), self.kind.parts | {self.kind.document}
        if listed != due:
            name = min(listed ^ due)
            raise self.damaged(MANIFEST, f"it {'lists' if name in listed else 'does not list'} {name!r}")
        for name in sorted(self.kind.parts):
            with self._open(name):
                pass
        for name in (*fields, "arrays"):
            if not isinstance(document.get(name), dict):
                raise self.damaged(self.kind.document, f"it has no {name!r}")
        return document

    def text(self, name: str) -> str:
        """A small text file; its contents are always checked."""
        with self._open(name) as opened:
            raw = opened.read()
        self._check_digest(name, hashlib.sha256(raw).hexdigest())
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise self.damaged(name, "it is not UTF-8 text") from error

    def map(self, name: str) -> memoryview:
        """A file as a read-only memory map."""
        with self._open(name) as opened:
            if not self._entries[name].size:  # which cannot be mapped
                return memoryview(b"")
            return memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))

    def verify(self, name: str, inspect: Callable[[int, memoryview], str | None] | None = None) -> None:
        """Read a whole file once, in blocks, and check its SHA-256; ``inspect`` may find fault with a block."""
        digest = hashlib.sha256()
        buffer = memoryview(bytearray(BLOCK_BYTES))
        place, fault = 0, None
        with self._open(name) as opened:
            while count := opened.readinto(buffer):
                block = buffer[:count]
                digest.update(block)
                if inspect is not None and fault is None:
                    fault = inspect(place, block)
                place += count
        # A flipped byte is told as such, even where it has made a number infinite.
        self._check_digest(name, digest.hexdigest())
        if fault is not None:
            raise self.damaged(name, fault)

    def arrays(self, name: str, expected: dict[str, Any], *, verify: bool, finite: bool) -> dict[str, NDArray[Any]]:
        """The arrays of a safetensors file, memory-mapped, which must be of the ``expected`` types and shapes."""
        mapped = self.map(name)
        try:
            tensors = read_header(mapped)
        except ValueError as error:
            raise self.damaged(name, str(error)) from error
        found = shapes(tensors)
        for odd in sorted(found.keys() | expected.keys()):
            if found.get(odd) != expected.get(odd):
                should, does = (described.get(odd, "absent") for described in (expected, found))
                raise self.damaged(name, f"the array {odd!r} should be {should} and is {does}")

        def inspect(place: int, block: memoryview) -> str | None:
            odd = not_finite(tensors, place, block)
            return None if odd is None else f"the array {odd!r} holds numbers that are not finite"

        if verify:
            self.verify(name, inspect if finite else None)
        return map_tensors(mapped, tensors)

    def damaged(self, name: str, fault: str) -> ModelError:
        """The error that names a file of this directory and what is wrong with it."""
        return ModelError(f"{self.path / name} is damaged: {fault}; {self.kind.remedy}")

    @contextmanager
    def _open(self, name: str) -> Iterator[io.BufferedReader]:
        """A file of this directory, of the size it should have."""
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._descriptor)
            with os.fdopen(descriptor, "rb") as opened:
                size = os.fstat(descriptor).st_size
                if name in self._entries and size != self._entries[name].size:
                    raise self.damaged(name, f"it has {size:,} bytes and should have {self._entries[name].size:,}")
                yield opened
        except FileNotFoundError:
            raise ModelError(f"{self.path / name} is missing; {self.kind.remedy}") from None
        except OSError as error:
            raise ModelError(f"{self.path / name} cannot be read: {error.strerror or error}") from error

    def _check_digest(self, name: str, found: str) -> None:
        if found != self._entries[name].sha256:
            raise self.damaged(name, "its contents are not what was written")

    def _read_manifest(self) -> None:
        if not any(os.access(name, os.F_OK, dir_fd=self._descriptor) for name in (MANIFEST, self.kind.document)):
            raise self._another_kind()
        with self._open(MANIFEST) as opened:
            raw = opened.read()
        try:
            self._entries = parse_manifest(raw)
        except ValueError as error:
            raise self.damaged(MANIFEST, f"it is {error}") from error
        if self.kind.document not in self._entries:
            raise self._another_kind()

    def _parse_document(self) -> dict[str, Any]:
        where, text = self.path / self.kind.document, self.text(self.kind.document)
        try:
            document: dict[str, Any] = json.loads(text)
            found, version = document["format"], document["version"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self.damaged(self.kind.document, "it does not say which format this is") from error
        if found != self.kind.format or type(version) is not int or version < 1:
            raise ModelError(
                f"{where} is of a format that is not known here, {found!r} {version!r}; {self.kind.remedy}"
            )
        if version > self.kind.version:
            raise ModelError(f"{where} was written by a newer vse-ens (format {version}); upgrade vse-ens to read it")
        return document

    def _another_kind(self) -> ModelError:
        return ModelError(
            f"{self.path} is not a {self.kind.noun} directory: it has no {self.kind.document}; name another"
        )


def _open_folder(path: Path, kind: ArtifactSpec) -> int:
    """A descriptor of the directory at ``path``, or of what a writer has just moved, or died moving, out of its way."""
    for folder in (path, replaced_name(path.resolve())) * _LOOKS:
        try:
            return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except NotADirectoryError:
            raise ModelError(f"{path} is a file, not a {kind.noun} directory; name the directory") from None
        except OSError as error:
            raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    raise ModelError(f"there is no {kind.noun} {path}; {_near(path, kind)}")


def _near(path: Path, kind: ArtifactSpec) -> str:
    """What the user may have meant."""
    try:
        beside = [entry.name for entry in path.parent.iterdir() if (entry / kind.document).is_file()]
    except OSError:
        return f"there is no directory {path.parent} either"
    near = difflib.get_close_matches(path.name, beside, n=3)
    return f"did you mean {' or '.join(str(path.parent / name) for name in near)}?" if near else "check the path"
