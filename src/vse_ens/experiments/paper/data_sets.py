"""Table 1: the three data sets of the paper, read from a file if given and otherwise generated with the same shape."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.io.read import read
from vse_ens.experiments.paper.numbers import DATA_SETS, PaperNumbers
from vse_ens.experiments.paper.stand_ins import Shape, stand_in

# Sizes that the data sets are published with, used where the numbers of the paper's table 1 are not given.
PUBLISHED_SHAPES = {
    # 19,627 images, 291 labels and 112,241 pairs in the TagProp label files; 560 images have a single label.
    "iaprtc12": Shape(19_627, 291, 93_174, 19_067),
    # 269,648 images and 5,018 tags: Chua et al. 2009. The number of pairs is not published; 1,900,000 is our choice.
    "nuswide": Shape(269_648, 5_018, 1_630_352, 269_648),
    # A subset of Open Images with about 112,000 images, 6,000 labels and 900,000 pairs.
    "openimages": Shape(112_000, 6_000, 788_000, 112_000),
}
_SOURCES = {
    "iaprtc12": "the published TagProp label files",
    "nuswide": "the published numbers of images and tags, with 1,900,000 pairs as our choice",
    "openimages": "the rounded size of the subset",
}


@dataclass(frozen=True)
class DataSet:
    """A data set of the paper with its source."""

    name: str
    data: Annotations
    path: Path | None
    """The file of real data; None if the data is synthetic."""
    note: str
    seed: int

    @property
    def title(self) -> str:
        """The usual spelling of the name."""
        return DATA_SETS[self.name]

    @cached_property
    def split(self) -> Split:
        """The leave-one-out split."""
        return self.data.leave_one_out(self.seed)

    @cached_property
    def digest(self) -> str:
        """A hash of the pairs."""
        digest = hashlib.blake2b(digest_size=12)
        for array in (self.data.indptr, self.data.indices):
            digest.update(array.tobytes())
        return digest.hexdigest()

    def describe(self) -> dict[str, Any]:
        """Return the row of table 1."""
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


def load_data_set(name: str, path: Path | None, paper: PaperNumbers, fraction: float, seed: int) -> DataSet:
    """Read a data set, or generate a stand-in with a ``fraction`` of its images and pairs if there is no file."""
    if path is not None:
        note = f"real data from {path.name}, which may differ from the paper's selection"
        return DataSet(name, read(path), path, note, seed)
    paper_shape = paper.shapes.get(name)
    shape = paper_shape or PUBLISHED_SHAPES[name]
    source = "the paper's table 1" if paper_shape else _SOURCES[name]
    if fraction >= 1.0:
        return DataSet(name, stand_in(shape, seed), None, f"synthetic, with exactly the shape of {source}", seed)
    note = f"synthetic, smaller than the real data: {fraction:.0%} of the images and pairs, and all labels, of {source}"
    return DataSet(name, stand_in(shape.scaled(fraction), seed), None, note, seed)


def marked_titles(descriptions: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the titles of described data sets, with a mark on synthetic ones."""
    return {name: one["title"] + (" (synthetic)" if one["generated"] else "") for name, one in descriptions.items()}
