"""Where held-out labels stand: all that any metric needs, and small enough to keep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Rankings:
    """The held-out pairs of every evaluated image in CSR form, each with its place, and the labels that lead.

    The candidates of an image are the labels the model ranks for it: all it knows but those the image is known to have.
    """

    images: Vocabulary
    """The evaluated images: those with a held-out label."""
    labels: Vocabulary
    """The ids behind the label numbers."""
    ranked_labels: int
    """How many labels the model knows."""
    candidates: NDArray[np.int32]
    """For every image how many there are; -1 where the model does not know the image."""
    top: NDArray[np.int32]
    """For every image the best candidates, best first, equal scores in the order of ids; -1 where there are no more."""
    indptr: NDArray[np.int64]
    """The pairs of image ``i`` are ``indptr[i]`` to ``indptr[i + 1]``."""
    label: NDArray[np.int32]
    """For every pair: the held-out label."""
    above: NDArray[np.int32]
    """Candidates with a higher score."""
    tied: NDArray[np.int32]
    """Candidates with the same score, itself included; 0 where the model does not rank the label for the image."""
    seen: NDArray[np.int64]
    """How many images have the label in training."""
    common: tuple[int, int]
    """A label is of the head if it was ``seen`` that often, of the middle likewise: see `popularity.boundaries`."""

    @property
    def pairs(self) -> int:
        """How many pairs were held out."""
        return len(self.label)

    @property
    def held_out(self) -> NDArray[np.int64]:
        """How many labels of each image were held out."""
        return np.diff(self.indptr)

    def only(self, keep: NDArray[np.bool_]) -> Rankings:
        """The same rankings with only the pairs where ``keep`` is true, and only the images that have one of them."""
        kept = np.concatenate([[0], np.cumsum(keep)])[self.indptr]
        rows = np.flatnonzero(np.diff(kept))
        return replace(
            self,
            images=Vocabulary.trusted(self.images.arrow.take(rows), self.images.kind),
            candidates=self.candidates[rows],
            top=self.top[rows],
            indptr=np.concatenate([kept[:1], kept[rows + 1]]),
            label=self.label[keep],
            above=self.above[keep],
            tied=self.tied[keep],
            seen=self.seen[keep],
        )

    def save(self, path: str | Path) -> None:
        """Write them as Parquet, whole or not at all; see docs/metrics.md."""
        from vse_ens.evaluate.rankings_file import write

        write(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Rankings:
        """Read what `save` wrote."""
        from vse_ens.evaluate.rankings_file import read

        return read(Path(path))
