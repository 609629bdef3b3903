"""Whether confidences can be trusted: what became of suggestions for images with held-out labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vse_ens.curate.suggest import Suggester
from vse_ens.curate.suggest_remote import RemoteSuggester
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError
from vse_ens.evaluate.reliability import BINS, Reliability, reliability


def reliability_of(
    desk: Suggester | RemoteSuggester, known: Annotations, test: Annotations, bins: int = BINS
) -> list[Reliability]:
    """Suggestions for the images of ``test`` in bins by confidence; right are those that are held-out labels.

    Images and labels of ``test`` that ``known`` does not hold have no suggestions and are left out.
    """
    held_out = test.relabelled(known.labels)
    places = known.images.translate(held_out.images)
    found = np.flatnonzero((places >= 0) & (held_out.labels_per_image > 0))
    order = found[np.argsort(places[found])]
    confidences, hits = [np.empty(0, np.float32)], [np.empty(0, np.bool_)]
    done = 0
    for best in desk.images(places[order]):
        if best.confidences is None:
            raise ConfigError(
                "this model has no confidence to look at, since it was trained without held-out labels; "
                "train it with validate"
            )
        given = best.labels >= 0
        right = _held_out(held_out, order[done : done + len(best.images)], best.labels)
        confidences.append(best.confidences[given])
        hits.append(right[given])
        done += len(best.images)
    if done == 0:
        raise ConfigError("none of the held-out pairs has an image and a label that the model knows")
    return reliability(np.concatenate(confidences), np.concatenate(hits), bins)


def _held_out(test: Annotations, images: NDArray[np.int64], labels: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which of the labels in each row are held-out labels of its image."""
    indptr, indices = test.rows(images)
    has = np.repeat(np.arange(len(images)), np.diff(indptr)) * len(test.labels) + indices
    return np.isin(np.arange(len(images))[:, None] * len(test.labels) + labels, has) & (labels >= 0)
