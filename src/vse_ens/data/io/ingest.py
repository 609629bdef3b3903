"""Turn batches of ids into `Annotations`: the only place where ids become numbers."""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.arrow import GrowingArray, as_numpy
from vse_ens.data.filters import keep_frequent
from vse_ens.data.io.id_index import IdIndex
from vse_ens.data.io.records import blank_id_error
from vse_ens.data.io.source import Batch, Source
from vse_ens.errors import DataError

# Keys that are renumbered at a time.
_CHUNK = 1 << 17


def ingest(source: Source, min_images_per_label: int = 1, min_labels_per_image: int = 1) -> Annotations:
    """Read a source to its end, merge duplicates, and drop rare labels and images."""
    images, labels = IdIndex("image"), IdIndex("label")
    keys = GrowingArray(np.uint64, source.expected_rows)
    with ThreadPoolExecutor(1) as executor:
        for batch in source.batches():
            if _has_null(batch):
                raise blank_id_error(source)
            keys.extend(_keys(batch, images, labels, executor))
            if images.has_blank or labels.has_blank:
                raise blank_id_error(source)
            # Otherwise Arrow's allocator keeps the memory of several batches.
            pa.default_memory_pool().release_unused()
    if not len(keys):
        raise DataError(f"{source.name} holds no pair of an image and a label")
    data = _finish(images, labels, keys.release(), tuple(source.notes))
    if min_images_per_label == min_labels_per_image == 1:
        return data  # without a filter, images without labels are kept
    return keep_frequent(data, min_images_per_label, min_labels_per_image)


def _has_null(batch: Batch) -> bool:
    if pa.types.is_large_list(batch.labels.type):
        return bool(batch.images.null_count or batch.labels.flatten().null_count)
    return bool(batch.images.null_count or batch.labels.null_count)


def _keys(batch: Batch, images: IdIndex, labels: IdIndex, executor: Executor) -> NDArray[np.uint64]:
    """Return ``image << 32 | label`` of every pair; images and labels are numbered in two threads."""
    is_wide = pa.types.is_large_list(batch.labels.type)
    label_numbers = executor.submit(labels.numbers, batch.labels.flatten() if is_wide else batch.labels)
    keys = images.numbers(batch.images).astype(np.uint64)
    keys <<= np.uint64(32)
    if is_wide:
        lengths = pc.list_value_length(batch.labels)
        keys = np.repeat(keys, as_numpy(lengths.fill_null(0) if lengths.null_count else lengths))
    keys |= label_numbers.result().astype(np.uint64)
    return keys


def _finish(images: IdIndex, labels: IdIndex, keys: NDArray[np.uint64], notes: tuple[str, ...]) -> Annotations:
    """Renumber in the sorted order of ids, in place."""
    rows = len(keys)
    image_ids, new_image = images.finish()
    label_ids, new_label = labels.finish()
    for start in range(0, rows, _CHUNK):
        chunk = keys[start : start + _CHUNK]
        renumbered = new_image[chunk >> np.uint64(32)].astype(np.uint64)
        renumbered <<= np.uint64(32)
        renumbered |= new_label[chunk.astype(np.uint32)]
        chunk[:] = renumbered
    del new_image, new_label, chunk
    data = Annotations.from_keys(image_ids, label_ids, keys, notes)
    merged = rows - data.pairs
    if merged:
        return replace(data, notes=(*notes, f"merged {merged:,} duplicate pair{'s' if merged > 1 else ''}"))
    return data
