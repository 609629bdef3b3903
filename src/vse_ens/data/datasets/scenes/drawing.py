"""Draw pictures from a world, in chunks that do not depend on each other, and find their true labels again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.datasets.scenes.world import World, build_world
from vse_ens.errors import ConfigError
from vse_ens.streams import Streams

CHUNK = 4_096
"""Images per chunk; part of the data set, because every chunk has its own random stream."""

_SECOND_SCENE_STRENGTH = 0.55
_NOISE_SHARE = 0.025
_MAX_CHANCE = 0.97

_ROOT = re.compile(r"scenes:(?:labels=(\d+),)?seed=(\d+)")
_IMAGE = re.compile(r"img_(\d{7,12})")


class SceneChunk(NamedTuple):
    """Consecutive images: the number of an image and of a label for every pair, sorted and distinct."""

    first: int
    """The number of the first image."""
    image: NDArray[np.int64]
    label: NDArray[np.int32]
    """Indices of ``words``."""
    scene: NDArray[np.int32]
    """One row per image: the scene and a second one that is mixed in, as indices of `SCENE_NAMES`, or -1."""
    words: tuple[str, ...]
    """The whole vocabulary, the same for every chunk."""


def stream_scenes(images: int, labels: int | None = None, seed: int = 0) -> Iterator[SceneChunk]:
    """Yield the images in order, a few thousand at a time.

    An image depends on its number, ``labels`` and ``seed`` only: asking for fewer images gives the first ones.

    >>> chunk = next(stream_scenes(images=10_000_000, seed=0))
    >>> len(chunk.scene), chunk.first
    (4096, 0)
    """
    if images < 1:
        raise ConfigError(f"images must be at least 1, got {images}")
    stream = Streams(seed).child("scenes")
    return _stream(build_world(labels), stream, images)


def _stream(world: World, stream: Streams, images: int) -> Iterator[SceneChunk]:
    for number in range(-(-images // CHUNK)):
        first = number * CHUNK
        image, label, scene = draw(world, stream.child(number))
        count = min(CHUNK, images - first)
        pairs = int(np.searchsorted(image, count))
        yield SceneChunk(first, image[:pairs] + first, label[:pairs], scene[:count], world.words)


def draw(
    world: World, stream: Streams, noise: bool = True
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return the pairs of one chunk, images numbered from 0, and the two scenes of each image."""
    scenes, rows, strength, habits = _plan(world, stream.child("plan"))
    image, label = _draw_rows(world, stream.child("rows"), rows, strength)
    parts = [(image, label), *_draw_compounds(world, stream, image, label, scenes[:, 0])]
    if noise:
        parts.append(_draw_noise(world, stream.child("noise")))
    for step in ("parents", "grandparents"):
        image, label = _draw_parents(world, stream.child(step), image, label, habits)
        parts.append((image, label))
    without = np.flatnonzero(np.bincount(parts[0][0], minlength=CHUNK) == 0)
    parts.append((without, world.likeliest[scenes[without, 0]]))

    keys = np.concatenate([image << 32 | label for image, label in parts])
    keys.sort()
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    return keys >> 32, (keys & 0xFFFFFFFF).astype(np.int32), scenes


def _plan(
    world: World, stream: Streams
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Return the scenes, the rows, the strength of each row and the habit of each image.

    The strength reflects the annotator's care: most give a few words, some a great many. The habit is how readily the
    general word ("animal") is given with the special one.
    """
    uniforms = stream.uniforms(8 * CHUNK).reshape(8, CHUNK)
    scene = np.searchsorted(world.scene, uniforms[0], side="right").astype(np.int32)
    second = world.second.draw(scene, uniforms[1])
    mixed = second >= 0
    rows = np.stack(
        [
            world.base[scene],
            world.theme.draw(scene, uniforms[2]),
            world.light.draw(scene, uniforms[3]),
            world.company.draw(scene, uniforms[4]),
            np.where(mixed, world.base[second], 0),
            np.where(mixed, world.theme.draw(second, uniforms[5]), 0),
        ],
        axis=1,
    )
    care = 0.35 + 0.5 * uniforms[6] + 0.06 / (1.03 - uniforms[6])
    strength = np.repeat(care[:, None], rows.shape[1], axis=1)
    strength[:, 4:] *= _SECOND_SCENE_STRENGTH
    return np.stack([scene, second], axis=1), rows, strength, 2.0 * uniforms[7]


def _draw_rows(
    world: World, stream: Streams, rows: NDArray[np.int32], strength: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Draw every word of every row of an image independently."""
    flat = rows.ravel()
    length = np.diff(world.row_start)[flat]
    ends = np.cumsum(length)
    entry = np.arange(ends[-1]) + np.repeat(world.row_start[flat] - ends + length, length)
    chance = np.minimum(world.row_chance[entry] * np.repeat(strength.ravel(), length), _MAX_CHANCE)
    drawn = np.flatnonzero(stream.uniforms(len(entry)) < chance)
    row = np.searchsorted(ends, drawn, side="right")
    return row // rows.shape[1], world.row_label[entry[drawn]]


def _draw_parents(
    world: World,
    stream: Streams,
    image: NDArray[np.int64],
    label: NDArray[np.int32],
    habits: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Draw the general words that are given with special ones."""
    chance = np.minimum(world.parent_share[label] * habits[image], _MAX_CHANCE)
    drawn = (stream.uniforms(len(label)) < chance) & (world.parent[label] >= 0)
    return image[drawn], world.parent[label[drawn]]


def _draw_compounds(
    world: World, stream: Streams, image: NDArray[np.int64], label: NDArray[np.int32], scene: NDArray[np.int32]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    for number, compounds in enumerate(world.compounds):
        child = stream.child("compounds", number)
        occurs = child.child("comes").uniforms(len(label)) < compounds.share
        owner = image[occurs]
        which = child.child("which").uniforms(CHUNK)[owner]
        drawn = compounds.draw(label[occurs], scene[owner], which)
        yield owner[drawn >= 0], drawn[drawn >= 0]


def _draw_noise(world: World, stream: Streams) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Draw a word unrelated to the picture for a few images."""
    wrong = np.flatnonzero(stream.child("where").uniforms(CHUNK) < _NOISE_SHARE)
    words = stream.child("word").below(np.full(len(wrong), world.plain))
    return wrong, words.astype(np.int32)


def source_root(labels: int | None, seed: int) -> str:
    """Return the root of `Pictures` that says how scenes were generated."""
    return f"scenes:labels={labels},seed={seed}" if labels is not None else f"scenes:seed={seed}"


def labels_by_source(root: str, known_labels: Callable[[str], Sequence[str]]) -> Callable[[str], Sequence[str]]:
    """Return a function from an image id to the labels that its picture shows.

    If ``root`` says how scenes were generated, these are the labels before any was held out and without the wrong ones:
    a picture shows what the labels lack, and not what they have in error. Otherwise they are the known labels.
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
    chunk = _true_chunk(image // CHUNK, labels, seed)
    first, last = np.searchsorted(chunk.image, [image, image + 1])
    return sorted(chunk.words[label] for label in chunk.label[first:last].tolist())


_world = lru_cache(maxsize=2)(build_world)


@lru_cache(maxsize=32)
def _true_chunk(number: int, labels: int | None, seed: int) -> SceneChunk:
    """Return a chunk by its number, without the wrong words that a few images have."""
    world = _world(labels)
    image, label, scene = draw(world, Streams(seed).child("scenes").child(number), noise=False)
    return SceneChunk(number * CHUNK, image + number * CHUNK, label, scene, world.words)
