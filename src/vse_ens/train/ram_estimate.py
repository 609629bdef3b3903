"""How much memory training will take, told before any of it is taken.

The moments at which training holds most memory, and what is alive in each. Sizes are in bytes, beside the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.errors import InsufficientMemoryError
from vse_ens.evaluate.rank import DEFAULT_MEMORY
from vse_ens.kernels.context import ContextGradients, ContextScratch
from vse_ens.kernels.label_pairs import LabelPairs
from vse_ens.kernels.rank_table import RankScratch
from vse_ens.kernels.softmax import BatchGradients
from vse_ens.label_weights.learn import DENSE_LABELS, peak_bytes, stored_bytes
from vse_ens.model.embeddings import label_pair_table
from vse_ens.run.ram import available_memory
from vse_ens.run.threads import available_cores
from vse_ens.train.auto_config import resolve_auto
from vse_ens.train.pair_selection import frequent_label_pairs
from vse_ens.train.schedule import Schedule
from vse_ens.train.tables import BLOCK_ROWS, padded_width
from vse_ens.train.trainer import WORTH_REFITTING
from vse_ens.train.validation import most_held_out

# What makes a part smaller, where it is not the length of the vectors.
_LOWER = {
    "input vectors": "lower combinations or dimensions",
    "batch buffers": "lower batch, negatives or dimensions",
    "label memory": "train without label_memory, or leave out rare labels with min_images_per_label",
    "pairs": "train on fewer pairs, or without validate",
    "features": "use fewer features, or a tower without them",
}


@dataclass(frozen=True)
class RamEstimate:
    """Bytes at the fullest moment of training, beside the data, by what they are for; prints as a short table."""

    moment: str
    """When that is."""
    parts: Mapping[str, int]
    available: int | None
    """What this process may still take; None where the system does not tell."""

    @property
    def total(self) -> int:
        """Bytes in all."""
        return sum(self.parts.values())

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as JSON can hold them."""
        return {"total": self.total, "available": self.available, "moment": self.moment, "parts": dict(self.parts)}

    def __str__(self) -> str:
        rows = [*self.parts.items(), (f"needed {self.moment}", self.total)]
        if self.available is not None:
            rows.append(("available", self.available))
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {size / 1e6:>9,.1f} MB" for name, size in rows)


def estimate_ram(config: Config, data: Annotations, workers: int | None = None) -> RamEstimate:
    """What training with so many workers (not said: all cores) needs beside the data: rather too much than too little.

    Counts which labels occur together where the model has combinations; else it looks at sizes alone.
    """
    moments = RamModel(resolve_auto(config, data), data, workers or available_cores())
    moment, parts = max(moments.all(), key=lambda found: sum(found[1].values()))
    largest_first = sorted(parts.items(), key=lambda part: -part[1])
    return RamEstimate(moment, {name: size for name, size in largest_first if size}, available_memory())


def check_ram(config: Config, data: Annotations, workers: int | None = None) -> None:
    """Refuse a training that will not fit into the memory that is left."""
    needed = estimate_ram(config, data, workers)
    if needed.available is None or needed.total <= needed.available:
        return
    largest, size = next(iter(needed.parts.items()))
    raise InsufficientMemoryError(
        f"training needs about {_in_words(needed.total)} of memory, of which {_in_words(size)} for {largest}, and only "
        f"{_in_words(needed.available)} are left; {_LOWER.get(largest, 'lower dimensions')}"
    )


def _in_words(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"


Parts = dict[str, int]

# What NumPy makes on the way: for a number that is drawn; for a pair when labels are held out of them, and when they
# are counted by label; for an image when an epoch is planned or its labels are held out.
_DRAWN = 32
_PAIR_HELD_OUT = 23
_PAIR_COUNTED = 8
_IMAGE_PLANNED = 40
# An image's place in the epoch, how many pairs come before it, and how many inputs it has.
_IMAGE_ORDERED = 24
# Of an image in a shard: where its labels begin, and its number as text.
_IMAGE_IN_SHARD = 24
# Of a combination: its two labels, its sum of squares, how it is looked up; and what finding it takes.
_COMBINATION = 20
_COMBINATION_FOUND = 48
# Memories that may be kept while another lambda is tried.
_OTHER_MEMORIES = 3


class RamModel:
    """The moments of a training with complete settings."""

    def __init__(self, config: Config, data: Annotations, workers: int) -> None:
        self._config = config
        self._data = data
        self._workers = workers
        self._images, self._labels = len(data.images), len(data.labels)
        self._width = padded_width(config.dimensions)
        # Features that a tower needs and the data lack are for the trainer to miss.
        self._has_features = config.has_features and data.features is not None
        self._counts = data.labels_per_image
        self._longest = int(self._counts.max(initial=0))
        self._meetings = int((self._counts * (self._counts - 1)).sum())

    def all(self) -> Iterator[tuple[str, Parts]]:
        """When, and what is alive then."""
        config, best = self._config, int(self._config.validate)
        # The vectors that the trainer holds are there from the start; of the best epoch there is a copy.
        if config.validate:
            yield "to hold labels out", {"pairs": _PAIR_HELD_OUT * self._data.pairs + _IMAGE_PLANNED * self._images}
        yield "to begin", self._alive(drawing=self._drawing)
        yield "to begin", self._alive(copies=1)
        # While the copy of a better epoch is made, that of the last one is still there.
        yield "to train", self._alive(copies=2 * best, engine=True, planning=_IMAGE_PLANNED * self._images)
        if config.validate:
            others = _OTHER_MEMORIES * self._memory_held if self._labels <= DENSE_LABELS else 0
            yield "to validate", self._alive(copies=1, engine=True, memory=others + self._memory_learnt)
            yield (
                "to validate",
                self._alive(copies=1, engine=True, memory=others + self._memory_held, validation=self._validation),
            )
        if self._refits:
            yield "to train anew", self._alive(copies=2, engine=True, memory=self._memory_held, drawing=self._drawing)
            yield "to train anew", self._alive(copies=3, engine=True, memory=self._memory_held)
        yield "to finish", self._alive(copies=best + 1, memory=self._memory_held + self._memory_learnt)
        if self._has_features:
            settled = (1 + config.has_ids) * self._images * 4 * config.dimensions
            yield "to finish", self._alive(copies=best + 1, settled=settled, memory=2 * self._memory_held)

    def _alive(
        self,
        *,
        copies: int = 0,
        engine: bool = False,
        validation: int = 0,
        memory: int = 0,
        planning: int = 0,
        drawing: int = 0,
        settled: int = 0,
    ) -> Parts:
        """The vectors, with so many copies of them, and what else there is."""
        parts = {
            "copies of vectors": copies * sum(self._tables.values()) + settled,
            "drawing vectors": drawing,
            "pairs": self._split + planning + (_IMAGE_ORDERED * self._images if engine else 0),
            "label memory": memory,
            "validation": validation,
        }
        return self._tables | parts | (self._engine if engine else {})

    # --- what the trainer holds ---

    @cached_property
    def _tables(self) -> Parts:
        config, row = self._config, 4 * self._width
        inputs = (row + 4) * self._labels + (row + _COMBINATION) * self._combinations + 8 * self._labels
        return {
            "image vectors": row * self._images if config.has_ids else 0,
            "label vectors": (row + 8) * self._labels,
            "input vectors": inputs if config.has_context else 0,
            "feature map": row * self._data.features.shape[1] if self._has_features else 0,
        }

    @property
    def _combinations(self) -> int:
        return len(self._combination_table.numbers)

    @cached_property
    def _combination_table(self) -> LabelPairs:
        most = self._config.label_pairs if self._config.has_context else 0
        return label_pair_table(frequent_label_pairs(self._data, most), self._labels)

    @cached_property
    def _drawing(self) -> int:
        """A block of the largest table; before that, the combinations are found."""
        rows = max(size // (4 * self._width) for size in self._tables.values())
        found = _COMBINATION_FOUND * self._combinations + _PAIR_COUNTED * self._data.pairs if self._combinations else 0
        return max(_DRAWN * min(rows, BLOCK_ROWS) * self._config.dimensions, found)

    @property
    def _split(self) -> int:
        """Pairs to train on, and what is known of the images with a held-out label."""
        if not self._config.validate:
            return 0
        matrix: Any = self._data.features if self._has_features else np.empty((0, 0))
        row = (matrix.nbytes if isinstance(matrix, np.ndarray) else 8 * matrix.nnz) // max(self._images, 1)
        own = 4 * self._width if self._config.has_ids else 0
        return 4 * self._data.pairs + 8 * self._images + self._held_out * (row + own)

    @property
    def _refits(self) -> bool:
        return self._config.refit and self._held_out > WORTH_REFITTING * self._data.pairs

    @cached_property
    def _held_out(self) -> int:
        """Of how many images a label is held out."""
        most = most_held_out(self._images, self._labels, self._data.pairs)
        return min(most, int(np.count_nonzero(self._counts >= 2)))

    @property
    def _validation(self) -> int:
        """A block of scores, and how often each label occurs."""
        most = max(DEFAULT_MEMORY, 128 * self._labels)
        return min(most, 4 * self._labels * self._held_out) + _PAIR_COUNTED * self._data.pairs

    @cached_property
    def _memory_held(self) -> int:
        return stored_bytes(self._labels, self._meetings) if self._config.label_weights else 0

    @cached_property
    def _memory_learnt(self) -> int:
        if not self._config.label_weights:
            return 0
        return peak_bytes(self._labels, self._data.pairs, self._meetings)

    # --- what an engine holds ---

    @cached_property
    def _engine(self) -> Parts:
        config = self._config
        schedule = Schedule.of(config, self._labels)
        parts = {"features": self._features, "slice copies": 0, "rankings": 0}
        if config.sampler == "vse-ens":
            place = 2 if self._labels <= np.iinfo(np.uint16).max + 1 else 4
            rank_scratch = self._workers * _nbytes(RankScratch.allocate(self._labels))
            parts["rankings"] = (place * (self._width + 1) + 8) * self._labels + rank_scratch
        if schedule.slices > 1:
            parts["slice copies"] = schedule.slices * (self._tables["label vectors"] + self._tables["feature map"])
        # A batch ends with a whole image, and may be twice as long as asked for.
        draws = 2 * schedule.batch + self._longest
        parts["batch buffers"] = draws * self._draw
        if config.has_context:
            scratch = ContextScratch.allocate(self._width, self._longest, self._combinations > 0)
            parts["batch buffers"] += self._workers * _nbytes(scratch)
        return parts if config.shards == 1 else self._sharded(parts)

    def _sharded(self, parts: Parts) -> Parts:
        """In one process every shard has an engine, its pairs and its images' vectors; they share working tables."""
        shards = self._config.shards
        several = {name: size if name == "features" else shards * size for name, size in parts.items()}
        shared = sum(size for name, size in self._tables.items() if name != "image vectors")
        # The tables to work on, and changes: of the shard that is done, of all before it, and on the way between them.
        held = shared * (1 + 3 + math.ceil(math.log2(shards)))
        own = 4 * self._data.pairs + _IMAGE_IN_SHARD * self._images + 8 * shards * self._labels
        return several | {"shards": held + own + self._tables["image vectors"]}

    @property
    def _draw(self) -> int:
        """What a positive of a batch takes."""
        config = self._config
        negatives = config.negatives if config.loss == "softmax" else 1
        # Changes are gathered before they are applied.
        gathered = 4 * (negatives + 1)
        moves = 4 * self._width if self._has_features else 0
        if config.has_context:
            # A label is an input, and has so many of the image's combinations.
            combined = min(self._combination_table.pairs_per_label, self._longest // 2) if self._combinations else 0
            changes = ContextGradients.allocate(1, 1, 1 + combined, 0, negatives, self._width)
            return _nbytes(changes) + gathered + moves
        if config.loss == "softmax":
            return _nbytes(BatchGradients.allocate(1, negatives, self._width)) + gathered + moves
        return 0

    @property
    def _features(self) -> int:
        """In CSR form, and what making it takes."""
        if not self._has_features:
            return 0
        matrix: Any = self._data.features
        if isinstance(matrix, np.ndarray):
            return 8 * int(np.count_nonzero(matrix)) + matrix.size + 20 * self._images
        return 17 * int(matrix.nnz) + 28 * self._images


def _nbytes(arrays: Any) -> int:
    """Bytes of an array, or of a group of arrays."""
    return arrays.nbytes if isinstance(arrays, np.ndarray) else sum(map(_nbytes, arrays))
