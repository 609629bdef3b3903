"""Write label and image vectors to Parquet, NumPy and word2vec files, and to indexes of Faiss and usearch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, DataError, optional_library
from vse_ens.model.embeddings import Floats
from vse_ens.model.loaded import LoadedModel
from vse_ens.storage.atomic import replace_file, replace_files

# Vectors per block.
_BLOCK = 65_536


def write_model_vectors(path: str | Path, loaded: LoadedModel, what: str) -> None:
    """Write the vector v_a of every label, if ``what`` is "labels", or the vector v_i of every image ("images")."""
    embeddings, known = loaded.model.embeddings, loaded.known
    if what not in ("labels", "images"):
        raise ConfigError(f"what must be 'labels' or 'images', got {what!r}")
    ids = known.labels if what == "labels" else known.images
    numbers = (np.arange(first, min(first + _BLOCK, len(ids))) for first in range(0, len(ids), _BLOCK))
    blocks = (
        embeddings.label_vectors[part[0] : part[-1] + 1] if what == "labels" else embeddings.vectors(part, known=known)
        for part in numbers
    )
    write_vectors(path, ids, embeddings.dimensions, blocks)


def write_vectors(path: str | Path, ids: Vocabulary, dimensions: int, blocks: Iterable[Floats]) -> None:
    """Write one vector per id, given in blocks, atomically; the suffix of the file name selects the format.

    ``.parquet`` has the columns ``id`` and ``vector``. ``.npy`` has the vectors, and a second file ``.ids.txt`` has one
    id per line. ``.txt`` and ``.vec`` are the text format of word2vec, with underscores for white space in ids.
    ``.faiss`` and ``.usearch`` are indexes of these libraries, also with a file ``.ids.txt``: they answer with numbers,
    and number ``n`` is line ``n + 1``. The measure is the inner product, as in the scores of the model; the label bias
    and the label weights are not part of the vectors.
    """
    path = Path(path)
    check_suffix(path)
    _WRITERS[path.suffix](path, ids, dimensions, blocks)


def check_suffix(path: Path) -> None:
    """Raise unless the suffix of a file names a format of `write_vectors`."""
    if path.suffix not in _WRITERS:
        raise ConfigError(f"{path.name} must end in {', '.join(_WRITERS)}; the suffix selects the format")


def _write_parquet(path: Path, ids: Vocabulary, dimensions: int, blocks: Iterable[Floats]) -> None:
    schema = pa.schema([("id", pa.large_string()), ("vector", pa.list_(pa.float32(), dimensions))])
    with replace_file(path) as partial, pq.ParquetWriter(partial, schema) as writer:
        for first, block in _with_offsets(blocks):
            values = pa.array(np.ascontiguousarray(block, np.float32).reshape(-1))
            vectors = pa.FixedSizeListArray.from_arrays(values, dimensions)
            writer.write_table(pa.table([ids.arrow[first : first + len(block)], vectors], schema=schema))


def _write_npy(path: Path, ids: Vocabulary, dimensions: int, blocks: Iterable[Floats]) -> None:
    with _with_ids(path, ids) as partial, partial.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (len(ids), dimensions)}
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks:
            file.write(np.ascontiguousarray(block, "<f4").data)


def _write_word2vec(path: Path, ids: Vocabulary, dimensions: int, blocks: Iterable[Floats]) -> None:
    words = ["_".join(one.split()) for one in ids]
    if len(set(words)) < len(words):
        seen: dict[str, str] = {}
        for one, word in zip(ids, words, strict=True):
            if word in seen:
                raise DataError(
                    f"{seen[word]!r} and {one!r} would both be the word {word!r}; write a .parquet file instead"
                )
            seen[word] = one
    with replace_file(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{len(ids)} {dimensions}\n")
        for first, block in _with_offsets(blocks):
            for word, vector in zip(words[first:], block, strict=False):
                file.write(f"{word} {' '.join(f'{value:.6g}' for value in vector.tolist())}\n")


def _write_faiss(path: Path, ids: Vocabulary, dimensions: int, blocks: Iterable[Floats]) -> None:
    """Write a flat index of Faiss, which searches exactly, and the ids."""
    faiss = optional_library("faiss", "a .faiss file needs the library faiss", "faiss")
    index = faiss.IndexFlatIP(dimensions)
    for block in blocks:
        index.add(np.ascontiguousarray(block, np.float32))
    with _with_ids(path, ids) as partial:
        faiss.write_index(index, str(partial))


def _write_usearch(path: Path, ids: Vocabulary, dimensions: int, blocks: Iterable[Floats]) -> None:
    """Write a neighbor graph (HNSW) of usearch, which searches approximately, and the ids."""
    usearch = optional_library("usearch.index", "a .usearch file needs the library usearch", "index")
    index = usearch.Index(ndim=dimensions, metric="ip", dtype="f32")
    for first, block in _with_offsets(blocks):
        # One thread: the graph, and so the file, then depends on the vectors only.
        index.add(np.arange(first, first + len(block)), np.ascontiguousarray(block, np.float32), threads=1)
    with _with_ids(path, ids) as partial:
        index.save(str(partial))


@contextmanager
def _with_ids(path: Path, ids: Vocabulary) -> Iterator[Path]:
    """Write one id per line beside a file that the block writes; an id with a line break raises a `DataError`."""
    with replace_files(path, path.with_suffix(".ids.txt")) as (partial, partial_ids):
        with partial_ids.open("w", encoding="utf-8", newline="\n") as file:
            for one in ids:
                if len(one.splitlines()) > 1:
                    raise DataError(f"the id {one!r} contains a line break; write a .parquet file instead")
                file.write(f"{one}\n")
        yield partial


def _with_offsets(blocks: Iterable[Floats]) -> Iterator[tuple[int, Floats]]:
    """Yield each block with the number of its first vector."""
    first = 0
    for block in blocks:
        yield first, block
        first += len(block)


_WRITERS: dict[str, Callable[[Path, Vocabulary, int, Iterable[Floats]], None]] = {
    ".parquet": _write_parquet,
    ".npy": _write_npy,
    ".txt": _write_word2vec,
    ".vec": _write_word2vec,
    ".faiss": _write_faiss,
    ".usearch": _write_usearch,
}
