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
from vse_ens.errors import InsufficientMemoryError
from vse_ens.evaluate.rank import DEFAULT_MEMORY
from vse_ens.kernels.context import ContextGradients, ContextScratch
from vse_ens.kernels.label_pairs import LabelPairs
from vse_ens.kernels.rank_table import RankScratch
from vse_ens.kernels.serial import SortScratch
from vse_ens.kernels.softmax import BatchGradients
from vse_ens.label_weights.learn import peak_bytes, stored_bytes
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
    """Estimate the RAM of a training, rather too high than too low.

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

# Temporary bytes of NumPy: per number drawn; per pair when labels are held out, and when pairs are counted by label;
# per image when an epoch is planned or its labels are held out.
_DRAWN = 32
_PAIR_HELD_OUT = 23
_PAIR_COUNTED = 8
_IMAGE_PLANNED = 40
# Per image: its position in the epoch, the number of pairs before it, and its number of inputs.
_IMAGE_ORDERED = 24
# Per pair of the serial engine: its image, its position in the epoch, and the temporary bytes of ordering it.
_PAIR_ORDERED = 12
_PAIR_PLANNED = 16
# Per image of a shard: where its labels begin, and its number as text.
_IMAGE_IN_SHARD = 24
# Per label pair: its two labels, its AdaGrad accumulator, its lookup table; and the temporary bytes of counting it.
_LABEL_PAIR = 20
_LABEL_PAIR_COUNTED = 48


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
        self._meetings = int((self._counts * (self._counts - 1)).sum())

    def moments(self) -> Iterator[tuple[str, Parts]]:
        """Yield each moment with the bytes alive then, by purpose."""
        config, best = self._config, int(self._config.validate)
        # The vectors under training exist from the start; with validation there is a copy of the best epoch.
        if config.validate:
            yield "to hold labels out", {"pairs": _PAIR_HELD_OUT * self._data.pairs + _IMAGE_PLANNED * self._images}
        yield "to begin", self._alive(drawing=self._drawing)
        yield "to begin", self._alive(copies=1)
        # While a better epoch is copied, the copy of the previous best still exists.
        yield "to train", self._alive(copies=2 * best, engine=True, planning=self._planning)
        if config.validate:
            others = KEPT_LABEL_WEIGHTS * self._weights_held if self._labels <= MAX_SEARCH_LABELS else 0
            yield "to validate", self._alive(copies=1, engine=True, weights=others + self._weights_learnt)
            yield (
                "to validate",
                self._alive(copies=1, engine=True, weights=others + self._weights_held, validation=self._validation),
            )
        if self._refits:
            yield "to refit", self._alive(copies=2, engine=True, weights=self._weights_held, drawing=self._drawing)
            yield "to refit", self._alive(copies=3, engine=True, weights=self._weights_held)
        yield "to finish", self._alive(copies=best + 1, weights=self._weights_held + self._weights_learnt)
        if self._has_features:
            settled = (1 + config.has_ids) * self._images * 4 * config.dimensions
            yield "to finish", self._alive(copies=best + 1, settled=settled, weights=2 * self._weights_held)

    def _alive(
        self,
        *,
        copies: int = 0,
        engine: bool = False,
        validation: int = 0,
        weights: int = 0,
        planning: int = 0,
        drawing: int = 0,
        settled: int = 0,
    ) -> Parts:
        """Return the bytes of the vectors, of ``copies`` of them, and of everything else."""
        parts = {
            "copies of vectors": copies * sum(self._tables.values()) + settled,
            "drawing vectors": drawing,
            "pairs": self._split + planning + (self._ordered if engine else 0),
            "label weights": weights,
            "validation": validation,
        }
        return self._tables | parts | (self._engine if engine else {})

    # --- what the trainer holds ---

    @cached_property
    def _tables(self) -> Parts:
        config, row = self._config, 4 * self._width
        inputs = (row + 4) * self._labels + (row + _LABEL_PAIR) * self._label_pairs + 8 * self._labels
        return {
            "image vectors": row * self._images if config.has_ids else 0,
            "label vectors": (row + 8) * self._labels,
            "input vectors": inputs if config.has_context else 0,
            "feature map": row * self._data.features.shape[1] if self._has_features else 0,
        }

    @property
    def _label_pairs(self) -> int:
        return len(self._label_pair_table.numbers)

    @cached_property
    def _label_pair_table(self) -> LabelPairs:
        if self._given_label_pairs is not None:
            return label_pair_table(self._given_label_pairs, self._labels)
        most = self._config.label_pairs if self._config.has_context else 0
        return label_pair_table(frequent_label_pairs(self._data, most), self._labels)

    @cached_property
    def _drawing(self) -> int:
        """A block of the largest table; before that, label pairs are counted."""
        rows = max(size // (4 * self._width) for size in self._tables.values())
        found = _LABEL_PAIR_COUNTED * self._label_pairs + _PAIR_COUNTED * self._data.pairs if self._label_pairs else 0
        return max(_DRAWN * min(rows, BLOCK_ROWS) * self._config.dimensions, found)

    @property
    def _split(self) -> int:
        """Pairs to train on, and the validation set."""
        if not self._config.validate:
            return 0
        matrix: Any = self._data.features if self._has_features else np.empty((0, 0))
        row = (matrix.nbytes if isinstance(matrix, np.ndarray) else 8 * matrix.nnz) // max(self._images, 1)
        own = 4 * self._width if self._config.has_ids else 0
        return 4 * self._data.pairs + 8 * self._images + self._held_out * (row + own)

    @property
    def _ordered(self) -> int:
        """The order of an epoch, which an engine holds."""
        serial = _PAIR_ORDERED * self._data.pairs if self._config.engine == "serial" else 0
        return _IMAGE_ORDERED * self._images + serial

    @property
    def _planning(self) -> int:
        """The temporary bytes of planning an epoch."""
        serial = _PAIR_PLANNED * self._data.pairs if self._config.positives == "by-image" else 0
        return _IMAGE_PLANNED * self._images + (serial if self._config.engine == "serial" else 0)

    @property
    def _refits(self) -> bool:
        return self._config.refit and worth_refitting(self._held_out, self._data.pairs)

    @cached_property
    def _held_out(self) -> int:
        """The number of images with a held-out label."""
        most = held_out_images(self._images, self._labels, self._data.pairs)
        return min(most, int(np.count_nonzero(self._counts >= 2)))

    @property
    def _validation(self) -> int:
        """A block of scores, the scores that are kept, and the label counts."""
        most = max(DEFAULT_MEMORY, 128 * self._labels)
        block = min(most, 4 * self._labels * self._held_out)
        if self._config.label_weights:
            # Scores of the vectors and of the label weights are kept, and added up block by block.
            block = 2 * block + 2 * 4 * kept_scores(self._held_out, self._labels)
        return block + _PAIR_COUNTED * self._data.pairs

    @cached_property
    def _weights_held(self) -> int:
        return stored_bytes(self._labels, self._meetings) if self._config.label_weights else 0

    @cached_property
    def _weights_learnt(self) -> int:
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
            allocate = SortScratch.allocate if config.engine == "serial" else RankScratch.allocate
            rank_scratch = self._workers * _nbytes(allocate(self._labels))
            parts["rankings"] = (place * (self._width + 1) + 8) * self._labels + rank_scratch
        if schedule.slices > 1:
            parts["slice copies"] = schedule.slices * (self._tables["label vectors"] + self._tables["feature map"])
        # A batch ends with a whole image, and may be twice as long as asked for.
        draws = 2 * schedule.batch + self._longest
        parts["batch buffers"] = draws * self._draw
        if config.has_context:
            scratch = ContextScratch.allocate(self._width, self._longest, self._label_pairs > 0)
            parts["batch buffers"] += self._workers * _nbytes(scratch)
        return parts if config.shards == 1 else self._sharded(parts)

    def _sharded(self, parts: Parts) -> Parts:
        """In one process every shard has an engine, its pairs and its image vectors; they share working tables."""
        shards = self._config.shards
        several = {name: size if name == "features" else shards * size for name, size in parts.items()}
        shared = sum(size for name, size in self._tables.items() if name != "image vectors")
        # The working tables, and deltas: of the shard just trained, of all before it, and of merging them.
        held = shared * (1 + 3 + math.ceil(math.log2(shards)))
        own = 4 * self._data.pairs + _IMAGE_IN_SHARD * self._images + 8 * shards * self._labels
        return several | {"shards": held + own + self._tables["image vectors"]}

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
            changes = ContextGradients.allocate(1, 1, 1 + combined, 0, negatives, self._width)
            return _nbytes(changes) + gathered + moves
        if config.loss == "softmax":
            return _nbytes(BatchGradients.allocate(1, negatives, self._width)) + gathered + moves
        return 0

    @property
    def _features(self) -> int:
        """The CSR form, and the temporary arrays of making it."""
        if not self._has_features:
            return 0
        matrix: Any = self._data.features
        if isinstance(matrix, np.ndarray):
            return 8 * int(np.count_nonzero(matrix)) + matrix.size + 20 * self._images
        return 17 * int(matrix.nnz) + 28 * self._images


def _nbytes(arrays: Any) -> int:
    """Return the bytes of an array, or of a group of arrays."""
    return arrays.nbytes if isinstance(arrays, np.ndarray) else sum(map(_nbytes, arrays))
