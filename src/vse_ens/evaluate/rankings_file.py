"""Rankings as a Parquet file: a row an image, ids in words, so that any tool can read it."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError
from vse_ens.evaluate.rankings import Rankings

_FORMAT = 1
_KEY = b"vse-ens rankings"
_SCHEMA = pa.schema(
    {
        "image": pa.large_string(),
        "candidates": pa.int32(),
        "labels": pa.list_(pa.large_string()),
        "above": pa.list_(pa.int32()),
        "tied": pa.list_(pa.int32()),
        "seen": pa.list_(pa.int64()),
        "top": pa.list_(pa.large_string()),
    }
)


def write(rankings: Rankings, path: Path) -> None:
    """Write ``path``, whole or not at all."""
    facts = {
        "format": _FORMAT,
        "ranked_labels": rankings.ranked_labels,
        "top": rankings.top.shape[1],
        "common": rankings.common,
    }
    leading = rankings.top >= 0
    top_starts = np.concatenate([[0], np.cumsum(leading.sum(axis=1))])
    names = rankings.labels.arrow
    table = pa.table(
        [
            rankings.images.arrow,
            pa.array(rankings.candidates),
            _lists(rankings.indptr, names.take(pa.array(rankings.label))),
            _lists(rankings.indptr, pa.array(rankings.above)),
            _lists(rankings.indptr, pa.array(rankings.tied)),
            _lists(rankings.indptr, pa.array(rankings.seen)),
            _lists(top_starts, names.take(pa.array(rankings.top[leading]))),
        ],
        schema=_SCHEMA.with_metadata({_KEY: json.dumps(facts)}),
    )
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, partial)
        partial.replace(path)
    except OSError as error:
        raise DataError(f"{path} could not be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            partial.unlink()


def read(path: Path) -> Rankings:
    """Read and check ``path``."""
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist") from None
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}") from error
    facts = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
    if facts.get("format") != _FORMAT or not table.schema.equals(_SCHEMA):
        raise DataError(f"{path} does not hold rankings of format {_FORMAT}; write it again with --save-rankings")
    columns: dict[str, Any] = {name: table[name].combine_chunks() for name in table.column_names}
    held_out, top = columns["labels"], columns["top"]
    labels = Vocabulary.from_ids([*held_out.values.unique().to_pylist(), *top.values.unique().to_pylist()], "label")
    return Rankings(
        images=Vocabulary(columns["image"], "image"),
        labels=labels,
        ranked_labels=facts["ranked_labels"],
        candidates=columns["candidates"].to_numpy(),
        top=_padded(np.diff(_starts(top)), _numbers(labels, top.values), facts["top"]),
        indptr=_starts(held_out),
        label=_numbers(labels, held_out.values),
        above=columns["above"].values.to_numpy(),
        tied=columns["tied"].values.to_numpy(),
        seen=columns["seen"].values.to_numpy(),
        common=tuple(facts["common"]),
    )


def _lists(starts: NDArray[np.int64], values: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), values)


def _starts(lists: pa.ListArray) -> NDArray[np.int64]:
    return np.asarray(lists.offsets.to_numpy(), np.int64)


def _numbers(labels: Vocabulary, ids: pa.LargeStringArray) -> NDArray[np.int32]:
    return labels.numbers(ids.to_pylist()).astype(np.int32)


def _padded(lengths: NDArray[np.int64], values: NDArray[np.int32], width: int) -> NDArray[np.int32]:
    rows = np.full((len(lengths), width), -1, np.int32)
    rows[np.arange(width) < lengths[:, None]] = values
    return rows
