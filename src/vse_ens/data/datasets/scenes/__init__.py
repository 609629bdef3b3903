"""The built-in data set: generated annotations of everyday pictures, with words that a person understands.

    data = scenes(images=2_000, seed=0)
    data.labels_of("img_0000017")

`scenes` returns `Annotations`, `stream_scenes` yields chunks of any number of images, `write_scenes` writes a file. The
words are in ``words.json``; docs/scenes.md describes the data set and its limits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.collections.pictures import DRAWN, Pictures
from vse_ens.data.datasets.scenes.drawing import SceneChunk as SceneChunk
from vse_ens.data.datasets.scenes.drawing import source_root
from vse_ens.data.datasets.scenes.drawing import stream_scenes as stream_scenes
from vse_ens.data.datasets.scenes.files import SceneCounts as SceneCounts
from vse_ens.data.datasets.scenes.files import image_ids
from vse_ens.data.datasets.scenes.files import write_scene_folder as write_scene_folder
from vse_ens.data.datasets.scenes.files import write_scenes as write_scenes
from vse_ens.data.datasets.scenes.words import SCENES
from vse_ens.data.datasets.scenes.words import parent_of as parent_of
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError

SCENE_NAMES: tuple[str, ...] = tuple(scene.name for scene in SCENES)
"""The names of the scenes, which `SceneChunk.scene` refers to by index."""

_MAX_IMAGES = 10_000_000


def scenes(images: int = 2_000, labels: int | None = None, seed: int = 0) -> Annotations:
    """Generate annotated images in RAM; the vocabulary holds the labels that occur.

    By default, labels are about 900 hand-written words. A larger number of ``labels`` adds compounds ("red umbrella");
    a smaller one keeps the most popular words.

    >>> scenes(images=2_000, seed=0).labels_of("img_0000019")
    ['flower', 'flowerpot', 'garden', 'orchid']
    """
    if images > _MAX_IMAGES:
        raise ConfigError(
            f"images must be at most {_MAX_IMAGES:,} in RAM, got {images}; write_scenes writes any number"
        )
    keys: list[NDArray[np.uint64]] = []
    words: tuple[str, ...] = ()
    for chunk in stream_scenes(images, labels, seed):
        keys.append(chunk.image.astype(np.uint64) << np.uint64(32) | chunk.label.astype(np.uint64))
        words = chunk.words
    pairs = np.concatenate(keys)
    label = pairs.astype(np.uint32)
    used = np.unique(label)
    vocabulary = Vocabulary.from_ids([words[n] for n in used], "label")
    renumbered = np.zeros(len(words), dtype=np.uint64)
    renumbered[used] = vocabulary.numbers([words[n] for n in used])
    pairs = (pairs >> np.uint64(32) << np.uint64(32)) | renumbered[label]
    # Seven digits keep the order of numbers and the order of ids the same up to `_MAX_IMAGES`.
    ids = Vocabulary(pa.array(image_ids(0, images), pa.large_string()), "image")
    return replace(Annotations.from_keys(ids, vocabulary, pairs), pictures=Pictures(source_root(labels, seed), DRAWN))
