"""Images for one label as they are listed, and images whose labels have changed since the list was made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.csr import take_rows
from vse_ens.kernels.arrays import Csr
from vse_ens.model.embeddings import Floats

Numbers = NDArray[np.int64]

THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))
"""The confidences for which images are counted."""


class Candidates(NamedTuple):
    """Images for a label, surest first."""

    images: Numbers
    keys: Floats
    """What the images are sorted by, descending: finer than confidences, and there without them."""
    confidences: Floats | None
    """None if the model has no confidences."""
    above: dict[float, int]
    """The number of images with at least this confidence, of all images, listed or not; empty without confidences."""
    total: int
    """The number of all candidates, listed or not."""

    def without(self, images: Numbers) -> Candidates:
        """Return the candidates without some images."""
        gone = np.isin(self.images, images)
        return self._take(np.flatnonzero(~gone), self.total - int(gone.sum()))._recounted(self, gone)

    def rescored(self, images: Numbers, again: Candidates) -> Candidates:
        """Return the candidates with some ``images`` as they are ranked ``again``."""
        gone = np.isin(self.images, images)
        complete = len(self.images) >= self.total
        if not complete:
            # Candidates with lower keys are not listed.
            again = again._take(np.flatnonzero(again.keys >= self.keys[-1]), again.total)
        keep = np.flatnonzero(~gone)
        images = np.concatenate([self.images[keep], again.images])
        keys = np.concatenate([self.keys[keep], again.keys])
        order = np.lexsort((images, -keys))
        confidences = None
        if self.confidences is not None and again.confidences is not None:
            confidences = np.concatenate([self.confidences[keep], again.confidences])[order]
        total = len(order) if complete else self.total
        return Candidates(images[order], keys[order], confidences, again.above, total)._recounted(self, gone, again)

    def _take(self, chosen: Numbers, total: int) -> Candidates:
        confidences = None if self.confidences is None else self.confidences[chosen]
        return Candidates(self.images[chosen], self.keys[chosen], confidences, self.above, total)

    def _recounted(self, before: Candidates, gone: NDArray[np.bool_], added: Candidates | None = None) -> Candidates:
        """Return these candidates with the counts of ``before``, less those ``gone``, plus those ``added``."""
        if before.confidences is None:
            return self._replace(above={})
        less = count_above(before.confidences[gone])
        more = count_above(np.empty(0) if added is None or added.confidences is None else added.confidences)
        return self._replace(above={one: count - less[one] + more[one] for one, count in before.above.items()})


class Relabeled(NamedTuple):
    """Images that have other labels now than in the data, one row each: labels, vector and softmax total."""

    images: Numbers
    rows: Csr
    vectors: Floats
    log_totals: Floats

    def updated(self, gone: Numbers, more: Relabeled) -> Relabeled:
        """Return these images without those ``gone``, and ``more`` images."""
        keep = np.flatnonzero(~np.isin(self.images, gone))
        indptr, indices = take_rows(*self.rows, keep)
        return Relabeled(
            np.concatenate([self.images[keep], more.images]),
            Csr(
                np.concatenate([indptr, indptr[-1] + more.rows.indptr[1:]]),
                np.concatenate([indices, more.rows.indices]),
            ),
            np.concatenate([self.vectors[keep], more.vectors]),
            np.concatenate([self.log_totals[keep], more.log_totals]),
        )


def count_above(confidences: NDArray[np.floating]) -> dict[float, int]:
    """Return the number of confidences at or above each threshold."""
    return {threshold: int(np.count_nonzero(confidences >= threshold)) for threshold in THRESHOLDS}
