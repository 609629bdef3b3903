"""Artifacts: directories of a fixed set of files, such as a model or a checkpoint, listed in a manifest.

The manifest has the size and the SHA-256 of every other file, and a SHA-256 of this list.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from vse_ens.errors import ModelError
from vse_ens.system import open_regular

ARRAYS = "arrays.safetensors"
"""The file of arrays that every artifact has."""
MANIFEST = "manifest.json"

MAX_MANIFEST_BYTES = 1 << 16
"""A manifest has about 150 bytes per file."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class ArtifactSpec:
    """A kind of artifact and its files."""

    noun: str
    version: int
    document: str
    """The JSON file with the format and its version."""
    parts: frozenset[str]
    """The files beside the document and the manifest."""
    remedy: str
    """The advice at the end of messages about damage."""
    max_text_bytes: int = 1 << 24
    """The largest document or other text that is read."""

    @property
    def format(self) -> str:
        """The name of the format in the document."""
        return f"vse-ens {self.noun}"

    def check_replaceable(self, path: Path) -> None:
        """Raise if ``path`` has any contents other than an artifact of this kind, because they would be lost."""
        if not path.is_dir():
            raise ModelError(f"{path} is a file, not a {self.noun} directory; choose another --out")
        entries = {entry.name: entry for entry in path.iterdir()}
        if not entries:
            return
        if not entries.keys() & {self.document, MANIFEST}:
            raise ModelError(f"{path} is not a {self.noun} directory; choose another --out")
        foreign = entries.keys() - self.files
        foreign |= {name for name, entry in entries.items() if entry.is_dir()}
        if foreign:
            raise ModelError(
                f"{path} contains {min(foreign)!r}, which is not part of a {self.noun} and would be lost; "
                f"move it away or choose another --out"
            )
        if not self._wrote(path):
            raise ModelError(
                f"{path} is not a {self.noun} directory: its {self.document} was not written by vse-ens; "
                "choose another --out"
            )

    @property
    def files(self) -> frozenset[str]:
        """The names of all files."""
        return self.parts | {self.document, MANIFEST}

    def _wrote(self, folder: Path) -> bool:
        """Whether the document states this format, of any version, or else the manifest is one and lists it."""
        try:
            raw = read_small(folder / self.document, self.max_text_bytes)
            return bool(json.loads(raw)["format"] == self.format)
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            pass
        try:
            return self.document in parse_manifest(read_small(folder / MANIFEST, MAX_MANIFEST_BYTES))
        except (OSError, ValueError):
            return False


def read_small(path: Path, limit: int) -> bytes:
    """Return the contents of a regular file, at most ``limit`` bytes of it, without waiting for a FIFO."""
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read(limit)


class Entry(NamedTuple):
    """The manifest entry of one file."""

    size: int
    sha256: str


def canonical_json(value: Any) -> bytes:
    """Return a JSON value with sorted keys, an indent of two, without NaN, in UTF-8: equal values are equal bytes."""
    return (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def manifest_bytes(entries: Mapping[str, Entry]) -> bytes:
    """Return the manifest of these files."""
    files = {name: entry._asdict() for name, entry in entries.items()}
    return canonical_json({"files": files, "sha256": hashlib.sha256(canonical_json(files)).hexdigest()})


def parse_manifest(raw: bytes) -> dict[str, Entry]:
    """Return the entries of a manifest; raise a ValueError if any byte differs from what was written."""
    try:
        entries = {name: _entry(**fields) for name, fields in json.loads(raw)["files"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError("not a manifest") from error
    # Writing the entries again must give the same bytes: this checks the SHA-256 of the list and all white space.
    if manifest_bytes(entries) != raw:
        raise ValueError("not as it was written")
    return entries


def _entry(size: Any, sha256: Any) -> Entry:
    if type(size) is not int or size < 0 or not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise ValueError("not an entry")
    return Entry(size, sha256)
