"""Write vectors as an index of nearest neighbours that Faiss or usearch opens, with the ids beside it.

The index answers with numbers: number ``n`` is line ``n + 1`` of the file of ids. The measure is the inner product, as
in the scores of the model; the label bias and the label weights are not part of the vectors.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import MissingPartError
from vse_ens.export.ids_file import write_ids_file
from vse_ens.model.embeddings import Floats
from vse_ens.storage.atomic import replace_files


def write_faiss(path: Path, ids: Vocabulary, dimensions: int, blocks: Iterable[Floats]) -> None:
    """Write a flat index of Faiss, which searches exactly, and the ids."""
    try:
        import faiss
    except ImportError as error:
        raise MissingPartError("a .faiss file needs the library faiss: pip install 'vse-ens[faiss]'") from error
    index: Any = faiss.IndexFlatIP(dimensions)
    for block in blocks:
        index.add(np.ascontiguousarray(block, np.float32))
    with replace_files(path, path.with_suffix(".ids.txt")) as (partial, partial_ids):
        write_ids_file(partial_ids, ids)
        faiss.write_index(index, str(partial))


def write_usearch(path: Path, ids: Vocabulary, dimensions: int, blocks: Iterable[Floats]) -> None:
    """Write a neighbour graph (HNSW) of usearch, which searches approximately, and the ids."""
    try:
        from usearch.index import Index
    except ImportError as error:
        raise MissingPartError("a .usearch file needs the library usearch: pip install 'vse-ens[index]'") from error
    index = Index(ndim=dimensions, metric="ip", dtype="f32")
    first = 0
    for block in blocks:
        # One thread: the graph, and so the file, then depends on the vectors only.
        index.add(np.arange(first, first + len(block)), np.ascontiguousarray(block, np.float32), threads=1)
        first += len(block)
    with replace_files(path, path.with_suffix(".ids.txt")) as (partial, partial_ids):
        write_ids_file(partial_ids, ids)
        index.save(str(partial))
