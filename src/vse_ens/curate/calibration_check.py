"""Reliability of the hits of a model, measured on images with held-out labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.curate.suggest import Suggester
from vse_ens.curate.suggest_remote import RemoteSuggester
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError
from vse_ens.evaluate.reliability import BINS, Reliability, reliability


def reliability_of(
    suggester: Suggester | RemoteSuggester, known: Annotations, test: Annotations, bins: int = BINS
) -> list[Reliability]:
    """Bin the suggestions for the images of ``test`` by hit; a suggestion is right if it is a held-out label.

    Images and labels of ``test`` that ``known`` lacks are left out.
    """
    held_out = test.relabelled(known.labels)
    numbers = known.images.translate(held_out.images)
    rows = np.flatnonzero((numbers >= 0) & (held_out.labels_per_image > 0))
    order = rows[np.argsort(numbers[rows])]
    chances, outcomes = [np.empty(0, np.float32)], [np.empty(0, np.bool_)]
    done = 0
    for block in suggester.images(numbers[order]):
        if block.hits is None:
            raise ConfigError(
                "this model has no confidences, since it was trained without held-out labels; train it with validate"
            )
        filled = block.labels >= 0
        right = _is_held_out(held_out, order[done : done + len(block.images)], block.labels)
        chances.append(block.hits[filled])
        outcomes.append(right[filled])
        done += len(block.images)
    if done == 0:
        raise ConfigError("none of the held-out pairs has an image and a label that the model knows")
    return reliability(np.concatenate(chances), np.concatenate(outcomes), bins)


def _is_held_out(test: Annotations, images: NDArray[np.int64], labels: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return which labels of each row are held-out labels of its image."""
    indptr, indices = test.rows(images)
    held_out = np.repeat(np.arange(len(images)), np.diff(indptr)) * len(test.labels) + indices
    return np.isin(np.arange(len(images))[:, None] * len(test.labels) + labels, held_out) & (labels >= 0)
