"""Common and rare labels: head, middle and tail."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GROUPS = ("head", "middle", "tail")


def boundaries(images_per_label: NDArray[np.int64]) -> tuple[int, int]:
    """From how many images on a label is of the head, and from how many of the middle.

    Labels in the order of their training images, most first, each make up their share of all training pairs. The label
    that brings the sum to a third is the last of the head, that to two thirds the last of the middle; labels with as
    many images as it has go with it. The rest is the tail, with the labels never seen in training.
    """
    falling = np.sort(images_per_label[images_per_label > 0])[::-1]
    if not len(falling):
        return 1, 1
    sums = np.cumsum(falling)
    # 3 sums >= total: in whole numbers, so that no rounding moves a label.
    head, middle = (int(falling[np.searchsorted(3 * sums, third * sums[-1])]) for third in (1, 2))
    return head, middle


def group_of(seen: NDArray[np.int64], common: tuple[int, int]) -> NDArray[np.int64]:
    """The place in `GROUPS` of labels with so many training images."""
    head, middle = common
    return (seen < head).astype(np.int64) + (seen < middle)
