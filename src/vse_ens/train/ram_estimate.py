"""An upper bound of the RAM that a training needs, computed before it starts.

It adds up the arrays that are alive during a training, whether or not they are alive at the same time, and of the
temporary ones the largest group. Sizes are in bytes, in addition to the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.errors import InsufficientMemoryError
from vse_ens.evaluate.rank import DEFAULT_MEMORY
from vse_ens.kernels.context import ContextScratch, InputGradients
from vse_ens.kernels.rank_table import RankScratch
from vse_ens.kernels.two_phase import LabelGradients
from vse_ens.label_weights.learn import DENSE_LABELS, SUPPORT
from vse_ens.label_weights.pairs import TASK_LABELS
from vse_ens.label_weights.sparse import MAX_SUMS
from vse_ens.model.feature_scores import DIRECTIONS, MAX_COLUMNS, MAX_NEIGHBORS_FROM
from vse_ens.run.ram import available_memory
from vse_ens.system import available_cores
from vse_ens.train.feature_fit import BLOCK, MAX_IMAGES, MAX_SCORES
from vse_ens.train.pair_selection import frequent_label_pairs
from vse_ens.train.schedule import Schedule, resolve_auto
from vse_ens.train.tables import BLOCK_ROWS, padded_width
from vse_ens.train.validation import KEPT_LABEL_WEIGHTS, MAX_SEARCH_LABELS, held_out_images, kept_scores

# How to make a part smaller, where lowering dimensions is not the answer.
_ADVICE = {
    "input vectors": "lower label_pairs or dimensions",
    "batch buffers": "lower batch, negatives or dimensions",
    "label weights": "train without label_weights, or leave out rare labels with min_images_per_label",
    "pairs": "train on fewer pairs, or without validate",
    "features": "use fewer features, or a tower without them",
}
KEPT = "kept by the C library"
# It keeps up to two freed arrays of up to 32 MB; larger ones are returned to the system.
_MAX_KEPT = 2 * (32 << 20)
# Bytes per image: the numbers of its labels and inputs, its place in two epochs, and the temporary ones of choosing it.
_IMAGE = 96
# Bytes per pair: of the pairs to train on and of splitting them; of counting label pairs; of the serial engine's order.
_SPLIT_PAIR, _COUNTED_PAIR, _ORDERED_PAIR = 13, 12, 28
# Bytes per pair and per image of the neighbors: the index, and the temporary ones of making it.
_NEIGHBOR_PAIR, _NEIGHBOR_IMAGE = 80, 160
# Bytes per label pair: the pair, its slots in the hash table, and the temporary ones of choosing it.
_LABEL_PAIR = 8 + 48 + 48


@dataclass(frozen=True)
class RamEstimate:
    """The bytes that a training needs at most, in addition to the data, by purpose; prints as a short table."""

    moment: str
    """What the largest group of temporary arrays is for."""
    parts: Mapping[str, int]
    available: int | None
    """Bytes this process may still allocate; None where the system does not say."""

    @property
    def total(self) -> int:
        """The sum over all parts."""
        return sum(self.parts.values())

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers, ready for JSON."""
        return {"total": self.total, "available": self.available, "moment": self.moment, "parts": dict(self.parts)}

    def __str__(self) -> str:
        rows = [*self.parts.items(), (f"needed at most {self.moment}", self.total)]
        if self.available is not None:
            rows.append(("available", self.available))
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {size / 1e6:>9,.1f} MB" for name, size in rows)


def check_ram(
    config: Config, data: Annotations, workers: int | None = None, label_pairs: NDArray[np.int32] | None = None
) -> None:
    """Raise `InsufficientMemoryError` when a training may need more than the available RAM."""
    needed = estimate_ram(config, data, workers, label_pairs)
    if needed.available is None or needed.total <= needed.available:
        return
    largest, size = next(iter(needed.parts.items()))
    raise InsufficientMemoryError(
        f"training needs at most {_in_words(needed.total)} of RAM, {_in_words(size)} of it for {largest}, but only "
        f"{_in_words(needed.available)} are available; {_ADVICE.get(largest, 'lower dimensions')}"
    )


def _in_words(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"


def estimate_ram(
    config: Config, data: Annotations, workers: int | None = None, label_pairs: NDArray[np.int32] | None = None
) -> RamEstimate:
    """Return an upper bound of the RAM of a training; it rarely needs less than half of it.

    ``workers`` defaults to all cores. ``label_pairs`` are the frequent label pairs of a context tower; they are counted
    here unless given.
    """
    config, workers = resolve_auto(config, data), workers or available_cores()
    images, labels, pairs, counts = len(data.images), len(data.labels), data.pairs, data.labels_per_image
    row, validate = 4 * padded_width(config.dimensions), int(config.validate)
    together = int((counts * (counts - 1) // 2).sum())
    if label_pairs is None:
        label_pairs = frequent_label_pairs(data, config.label_pairs if config.has_context else 0)
    found = len(label_pairs)
    feature_bytes, columns = _features(config, data)
    vectors = {
        "image vectors": images * row * config.has_ids,
        "label vectors": labels * (row + 8),
        "input vectors": (labels + found) * (row + 4) * config.has_context + found * _LABEL_PAIR,
        "feature map": columns * row,
    }
    held_out = min(held_out_images(images, labels, pairs), images) * validate
    per_pair = _SPLIT_PAIR * validate + _COUNTED_PAIR * config.has_context + _ORDERED_PAIR * (config.engine == "serial")
    held_out_row = row * config.has_ids + feature_bytes // max(images, 1)
    label_weights, learning = _label_weights(labels, pairs, together) if config.label_weights else (0, 0)
    tried = KEPT_LABEL_WEIGHTS if labels <= MAX_SEARCH_LABELS else 2
    scores = 4 * kept_scores(held_out, labels)
    parts = {
        **vectors,
        # The start vectors before they are padded, or the exported ones; and those of the best epoch, twice.
        "copies of vectors": (1 + 2 * validate) * sum(vectors.values()),
        "pairs": per_pair * pairs + _IMAGE * images + held_out * held_out_row,
        "members": 2 * config.members * sum(vectors.values()) * (config.members > 1),
        "features": 3 * feature_bytes + _feature_fit(config, data),
        **_engine(config, data, workers, found, vectors),
        "label weights": tried * label_weights,
        "validation": 2 * scores * config.label_weights,
        "neighbors": (_NEIGHBOR_PAIR * pairs + _NEIGHBOR_IMAGE * images) * config.neighbors,
    }
    # A block of scores, of the vectors and of the label weights, with the vectors that they come from.
    block = min(max(DEFAULT_MEMORY, 128 * labels), 4 * labels * held_out) * validate
    drawn = min(max(images * config.has_ids, labels + found, columns), BLOCK_ROWS)
    moments = {
        "to begin": ("drawing vectors", 32 * drawn * config.dimensions),
        "to validate": ("validation", 3 * (block + block // (4 * max(labels, 1)) * (row + held_out_row))),
        "to learn label weights": ("label weights", learning),
    }
    moment, (name, size) = max(moments.items(), key=lambda item: item[1][1])
    parts[name] = parts.get(name, 0) + size
    parts[KEPT] = min(_MAX_KEPT, sum(parts.values()) // 4)
    largest_first = sorted(parts.items(), key=lambda part: -part[1])
    return RamEstimate(moment, {name: size for name, size in largest_first if size}, available_memory())


def _features(config: Config, data: Annotations) -> tuple[int, int]:
    """Return the bytes of the image features in CSR form, and their number; the trainer reports missing ones."""
    if not config.has_features or data.features is None:
        return 0, 0
    matrix: Any = data.features
    filled = matrix.size if isinstance(matrix, np.ndarray) else int(matrix.nnz)
    return 8 * filled + 12 * len(data.images), matrix.shape[1]


def _feature_fit(config: Config, data: Annotations) -> int:
    """Return the bytes of learning from features beside the towers: see `vse_ens.train.feature_fit`."""
    if config.has_features or not config.validate or data.features is None:
        return 0
    images, columns, labels = len(data.images), min(int(data.features.shape[1]), MAX_COLUMNS), len(data.labels)
    pool, sample = min(images, MAX_NEIGHBORS_FROM), min(images, max(200, min(MAX_IMAGES, MAX_SCORES // labels)))
    blocks = 12 * columns * (sample + min(images, BLOCK))
    return 48 * columns * columns + 40 * columns * labels + 16 * DIRECTIONS * pool + 64 * sample * labels + blocks


def _label_weights(labels: int, pairs: int, together: int) -> tuple[int, int]:
    """Return the bytes of the label weights, and the temporary ones of learning them."""
    if labels <= DENSE_LABELS:
        return 4 * labels**2, 8 * labels**2 + 16 * labels * min(labels, TASK_LABELS) + 4 * pairs
    entries, sums = labels * SUPPORT, min(MAX_SUMS, together, labels**2 // 2)
    stored = min(entries, 2 * together)
    return 8 * (labels + stored), 12 * (sums + entries + SUPPORT * TASK_LABELS) + 5 * entries + 12 * stored + 4 * pairs


def _engine(
    config: Config, data: Annotations, workers: int, label_pairs: int, vectors: Mapping[str, int]
) -> dict[str, int]:
    """Return the bytes of the buffers of all engines: one, or one per shard."""
    labels, width = len(data.labels), padded_width(config.dimensions)
    longest = int(data.labels_per_image.max(initial=0))
    schedule = Schedule.of(config, labels)
    rankings = slices = buffers = 0
    if config.sampler == "vse-ens":
        rankings = 4 * labels * (width + 3) + workers * _nbytes(RankScratch.allocate(labels))
    if schedule.slices > 1:
        slices = schedule.slices * (vectors["label vectors"] + vectors["feature map"])
    if config.has_context or config.loss == "softmax":
        negatives = config.negatives if config.loss == "softmax" else 1
        inputs = 1 + min(8, longest // 2) * (label_pairs > 0)
        per_draw = _nbytes(LabelGradients.allocate(1, negatives, width)) + 4 * width
        per_draw += 4 * workers * max(inputs, negatives + 1)
        if config.has_context:
            per_draw += _nbytes(InputGradients.allocate(1, 1, inputs, 0, width))
            scratch = ContextScratch.allocate(width, longest, label_pairs > 0, 0, negatives=negatives)
            buffers = workers * _nbytes(scratch)
        # A batch ends with a whole image, and may be twice as long as asked for.
        buffers += (2 * schedule.batch + longest) * per_draw
    found = {"rankings": rankings, "slice copies": slices, "batch buffers": buffers}
    if config.shards == 1:
        return found
    # The shards share working tables. Deltas: of the shard just trained, of all before it, and of merging them.
    shared = (4 + math.ceil(math.log2(config.shards))) * (sum(vectors.values()) - vectors["image vectors"])
    own = vectors["image vectors"] + 8 * data.pairs + 32 * len(data.images) + config.shards * (8 * labels + 65_536)
    return {name: config.shards * size for name, size in found.items()} | {"shards": shared + own}


def _nbytes(arrays: Any) -> int:
    """Return the bytes of an array, or of a group of arrays."""
    return arrays.nbytes if isinstance(arrays, np.ndarray) else sum(map(_nbytes, arrays))
