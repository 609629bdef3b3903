"""Write scenes to a file, atomically and in RAM that does not grow with the file."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vse_ens.data.arrow import string_buffers
from vse_ens.data.datasets.scenes.drawing import SceneChunk, stream_scenes
from vse_ens.errors import ConfigError
from vse_ens.storage.atomic import replace_file

_SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl", ".csv.gz", ".tsv.gz", ".jsonl.gz")
_CHUNKS_PER_ROW_GROUP = 32


class SceneCounts(NamedTuple):
    """The size of a written file."""

    images: int
    labels: int
    """The number of labels that occur."""
    pairs: int


def write_scenes(
    path: str | Path,
    images: int,
    labels: int | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> SceneCounts:
    """Write ``image``, ``label`` rows to a .parquet, .csv, .tsv or .jsonl file, the last three also as .gz.

    ``progress`` is called with the number of images written.

    >>> write_scenes("scenes.parquet", images=10_000_000, labels=20_000)  # doctest: +SKIP
    """
    path = Path(path)
    suffix = next((one for one in _SUFFIXES if path.name.endswith(one)), None)
    if suffix is None:
        raise ConfigError(f"{path} must end in one of {', '.join(_SUFFIXES)}")
    tables = _Tables(stream_scenes(images, labels, seed), progress)
    with replace_file(path) as partial:
        if suffix == ".parquet":
            _write_parquet(partial, iter(tables))
        else:
            _write_text(partial, suffix, iter(tables))
    return tables.counts()


def image_ids(first: int, count: int) -> list[str]:
    """Return the ids of consecutive images."""
    return [f"img_{number:07d}" for number in range(first, first + count)]


class _Tables:
    """Tables of ids, with counts of what they contain."""

    def __init__(self, chunks: Iterator[SceneChunk], progress: Callable[[int], None] | None) -> None:
        self._chunks = chunks
        self._progress = progress
        self._seen: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self._images = 0
        self._pairs = 0

    def __iter__(self) -> Iterator[pa.Table]:
        words: pa.StringArray | None = None
        for chunk in self._chunks:
            if words is None:
                words = pa.array(chunk.words, pa.string())
                self._seen = np.zeros(len(words), dtype=bool)
            images = pa.array(image_ids(chunk.first, len(chunk.scene)), pa.string())
            yield pa.table(
                {"image": images.take(pa.array(chunk.image - chunk.first)), "label": words.take(pa.array(chunk.label))}
            )
            self._seen[chunk.label] = True
            self._pairs += len(chunk.label)
            self._images += len(chunk.scene)
            if self._progress:
                self._progress(self._images)

    def counts(self) -> SceneCounts:
        return SceneCounts(self._images, int(self._seen.sum()), self._pairs)


def _write_parquet(path: Path, tables: Iterator[pa.Table]) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, pa.schema({"image": pa.string(), "label": pa.string()})) as writer:
        while group := list(islice(tables, _CHUNKS_PER_ROW_GROUP)):
            writer.write_table(pa.concat_tables(group))


def _write_text(path: Path, suffix: str, tables: Iterator[pa.Table]) -> None:
    # Ids and words consist of letters, digits, spaces, hyphens and underscores: no field needs quotes or escapes.
    separator = "\t" if suffix.startswith(".tsv") else ","
    start, between, end, header = "", separator, "\n", f"image{separator}label\n"
    if suffix.startswith(".jsonl"):
        start, between, end, header = '{"image":"', '","label":"', '"}\n', ""
    with path.open("wb") as plain, ExitStack() as stack:
        file: IO[bytes] = plain
        if suffix.endswith(".gz"):
            # Without a name and a time, the same pairs give the same bytes.
            compressed = gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=0)
            file = cast("IO[bytes]", stack.enter_context(compressed))
        file.write(header.encode())
        for table in tables:
            image, label = (table[name].combine_chunks().cast(pa.large_string()) for name in ("image", "label"))
            parts = (pa.scalar(text, pa.large_string()) for text in (start, between, end, ""))
            offsets, text = string_buffers(
                pc.binary_join_element_wise(next(parts), image, next(parts), label, next(parts), next(parts))
            )
            file.write(text[offsets[0] : offsets[-1]].data)
