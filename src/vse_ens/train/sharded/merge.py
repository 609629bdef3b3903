"""What shards changed in the shared tables, and how their changes are combined.

With d_s what shard s did to a row, the row moves by sum(d_s) min(1, sum |d_s|^2 / |sum d_s|^2), as slices do
(`vse_ens.kernels.sgd.merge_slices`): changes that have nothing to do with each other are added, changes that agree
are averaged. A rare label that one shard alone has met moves as on one machine; a common one, which all shards moved
the same way, moves as the mean of them. docs/scale.md has what other rules gave.

How often in an epoch the shards exchange what they changed: docs/scale.md has what more and fewer give and cost.
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

Piece = Mapping[str, Any]
"""Tables by name, or of every table some rows, with the number of the first (``name.first``)."""

TableDelta = Mapping[str, NDArray[Any]]
"""Of every table: which rows were changed (``name.rows``), the sum of the changes (``name.sums``), and the sum of their
squared lengths (``name.squares``)."""

_SHARED = ("label_vectors", "label_bias", "label_squares", "input_vectors", "input_squares", "feature_map")


def shared_tables(embeddings: Embeddings) -> Tables:
    """The tables that all images train, but for those this model has not; not copies."""
    return {name: array for name, array in embeddings.arrays().items() if name in _SHARED and len(array)}


def cut_tables(tables: Mapping[str, Floats], pieces: int) -> list[Piece]:
    """The tables in ranges of rows; not copies."""
    cut: list[Piece] = []
    for piece in range(pieces):
        ends = {name: [len(table) * place // pieces for place in (piece, piece + 1)] for name, table in tables.items()}
        rows = {name: tables[name][first:last] for name, (first, last) in ends.items()}
        cut.append(rows | {f"{name}.first": first for name, (first, _) in ends.items()})
    return cut


def fill(tables: Tables, piece: Piece) -> None:
    """Copy a piece to its place in the tables."""
    for name, table in tables.items():
        np.copyto(_rows(table, piece, name), piece[name])


def changes_between(before: Piece, after: Tables) -> TableDelta:
    """What one shard changed in a piece; rows it left alone are left out."""
    changes: dict[str, NDArray[Any]] = {}
    for name, table in after.items():
        start = before[name]
        # A bias is a table of one column.
        difference = (_rows(table, before, name) - start).reshape(len(start), math.prod(start.shape[1:]))
        rows = np.flatnonzero(difference.any(axis=1)).astype(np.int32)
        sums = difference if len(rows) == len(start) else difference[rows]
        squares = np.einsum("rf,rf->r", sums, sums)
        rows += np.int32(before.get(f"{name}.first", 0))
        changes |= {f"{name}.rows": rows, f"{name}.sums": sums, f"{name}.squares": squares}
    return changes


def _rows(table: Floats, piece: Piece, name: str) -> Floats:
    first = piece.get(f"{name}.first", 0)
    return table[first : first + len(piece[name])]


def join_changes(pieces: Sequence[TableDelta]) -> TableDelta:
    """Those of all pieces, in order."""
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def merge_changes(left: TableDelta, right: TableDelta) -> TableDelta:
    """Those of two shards, or of two groups of them."""
    merged: dict[str, NDArray[Any]] = {}
    for name in _tables(left):
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


def apply_changes(tables: Tables, changes: TableDelta) -> None:
    """Move the tables by what all shards together changed."""
    for name, table in tables.items():
        rows, sums, apart = (changes[f"{name}.{part}"] for part in ("rows", "sums", "squares"))
        together = np.einsum("rf,rf->r", sums, sums)
        share = np.where(together > apart, apart / np.maximum(together, np.finfo(np.float32).tiny), np.float32(1.0))
        moves = (share[:, None] * sums).reshape(len(rows), *table.shape[1:])
        if len(rows) == len(table):
            table += moves
        else:
            table[rows] += moves


def _tables(changes: TableDelta) -> list[str]:
    return [name.removesuffix(".rows") for name in changes if name.endswith(".rows")]


# A softmax draw does the work of dozens, so that an exchange costs little beside it: after so many times |A| ln |A|
# draws in every shard, and at most so often in an epoch.
_SOFTMAX_DRAWS = 0.25
_MOST_SOFTMAX = 8
# Draws with one negative are so quick that an exchange costs as much as tens of draws a label. Early on it pays, while
# all vectors are on their way from nothing; later once an epoch does, and somewhat more often with many shards.
_EARLY_EPOCHS, _EARLY = 5, 8
_SHARDS_AN_EXCHANGE, _MOST = 4, 4


def exchanges(config: Config, labels: int, pairs: int, epoch: int) -> int:
    """Of an epoch, counted from 0: as the configuration says, or by the data where it leaves that open."""
    if config.exchanges:
        return config.exchanges
    if config.loss != "softmax":
        return _EARLY if epoch < _EARLY_EPOCHS else max(1, min(_MOST, config.shards // _SHARDS_AN_EXCHANGE))
    draws = _SOFTMAX_DRAWS * labels * math.log(max(labels, 2))
    return max(1, min(_MOST_SOFTMAX, round(pairs / config.shards / draws)))
