"""How much RAM a training needs, estimated before it starts.

The estimate lists the moments at which training holds most memory and the arrays alive in each. Sizes are in bytes, in
addition to the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.splits import BLOCK_IMAGES
from vse_ens.errors import InsufficientMemoryError
from vse_ens.evaluate.rank import DEFAULT_MEMORY
from vse_ens.kernels.context import ContextScratch, InputGradients
from vse_ens.kernels.label_pairs import LabelPairs
from vse_ens.kernels.rank_table import RankScratch
from vse_ens.kernels.serial import SortScratch
from vse_ens.kernels.two_phase import LabelGradients
from vse_ens.label_weights.ram import LearningRam, learning_ram
from vse_ens.model.embeddings import label_pair_table
from vse_ens.run.ram import available_memory
from vse_ens.system import available_cores
from vse_ens.train.auto_config import resolve_auto
from vse_ens.train.pair_selection import frequent_label_pairs
from vse_ens.train.schedule import Schedule
from vse_ens.train.tables import BLOCK_ROWS, padded_width
from vse_ens.train.validation import (
    KEPT_LABEL_WEIGHTS,
    MAX_SEARCH_LABELS,
    held_out_images,
    kept_scores,
    worth_refitting,
)

# How to make a part smaller, where lowering dimensions is not the answer.
_ADVICE = {
    "input vectors": "lower label_pairs or dimensions",
    "batch buffers": "lower batch, negatives or dimensions",
    "label weights": "train without label_weights, or leave out rare labels with min_images_per_label",
    "pairs": "train on fewer pairs, or without validate",
    "features": "use fewer features, or a tower without them",
}


@dataclass(frozen=True)
class RamEstimate:
    """Bytes needed at the peak of a training, in addition to the data, by purpose; prints as a short table."""

    moment: str
    """When the peak is."""
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
        rows = [*self.parts.items(), (f"needed {self.moment}", self.total)]
        if self.available is not None:
            rows.append(("available", self.available))
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {size / 1e6:>9,.1f} MB" for name, size in rows)


def estimate_ram(
    config: Config,
    data: Annotations,
    workers: int | None = None,
    label_pairs: NDArray[np.int32] | None = None,
) -> RamEstimate:
    """Estimate the RAM of a training, to about a fifth on Linux.

    ``workers`` defaults to all cores. ``label_pairs`` are the frequent label pairs of a context tower; they are counted
    here unless given.
    """
    model = RamModel(resolve_auto(config, data), data, workers or available_cores(), label_pairs)
    moment, parts = max(model.moments(), key=lambda found: sum(found[1].values()))
    largest_first = sorted(parts.items(), key=lambda part: -part[1])
    return RamEstimate(moment, {name: size for name, size in largest_first if size}, available_memory())


def check_ram(
    config: Config,
    data: Annotations,
    workers: int | None = None,
    label_pairs: NDArray[np.int32] | None = None,
) -> None:
    """Raise `InsufficientMemoryError` when a training does not fit into the available RAM."""
    needed = estimate_ram(config, data, workers, label_pairs)
    if needed.available is None or needed.total <= needed.available:
        return
    largest, size = next(iter(needed.parts.items()))
    raise InsufficientMemoryError(
        f"training needs about {_in_words(needed.total)} of RAM, {_in_words(size)} of it for {largest}, but only "
        f"{_in_words(needed.available)} are available; {_ADVICE.get(largest, 'lower dimensions')}"
    )


def _in_words(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"


Parts = dict[str, int]
Arrays = dict[str, list[int]]
"""The sizes of arrays, by purpose."""

# The C library of Linux asks the system for every array from this size on, and gives it back when it is freed. Smaller
# arrays come from a heap. It shrinks only if more than twice the largest array that was freed is free at its end.
_MAPPED = 32 << 20
_KEPT_ARRAYS = 2
KEPT = "kept by the C library"

# Temporary arrays of NumPy: numbers drawn at a time; 8 bytes of each are in so many arrays.
_DRAWN_ARRAYS = 4
# The same of images whose label is held out, in blocks.
_HELD_OUT_ARRAYS = 9
# Per label pair: the temporary bytes of choosing the most frequent ones.
_LABEL_PAIR_CHOSEN = 48
# Pairs are counted in blocks of this many bytes.
_COUNTED_BLOCK = 8 << 20
# Per image: its number of labels, among all pairs and among those to train on.
_IMAGE_COUNTED = 8
# Per image: its position in the epoch and the number of pairs before it; and the temporary bytes of planning it.
_IMAGE_ORDERED = 16
_IMAGE_PLANNED = 16
# Per pair of the serial engine: its image, its position in the epoch, and the temporary bytes of ordering it.
_PAIR_ORDERED = 12
_PAIR_PLANNED = 16
# Per image of a shard: where its labels begin, and its number as text.
_IMAGE_IN_SHARD = 24
# Python objects and small arrays of one engine.
_ENGINE_OBJECTS = 4_096


class RamModel:
    """The moments of a training with complete settings, and the arrays alive in each."""

    def __init__(
        self, config: Config, data: Annotations, workers: int, label_pairs: NDArray[np.int32] | None = None
    ) -> None:
        self._config = config
        self._data = data
        self._workers = workers
        self._given_label_pairs = label_pairs
        self._images, self._labels = len(data.images), len(data.labels)
        self._width = padded_width(config.dimensions)
        # Missing features are reported by the trainer.
        self._has_features = config.has_features and data.features is not None
        self._counts = data.labels_per_image
        self._longest = int(self._counts.max(initial=0))

    def moments(self) -> Iterator[tuple[str, Parts]]:
        """Yield each moment with the bytes in use then, by purpose: of arrays, and of freed ones that are kept."""
        heap = largest = 0
        for moment, arrays in self._moments():
            small = [size for sizes in arrays.values() for size in sizes if size < _MAPPED]
            heap, largest = max(heap, sum(small)), max(largest, *small, 0)
            parts = {name: sum(sizes) for name, sizes in arrays.items()}
            yield moment, parts | {KEPT: min(heap - sum(small), _KEPT_ARRAYS * largest)}

    def _moments(self) -> Iterator[tuple[str, Arrays]]:
        """Yield each moment, in their order, with the arrays alive then."""
        config = self._config
        validate, several = config.validate, int(config.epochs > 1)
        # From the second epoch on there is a copy of the best one; while it is replaced, there are two.
        best, kept = int(validate), self._kept_scores
        if validate:
            yield "to hold labels out", {"pairs": [8 * min(self._images, BLOCK_IMAGES)] * _HELD_OUT_ARRAYS}
            # A mask of the pairs, their running count, and the pairs to train on.
            yield "to hold labels out", {"pairs": [self._data.pairs, 8 * self._data.pairs, *self._split]}
        yield from self._beginning("to begin", {"copies of vectors": []})
        engine = self._engine
        if self._has_features:
            yield "to train", self._alive(engine=engine | {"features": self._features + self._making_features})
        yield "to train", self._alive(copies=best * several, engine=engine, pairs=self._planning)
        if validate:
            yield from self._validating(engine, best * several)
            yield "to train", self._alive(copies=best + several, engine=engine, weights=self._held, validation=kept)
        if self._refits:
            # The vectors so far and the best ones are kept meanwhile; an engine is made afterwards.
            if config.has_ids:
                others = {"label weights": self._held, "validation": kept}
                yield from self._beginning("to refit", {"copies of vectors": 2 * self._vectors()} | others)
            else:
                yield "to refit", self._alive(copies=2, weights=self._held, validation=kept)
            planning = self._planning
            yield "to refit", self._alive(copies=1, engine=engine, pairs=planning, weights=self._held, validation=kept)
        exported = self._vectors(config.dimensions)
        learnt = self._learning.peak if config.label_weights else []
        yield "to finish", self._alive(copies=best, more=exported, weights=self._held + learnt, validation=kept)
        if self._has_features:
            settled = (1 + config.has_ids) * [self._images * 4 * config.dimensions]
            yield "to finish", self._alive(copies=best, more=exported + settled, weights=2 * self._held)

    def _beginning(self, moment: str, held: Arrays) -> Iterator[tuple[str, Arrays]]:
        """Count label pairs, draw vectors block by block, and copy them to their padded form."""
        pairs = self._split + self._counted
        if self._label_pairs:
            block = min(_COUNTED_BLOCK, 8 * self._data.pairs)
            counting = [4 * self._data.pairs, block, _LABEL_PAIR_CHOSEN * self._label_pairs]
            yield moment, held | {"pairs": pairs + counting}
        dimensions = self._config.dimensions
        drawn = self._vector_tables(dimensions)
        largest = max(drawn.values(), key=lambda sizes: sizes[0] if sizes else -1)
        numbers = min(largest[0] // 4, BLOCK_ROWS * dimensions)
        # While the last block is drawn, its place in the table is still empty.
        largest[0] -= 4 * numbers
        yield moment, held | drawn | {"pairs": pairs, "drawing vectors": [8 * numbers] * _DRAWN_ARRAYS}
        copied = held["copies of vectors"] + self._vectors(dimensions)
        yield moment, held | self._tables | {"pairs": pairs, "copies of vectors": copied}

    def _validating(self, engine: Arrays, copies: int) -> Iterator[tuple[str, Arrays]]:
        """Learn label weights, once and with several lambdas, and then rank with the sum of all scores."""
        labels, images = self._labels, self._held_out
        size = min(max(DEFAULT_MEMORY, 128 * labels), 4 * labels * images)
        # Scores come from the vectors of images, and those from their features.
        rows = size // (4 * max(labels, 1))
        block = [size, rows * 4 * self._width, rows * self._feature_row]
        if not self._config.label_weights:
            yield "to validate", self._alive(copies=copies, engine=engine, validation=block)
            return
        others = (KEPT_LABEL_WEIGHTS - 1) * self._held if labels <= MAX_SEARCH_LABELS else []
        learning = others + self._learning.peak
        yield "to validate", self._alive(engine=engine, weights=learning, validation=block)
        yield "to validate", self._alive(engine=engine, weights=others + self._held, validation=2 * block)
        # Blocks that are not kept are computed each time: of the vectors, and of the label weights.
        blocks = 1 if images * labels <= kept_scores(images, labels) else 3
        scores = 2 * self._kept_scores + blocks * block
        yield "to validate", self._alive(copies=copies, engine=engine, weights=self._held, validation=scores)

    def _alive(
        self,
        *,
        copies: int = 0,
        more: list[int] | None = None,
        engine: Arrays | None = None,
        pairs: list[int] | None = None,
        weights: list[int] | None = None,
        validation: list[int] | None = None,
    ) -> Arrays:
        """Return the arrays of the vectors, of ``copies`` of them and ``more``, and of everything else."""
        ordered = self._ordered if engine else []
        arrays = {
            "copies of vectors": copies * self._vectors() + (more or []),
            "pairs": self._split + self._counted + ordered + (pairs or []),
            "label weights": weights or [],
            "validation": validation or [],
        }
        return self._tables | arrays | (engine or {})

    # --- what the trainer holds ---

    @cached_property
    def _tables(self) -> Arrays:
        """The vectors under training, with the table in which label pairs are looked up."""
        tables = self._vector_tables(self._width)
        if self._config.has_context:
            tables["input vectors"] += [self._label_pair_table.keys.nbytes, self._label_pair_table.numbers.nbytes]
        return tables

    def _vector_tables(self, width: int) -> Arrays:
        config, row, inputs = self._config, 4 * width, self._labels + self._label_pairs
        squares = [4 * self._labels] if config.has_context else []
        return {
            "image vectors": [row * self._images] if config.has_ids else [],
            "label vectors": [row * self._labels, 4 * self._labels, *squares],
            "input vectors": [row * inputs, 8 * self._label_pairs, 4 * inputs] if config.has_context else [],
            "feature map": [row * self._data.features.shape[1]] if self._has_features else [],
        }

    def _vectors(self, width: int | None = None) -> list[int]:
        """Return the arrays of a copy of all vectors, of the padded width unless given."""
        return [size for sizes in self._vector_tables(width or self._width).values() for size in sizes]

    @property
    def _label_pairs(self) -> int:
        return self._label_pair_table.pairs

    @cached_property
    def _label_pair_table(self) -> LabelPairs:
        if self._given_label_pairs is not None:
            return label_pair_table(self._given_label_pairs, self._labels)
        most = self._config.label_pairs if self._config.has_context else 0
        return label_pair_table(frequent_label_pairs(self._data, most), self._labels)

    @property
    def _split(self) -> list[int]:
        """Pairs to train on, and the validation set."""
        if not self._config.validate:
            return []
        own = 4 * self._width if self._config.has_ids else 0
        return [4 * self._data.pairs, 8 * self._images, self._held_out * (self._feature_row + own)]

    @property
    def _feature_row(self) -> int:
        """Bytes of the features of an image."""
        matrix: Any = self._data.features if self._has_features else np.empty((0, 0))
        return (matrix.nbytes if isinstance(matrix, np.ndarray) else 8 * int(matrix.nnz)) // max(self._images, 1)

    @property
    def _counted(self) -> list[int]:
        return [_IMAGE_COUNTED * self._images]

    @property
    def _ordered(self) -> list[int]:
        """The order of an epoch, and what an engine knows of each image."""
        serial = [_PAIR_ORDERED * self._data.pairs] if self._config.engine == "serial" else []
        inputs = [_IMAGE_COUNTED * self._images] if self._label_pairs else []
        counted = self._counted if self._config.validate else []
        return [_IMAGE_ORDERED * self._images, *inputs, *counted, *serial]

    @property
    def _planning(self) -> list[int]:
        """The temporary bytes of planning an epoch, while the order of the one before is still there."""
        serial = _PAIR_PLANNED * self._data.pairs if self._config.positives == "by-image" else 0
        before = _IMAGE_ORDERED * self._images if self._config.epochs > 1 else 0
        return [_IMAGE_PLANNED * self._images, before, serial if self._config.engine == "serial" else 0]

    @property
    def _refits(self) -> bool:
        return self._config.refit and worth_refitting(self._held_out, self._data.pairs)

    @cached_property
    def _held_out(self) -> int:
        """The number of images with a held-out label."""
        most = held_out_images(self._images, self._labels, self._data.pairs)
        return min(most, int(np.count_nonzero(self._counts >= 2)))

    @property
    def _kept_scores(self) -> list[int]:
        """The scores of the label weights, in blocks, which are the same after every epoch."""
        if not self._config.label_weights:
            return []
        size = 4 * kept_scores(self._held_out, self._labels)
        whole, rest = divmod(size, DEFAULT_MEMORY)
        return [DEFAULT_MEMORY] * whole + [rest]

    @cached_property
    def _learning(self) -> LearningRam:
        return learning_ram(self._data)

    @property
    def _held(self) -> list[int]:
        """The label weights that are validated with."""
        return [self._learning.stored] if self._config.label_weights else []

    # --- what an engine holds ---

    @cached_property
    def _engine(self) -> Arrays:
        config, tables = self._config, self._tables
        schedule = Schedule.of(config, self._labels)
        parts = {"features": sum(self._features), "slice copies": 0, "rankings": 0}
        if config.sampler == "vse-ens":
            place = 2 if self._labels <= np.iinfo(np.uint16).max + 1 else 4
            allocate = SortScratch.allocate if config.engine == "serial" else RankScratch.allocate
            rank_scratch = self._workers * _nbytes(allocate(self._labels))
            parts["rankings"] = (place * (self._width + 1) + 8) * self._labels + rank_scratch
        if schedule.slices > 1:
            parts["slice copies"] = schedule.slices * sum(tables["label vectors"] + tables["feature map"])
        # A batch ends with a whole image, and may be twice as long as asked for.
        draws = 2 * schedule.batch + self._longest
        parts["batch buffers"] = draws * self._draw
        if config.has_context:
            scratch = ContextScratch.allocate(self._width, self._longest, self._label_pairs > 0, entries=0)
            parts["batch buffers"] += self._workers * _nbytes(scratch)
        return {name: [size] for name, size in (parts if config.shards == 1 else self._sharded(parts)).items()}

    def _sharded(self, parts: Parts) -> Parts:
        """In one process every shard has an engine, its pairs and its image vectors; they share working tables."""
        shards, tables = self._config.shards, {name: sum(sizes) for name, sizes in self._tables.items()}
        several = {name: size if name == "features" else shards * size for name, size in parts.items()}
        shared = sum(size for name, size in tables.items() if name != "image vectors")
        # The working tables, and deltas: of the shard just trained, of all before it, and of merging them.
        held = shared * (1 + 3 + math.ceil(math.log2(shards)))
        own = 4 * self._data.pairs + _IMAGE_IN_SHARD * self._images + shards * (8 * self._labels + _ENGINE_OBJECTS)
        return several | {"shards": held + own + tables["image vectors"]}

    @property
    def _draw(self) -> int:
        """Bytes per positive of a batch."""
        config = self._config
        negatives = config.negatives if config.loss == "softmax" else 1
        # Gradients are gathered before they are applied.
        gathered = 4 * (negatives + 1)
        moves = 4 * self._width if self._has_features else 0
        if config.has_context:
            # A label is an input, and has its share of the image's label pairs.
            combined = min(self._label_pair_table.pairs_per_label, self._longest // 2) if self._label_pairs else 0
            labels = LabelGradients.allocate(1, negatives, self._width)
            inputs = InputGradients.allocate(1, 1, 1 + combined, 0, self._width)
            return _nbytes(labels) + _nbytes(inputs) + gathered + moves
        if config.loss == "softmax":
            return _nbytes(LabelGradients.allocate(1, negatives, self._width)) + gathered + moves
        return 0

    @property
    def _features(self) -> list[int]:
        """The features in the form that kernels take: the data has the numbers of a sparse matrix already."""
        if not self._has_features:
            return []
        matrix: Any = self._data.features
        filled = int(np.count_nonzero(matrix)) if isinstance(matrix, np.ndarray) else 0
        return [4 * filled, 4 * filled, 8 * self._images, 4 * self._images]

    @property
    def _making_features(self) -> list[int]:
        """The temporary arrays of that: a mask of a dense matrix, or rows and squares of a sparse one; lengths."""
        if not self._has_features:
            return []
        matrix: Any = self._data.features
        numbers = [matrix.size] if isinstance(matrix, np.ndarray) else 2 * [8 * int(matrix.nnz)]
        return [*numbers, 8 * self._images]


def _nbytes(arrays: Any) -> int:
    """Return the bytes of an array, or of a group of arrays."""
    return arrays.nbytes if isinstance(arrays, np.ndarray) else sum(map(_nbytes, arrays))
