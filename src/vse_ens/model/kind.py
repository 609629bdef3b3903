"""The kinds of directory that are sealed by a manifest: a model, a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vse_ens.errors import ModelError
from vse_ens.model.manifest import MANIFEST

ARRAYS = "arrays.safetensors"
"""The file of arrays that every kind has."""


@dataclass(frozen=True)
class Kind:
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
