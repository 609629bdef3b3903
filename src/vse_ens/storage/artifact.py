"""The kinds of directory that are sealed by a manifest: a model, a checkpoint.

The list of a directory's files with their sizes and SHA-256, and a SHA-256 of the list itself.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from vse_ens.errors import ModelError

ARRAYS = "arrays.safetensors"
"""The file of arrays that every kind has."""


@dataclass(frozen=True)
class ArtifactSpec:
    """A kind of directory and what belongs in it."""

    noun: str
    version: int
    document: str
    """The JSON file that says which format this is."""
    parts: frozenset[str]
    """The files beside the document and the manifest."""
    remedy: str
    """What to do about a damaged one."""

    @property
    def format(self) -> str:
        """The name of the format in the document."""
        return f"vse-ens {self.noun}"

    def check_replaceable(self, path: Path) -> None:
        """Raise if ``path`` holds anything but a directory of this kind: it would be lost."""
        if not path.is_dir():
            raise ModelError(f"{path} is a file, not a {self.noun} directory; choose another --out")
        found = {entry.name for entry in path.iterdir()}
        if found and not found & {self.document, MANIFEST}:
            raise ModelError(f"{path} is not a {self.noun} directory; choose another --out")
        if strange := sorted(found - self.parts - {self.document, MANIFEST}):
            raise ModelError(
                f"{path} holds {strange[0]!r}, which is no part of a {self.noun} and would be lost; "
                f"move it away or choose another --out"
            )


MANIFEST = "manifest.json"

_SHA256 = re.compile(r"[0-9a-f]{64}")


class Entry(NamedTuple):
    """What the manifest says of one file."""

    size: int
    sha256: str


def canonical_json(value: Any) -> bytes:
    """The one spelling of a JSON value that this package writes: sorted keys, two spaces, no NaN, UTF-8."""
    return (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def manifest_bytes(entries: Mapping[str, Entry]) -> bytes:
    """The manifest of these files."""
    files = {name: entry._asdict() for name, entry in entries.items()}
    return canonical_json({"files": files, "sha256": hashlib.sha256(canonical_json(files)).hexdigest()})


def parse_manifest(raw: bytes) -> dict[str, Entry]:
    """What a manifest lists; a ValueError if one byte of it is not as it was written."""
    try:
        entries = {name: _entry(**found) for name, found in json.loads(raw)["files"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError("not a manifest") from error
    # Written anew it must be the same bytes: this holds the SHA-256 of the list, and every space, to account.
    if manifest_bytes(entries) != raw:
        raise ValueError("not as it was written")
    return entries


def _entry(size: Any, sha256: Any) -> Entry:
    if type(size) is not int or size < 0 or not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise ValueError("not an entry")
    return Entry(size, sha256)
