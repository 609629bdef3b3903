"""The updates of shards to the shared tables, how they are merged, and how often.

With d_s the update of shard s to a row, the row moves by sum(d_s) min(1, sum |d_s|^2 / |sum d_s|^2), as for slices
(`vse_ens.kernels.sgd.merge_slice_updates`): unrelated updates are added, updates that agree are averaged. A rare label
that only one shard has seen moves as on one machine. A common label, which all shards moved the same way, moves by
their mean. docs/scale.md compares this rule, and the number of exchanges, with others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.model.embeddings import Embeddings, Floats

Tables = dict[str, Floats]
"""The tables that all images train, by their names in `Embeddings`."""

TablePiece = Mapping[str, Any]
"""Tables by name, or a range of rows of every table with the number of its first row (``name.first``)."""

TableDelta = Mapping[str, NDArray[Any]]
"""For every table: the rows that changed (``name.rows``), the sum of their updates (``name.sums``), and the sum of the
squared lengths of the updates (``name.squares``)."""

# Softmax: exchange after this many times |A| ln |A| draws per shard, but at most this often per epoch. A softmax draw
# does the work of dozens of others, so an exchange costs little in comparison.
_SOFTMAX_DRAWS = 0.25
_MAX_SOFTMAX_EXCHANGES = 8
# Other losses: a draw is so fast that an exchange costs as much as tens of draws per label. Frequent exchanges pay off
# in the first epochs only; later one per epoch is enough, and a few more with many shards.
_EARLY_EPOCHS, _EARLY_EXCHANGES = 5, 8
_SHARDS_PER_EXCHANGE, _MAX_EXCHANGES = 4, 4

_SHARED = ("label_vectors", "label_bias", "label_squares", "input_vectors", "input_squares", "feature_map")


def shared_tables(embeddings: Embeddings) -> Tables:
    """Return the tables that all images train and that this model has, without copying."""
    return {name: array for name, array in embeddings.arrays().items() if name in _SHARED and len(array)}


def split_tables(tables: Mapping[str, Floats], pieces: int) -> list[TablePiece]:
    """Split the tables into ranges of rows, without copying."""
    split: list[TablePiece] = []
    for piece in range(pieces):
        ends = {name: [len(table) * edge // pieces for edge in (piece, piece + 1)] for name, table in tables.items()}
        rows = {name: tables[name][first:last] for name, (first, last) in ends.items()}
        split.append(rows | {f"{name}.first": first for name, (first, _) in ends.items()})
    return split


def copy_piece(tables: Tables, piece: TablePiece) -> None:
    """Copy a piece into the tables."""
    for name, table in tables.items():
        np.copyto(_rows(table, piece, name), piece[name])


def delta_between(before: TablePiece, after: Tables) -> TableDelta:
    """Return the updates of one shard to a piece, without the rows it left unchanged."""
    delta: dict[str, NDArray[Any]] = {}
    for name, table in after.items():
        start = before[name]
        # The bias is a table of one column.
        difference = (_rows(table, before, name) - start).reshape(len(start), math.prod(start.shape[1:]))
        rows = np.flatnonzero(difference.any(axis=1)).astype(np.int32)
        sums = difference if len(rows) == len(start) else difference[rows]
        squares = np.einsum("rf,rf->r", sums, sums)
        rows += np.int32(before.get(f"{name}.first", 0))
        delta |= {f"{name}.rows": rows, f"{name}.sums": sums, f"{name}.squares": squares}
    return delta


def _rows(table: Floats, piece: TablePiece, name: str) -> Floats:
    first = piece.get(f"{name}.first", 0)
    return table[first : first + len(piece[name])]


def join_deltas(pieces: Sequence[TableDelta]) -> TableDelta:
    """Concatenate the deltas of all pieces, in order."""
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def merge_deltas(left: TableDelta, right: TableDelta) -> TableDelta:
    """Add the deltas of two shards, or of two groups of shards."""
    merged: dict[str, NDArray[Any]] = {}
    for name in [key.removesuffix(".rows") for key in left if key.endswith(".rows")]:
        one, other = left[f"{name}.rows"], right[f"{name}.rows"]
        parts = [f"{name}.{part}" for part in ("sums", "squares")]
        if np.array_equal(one, other):
            merged |= {f"{name}.rows": one} | {part: left[part] + right[part] for part in parts}
            continue
        rows = np.union1d(one, other)
        merged[f"{name}.rows"] = rows
        for part in parts:
            total = np.zeros((len(rows), *left[part].shape[1:]), np.float32)
            total[np.searchsorted(rows, one)] = left[part]
            total[np.searchsorted(rows, other)] += right[part]
            merged[part] = total
    return merged


def apply_delta(tables: Tables, delta: TableDelta) -> None:
    """Move the tables by the merged updates of all shards."""
    for name, table in tables.items():
        rows, sums, squares = (delta[f"{name}.{part}"] for part in ("rows", "sums", "squares"))
        summed = np.einsum("rf,rf->r", sums, sums)
        factor = np.where(summed > squares, squares / np.maximum(summed, np.finfo(np.float32).tiny), np.float32(1.0))
        update = (factor[:, None] * sums).reshape(len(rows), *table.shape[1:])
        if len(rows) == len(table):
            table += update
        else:
            table[rows] += update


def exchanges_per_epoch(config: Config, labels: int, pairs: int, epoch: int) -> int:
    """Return the number of exchanges in an epoch, counted from 0: the configured one, or one chosen from the data."""
    if config.exchanges:
        return config.exchanges
    if config.loss != "softmax":
        if epoch < _EARLY_EPOCHS:
            return _EARLY_EXCHANGES
        return max(1, min(_MAX_EXCHANGES, config.shards // _SHARDS_PER_EXCHANGE))
    draws = _SOFTMAX_DRAWS * labels * math.log(max(labels, 2))
    return max(1, min(_MAX_SOFTMAX_EXCHANGES, round(pairs / config.shards / draws)))
