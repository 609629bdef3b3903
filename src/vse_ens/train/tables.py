"""The tables under training: their start values, their form for kernels, and the check that they stay finite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.features.attach import plain_features, squared_lengths
from vse_ens.errors import ConfigError, TrainingError
from vse_ens.kernels.arrays import Features, SharedTables
from vse_ens.kernels.context import ContextTables
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.streams import Streams
from vse_ens.train.pair_selection import frequent_label_pairs

BLOCK_ROWS = 16_384
"""Start vectors are drawn in blocks of this many rows, each from its own stream: drawing takes ten times the memory of
the result."""
NO_FEATURES = Features(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(0, np.float32))
# Vectors are padded to a multiple of the length of a vector register.
_LANES = 8
# The AdaGrad accumulators start from this value, which bounds the first steps of a row.
_FIRST_SQUARE = 0.01


def padded(embeddings: Embeddings) -> Embeddings:
    """Return a copy with zeros behind every vector. They stay zero, since no gradient points there."""
    return embeddings.resized(padded_width(embeddings.dimensions))


def padded_width(dimensions: int) -> int:
    """Return the length of the padded vectors."""
    return -(-dimensions // _LANES) * _LANES


def initial_embeddings(config: Config, data: Annotations, label_pairs: NDArray[np.int32] | None = None) -> Embeddings:
    """Draw all vectors from N(0, init_scale^2), each table from its own stream; biases start at 0."""
    tables, images = initial_tables(config, data, label_pairs), len(data.images)
    if not config.has_ids:
        return tables
    if config.shards == 1:
        vectors = _normal(Streams(config.seed).child("init"), "images", images, config)
    else:
        vectors = np.empty((images, config.dimensions), np.float32)
        for shard in range(config.shards):
            vectors[shard :: config.shards] = initial_rows(config, shard, len(vectors[shard :: config.shards]))
    return replace(tables, image_vectors=vectors)


def initial_rows(config: Config, shard: int, rows: int) -> Floats:
    """Draw the start vectors of one shard's images, independent of the other shards."""
    return _normal(Streams(config.seed).child("init", "shard", shard), "images", rows, config)


def _normal(streams: Streams, name: str, rows: int, config: Config, scale: float | None = None) -> Floats:
    table = np.empty((rows, config.dimensions), np.float32)
    scale = config.init_scale if scale is None else scale
    for start in range(0, rows, BLOCK_ROWS):
        block = table[start : start + BLOCK_ROWS]
        block[:] = (streams.child(name, start).normals(block.size) * scale).reshape(block.shape)
    return table


def initial_tables(config: Config, data: Annotations, label_pairs: NDArray[np.int32] | None = None) -> Embeddings:
    """Draw all but the images' own vectors; the label pairs of the data are chosen here unless they are given."""
    streams = Streams(config.seed).child("init")

    def normal(name: str, rows: int, scale: float | None = None) -> Floats:
        return _normal(streams, name, rows, config, scale)

    columns, feature_scale = 0, 0.0
    if config.has_features:
        if data.features is None:
            raise ConfigError(
                f"tower {config.tower} needs image features: --features FILE, or Annotations.with_features in Python"
            )
        columns = data.features.shape[1]
        # x_i F, not F, starts with init_scale, whatever the unit of the features.
        feature_scale = config.init_scale / _mean_or_one(squared_lengths(plain_features(data.features))) ** 0.5
    embeddings = Embeddings(
        label_vectors=normal("labels", len(data.labels)),
        label_bias=np.zeros(len(data.labels), np.float32),
        image_vectors=normal("images", 0),
        feature_map=normal("features", columns, feature_scale),
    )
    if not config.has_context:
        return embeddings
    if label_pairs is None:
        label_pairs = frequent_label_pairs(data, config.label_pairs)
    inputs = np.concatenate([normal("inputs", len(data.labels)), normal("combinations", len(label_pairs))])
    return replace(
        embeddings,
        input_vectors=inputs,
        label_pairs=label_pairs,
        label_squares=np.full(len(data.labels), _FIRST_SQUARE, np.float32),
        input_squares=np.full(len(inputs), _FIRST_SQUARE, np.float32),
    )


def shared_tables(embeddings: Embeddings) -> SharedTables:
    """Return the tables that all images train, in the form kernels take."""
    return SharedTables(embeddings.label_vectors, embeddings.label_bias, embeddings.feature_map)


def context_tables(embeddings: Embeddings) -> ContextTables:
    """Return the tables of the context tower, in the form kernels take."""
    return ContextTables(
        embeddings.input_vectors, embeddings.input_squares, embeddings.label_squares, embeddings.label_pair_table
    )


def features_of(config: Config, data: Annotations) -> Features:
    """Return the image features in CSR form, without zeros."""
    if not config.has_features:
        return NO_FEATURES
    matrix = plain_features(data.features)
    if isinstance(matrix, np.ndarray):
        filled = matrix != 0
        indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
        columns = np.broadcast_to(np.arange(matrix.shape[1], dtype=np.int32), matrix.shape)[filled]
        values = matrix[filled]
    else:
        indptr, columns, values = matrix.indptr, matrix.indices, matrix.data
    # Scale the step so that a long x_i does not lengthen it, and a short one is not made up for by a huge F.
    lengths = squared_lengths(matrix)
    step_scale = 1.0 / np.maximum(lengths, _mean_or_one(lengths))
    return Features(
        indptr.astype(np.int64, copy=False), columns.astype(np.int32, copy=False), values, step_scale.astype(np.float32)
    )


def _mean_or_one(lengths: NDArray[np.float64]) -> float:
    """Return the mean, or 1 where all features are 0."""
    return float(lengths.mean()) or 1.0


def check_finite(config: Config, embeddings: Embeddings, epoch: int, inputs: bool) -> None:
    """Raise `TrainingError` when the tables of an epoch, counted from 0, are no longer finite.

    ``inputs`` includes the input vectors, the largest table.
    """
    # Image and input vectors that are not finite reach the label vectors with the next step of their images.
    tables = [*shared_tables(embeddings), *([embeddings.input_vectors] if inputs else [])]
    with np.errstate(over="ignore", invalid="ignore"):
        sums = [table.sum() for table in tables]
    if not np.isfinite(sums).all():
        raise divergence(config, epoch)


def divergence(config: Config, epoch: int) -> TrainingError:
    """Return the error of a training that diverged in an epoch, counted from 0."""
    closed_form = ", or use the preset context, which cannot diverge on features" * config.has_features
    return TrainingError(
        f"training diverged in epoch {epoch + 1}: the vectors are no longer finite; "
        f"lower the learning rate ({config.learning_rate:g}) or raise the regularization ({config.regularization:g})"
        f"{closed_form}"
    )
