"""The labels of a generated image before any was held out, and without the wrong ones.

So a picture shows what the labels lack, and not what they have in error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from vse_ens.data.datasets.scenes.drawing import CHUNK, SceneChunk, true_chunk

_ROOT = re.compile(r"scenes:(?:labels=(\d+),)?seed=(\d+)")
_IMAGE = re.compile(r"img_(\d{7,12})")


def source_root(labels: int | None, seed: int) -> str:
    """Return the root of `Pictures` that says how scenes were generated."""
    return f"scenes:labels={labels},seed={seed}" if labels is not None else f"scenes:seed={seed}"


def labels_by_source(root: str, known_labels: Callable[[str], Sequence[str]]) -> Callable[[str], Sequence[str]]:
    """Return a function from an image id to the labels to draw.

    They are generated again if ``root`` says how, or else they are the known ones.
    """
    generated = _ROOT.fullmatch(root)
    if generated is None:
        return known_labels
    labels, seed = int(generated[1]) if generated[1] else None, int(generated[2])

    def labels_of(image: str) -> Sequence[str]:
        number = _IMAGE.fullmatch(image)
        return _true_labels(labels, seed, int(number[1])) if number else known_labels(image)

    return labels_of


def _true_labels(labels: int | None, seed: int, image: int) -> list[str]:
    chunk = _chunk(labels, seed, image // CHUNK)
    first, last = np.searchsorted(chunk.image, [image, image + 1])
    return sorted(chunk.words[label] for label in chunk.label[first:last].tolist())


@lru_cache(maxsize=32)
def _chunk(labels: int | None, seed: int, number: int) -> SceneChunk:
    return true_chunk(number, labels, seed)
