"""Table 1: the paper's three data sets, real where a file was given, else generated in the same shape."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.io.read import read
from vse_ens.experiments.paper.numbers import DATA_SETS, Paper
from vse_ens.experiments.paper.stand_ins import Shape, stand_in

# The paper's table 1 is not at hand. These are the sizes that the data sets are published with.
PUBLISHED = {
    # 19,627 images, 291 labels, 112,241 pairs of the TagProp label files; 560 images have a single label.
    "iaprtc12": Shape(19_627, 291, 93_174, 19_067),
    # 269,648 images and 5,018 tags: Chua et al. 2009. How many pairs there are is not said: 1,900,000 is our choice.
    "nuswide": Shape(269_648, 5_018, 1_630_352, 269_648),
    # A subset of Open Images of about 112,000 images, 6,000 labels and 900,000 pairs.
    "openimages": Shape(112_000, 6_000, 788_000, 112_000),
}
_SOURCE = {
    "iaprtc12": "the published TagProp label files",
    "nuswide": "the published counts of images and tags, with 1,900,000 pairs as our choice",
    "openimages": "the rounded size of the subset",
}


@dataclass(frozen=True)
class DataSet:
    """One of the three, and where it comes from."""

    name: str
    data: Annotations
    path: Path | None
    """The real file; None where the data is generated."""
    note: str
    seed: int

    @property
    def title(self) -> str:
        """Its name as people write it."""
        return DATA_SETS[self.name]

    @cached_property
    def split(self) -> Split:
        """One label of each image that has several is held out."""
        return self.data.leave_one_out(self.seed)

    @cached_property
    def digest(self) -> str:
        """The same for the same pairs."""
        found = hashlib.blake2b(digest_size=12)
        for array in (self.data.indptr, self.data.indices):
            found.update(array.tobytes())
        return found.hexdigest()

    def describe(self) -> dict[str, Any]:
        """What table 1 shows."""
        return {
            "title": self.title,
            "generated": self.path is None,
            "path": None if self.path is None else str(self.path),
            "note": self.note,
            "images": len(self.data.images),
            "labels": len(self.data.labels),
            "train": self.split.train.pairs,
            "test": self.split.test.pairs,
        }


def load(name: str, path: Path | None, paper: Paper, share: float, seed: int) -> DataSet:
    """A data set from its file, or a stand-in with a ``share`` of its images and pairs."""
    if path is not None:
        return DataSet(
            name, read(path), path, f"real data, {path.name}, which need not be the paper's selection of it", seed
        )
    of_paper = paper.shapes.get(name)
    shape = of_paper or PUBLISHED[name]
    source = "the paper's table 1" if of_paper else _SOURCE[name]
    if share >= 1.0:
        return DataSet(name, stand_in(shape, seed), None, f"generated, of exactly this shape: {source}", seed)
    note = f"generated, and not of the real shape: {share:.0%} of the images and pairs, with all labels, of {source}"
    return DataSet(name, stand_in(shape.smaller(share), seed), None, note, seed)


def titles(described: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The names of described data sets, with a mark on generated ones."""
    return {name: one["title"] + (" (generated)" if one["generated"] else "") for name, one in described.items()}
