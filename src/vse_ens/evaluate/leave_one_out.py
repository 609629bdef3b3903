"""Every pair of a data set as a question of its own: the other labels of the image, and the label that is left out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.data.partition.parts import number_ids
from vse_ens.kernels.arrays import Csr


class LeftOut(NamedTuple):
    """One image per pair, in the order of the pairs."""

    known: Annotations
    """The labels that are known of its image, without the label of the pair; label ids are those of the model."""
    test: Annotations
    """The label of the pair."""


def leave_each_out(data: Annotations, known: Annotations, *, by_id: bool = True) -> LeftOut:
    """Return every pair of ``data`` as a question, with the labels of ``known``.

    The known labels of an image that ``known`` has are those that it has there. For other images, and for all if
    ``by_id`` is False, they are the other labels of the image in ``data``.
    """
    own = data.relabelled(known.labels)
    images = np.arange(len(data.images))
    found = known.images.translate(data.images) if by_id else np.full(len(images), -1)
    both = Csr(
        np.concatenate([known.indptr, own.indptr[1:] + known.pairs]), np.concatenate([known.indices, own.indices])
    )
    per_image = take_rows(*both, np.where(found >= 0, found, len(known.images) + images))
    rows = take_rows(*per_image, data.image_numbers())
    label = known.labels.translate(data.labels)[data.indices]
    sizes = np.diff(rows.indptr)
    others = rows.indices != np.repeat(label, sizes)
    indptr = np.concatenate([[0], np.cumsum(others, dtype=np.int64)])[rows.indptr]
    questions = number_ids(data.pairs, "image")
    return LeftOut(
        Annotations.trusted(questions, known.labels, indptr, rows.indices[others]),
        Annotations.trusted(questions, data.labels, np.arange(data.pairs + 1), data.indices),
    )
