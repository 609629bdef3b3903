"""Folders and times of photos as features: photos of one folder, one day or one hour share labels.

Every folder, day and hour has random signs, derived from its name. An image has those of its own, so that images are
the more similar the more they share. What that says about labels is learned as for any features, and weighted on
held-out images.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta

import numpy as np

from vse_ens.data.features.table import FeatureTable
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.system import open_regular

_SIGNS = 32  # per group
_HEAD_BYTES = 1 << 16  # of a file, where Exif and XMP are
_THREADS = 4
# In Exif 2023:10:25 12:03:01, in XMP 2023-10-25T12:03:01.
_STAMP = re.compile(rb"((?:19|20)\d\d)[:-]([01]\d)[:-]([0-3]\d)[ T]([0-2]\d):([0-5]\d):[0-5]\d")
# In names of files: IMG_20231025_120301, 2023-10-25 12.03.01.
_NAME = re.compile(r"(?<!\d)(20\d\d)[-_.]?([01]\d)[-_.]?([0-3]\d)[-_ T.]*([0-2]\d)[-_.h]?([0-5]\d)")


def nearby_features(paths: Mapping[str, str]) -> FeatureTable:
    """Return the features of photos, given as paths by image ID, which begins with the folder."""
    with ThreadPoolExecutor(_THREADS) as threads:
        times = list(threads.map(time_taken, paths.values()))
    groups = {}
    for image, taken in zip(paths, times, strict=True):
        folder = image.rpartition("/")[0]
        if taken is None:
            groups[image] = [folder, None, None, None]
        else:
            # Hours from :00 and from :30 on, so that photos of 11:55 and 12:05 share one.
            hours = [f"{time:%Y-%m-%d %H} {name}" for name, time in enumerate((taken, taken + timedelta(minutes=30)))]
            groups[image] = [folder, f"{taken:%Y-%m-%d}", *hours]
    return group_features(groups)


def group_features(groups: Mapping[str, Sequence[str | None]]) -> FeatureTable:
    """Return the features of images from the names of their groups; every image has as many, None if unknown."""
    width = len(next(iter(groups.values()), ()))
    matrix = np.zeros((len(groups), width, _SIGNS), np.float32)
    images = Vocabulary.from_ids(groups, "image")
    for row, image in zip(images.numbers(list(groups)), groups, strict=True):
        for block, name in enumerate(groups[image]):
            if name is not None:
                bits = hashlib.sha256(f"{block} {name}".encode("utf-8", "surrogateescape")).digest()
                matrix[row, block] = np.unpackbits(np.frombuffer(bits, np.uint8, _SIGNS // 8)) * 2.0 - 1
    return FeatureTable(images, matrix.reshape(len(groups), -1), None)


def time_taken(path: str) -> datetime | None:
    """Return when a photo was taken: the earliest time at the beginning of its file, or that in its name."""
    head, found = b"", []
    with suppress(OSError):
        descriptor = open_regular(path)
        try:
            head = os.read(descriptor, _HEAD_BYTES)
        finally:
            os.close(descriptor)
    for parts in [*_STAMP.findall(head), *_NAME.findall(os.path.basename(path))]:  # noqa: PTH119
        year, month, day, hour, minute = map(int, parts)
        with suppress(ValueError):  # such as month 13
            found.append(datetime(year, month, day, hour, minute))  # local time, as cameras have it
    return min(found, default=None)
