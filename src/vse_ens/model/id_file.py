"""A vocabulary as an Arrow IPC file: one batch, one column ``id``, uncompressed, so that it can be memory-mapped."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import DataError

_SCHEMA = pa.schema([("id", pa.large_string())])


def write_ids(sink: Any, vocabulary: Vocabulary) -> None:
    """Write a vocabulary to a file-like object."""
    # Arrow writes a slice with some of what surrounds it in memory; joined to nothing it is whole, and equal ids give
    # equal bytes.
    ids = pa.concat_arrays([vocabulary.arrow, pa.array([], pa.large_string())])
    with pa.ipc.new_file(sink, _SCHEMA) as writer:
        writer.write_batch(pa.record_batch([ids], schema=_SCHEMA))


def read_ids(mapped: memoryview, kind: str, *, verify: bool) -> Vocabulary:
    """The vocabulary in a memory map; without ``verify`` no id is touched. A ValueError says what is wrong."""
    try:
        reader = pa.ipc.open_file(pa.py_buffer(mapped))
        if reader.schema != _SCHEMA or reader.num_record_batches != 1:
            raise ValueError("it does not hold one batch with one column of ids")
        ids = reader.get_batch(0).column(0)
        ids.validate(full=verify)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"it is not an Arrow file of ids ({error})") from error
    if ids.null_count:
        raise ValueError("it holds ids that are null")
    try:
        return Vocabulary(ids, kind) if verify else Vocabulary.trusted(ids, kind)
    except DataError as error:
        raise ValueError(str(error)) from error
