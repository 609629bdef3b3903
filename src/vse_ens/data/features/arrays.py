"""Features that are stored as one array: NumPy and safetensors files, and the folders of clip-retrieval."""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vse_ens.data.arrow import as_arrow, strings_to_arrow
from vse_ens.data.features.files import BATCH_NUMBERS, ParquetFeatures, TextFeatures, open_table
from vse_ens.data.io.columns import choose_columns, is_image_name, to_ids
from vse_ens.data.io.formats import check_exists
from vse_ens.errors import DataError
from vse_ens.storage.tensors import map_tensors, read_header

_SUFFIXES = (".npy", ".npz", ".safetensors")
# Beside X.npy, in this order: X.ids.txt, X.txt, ..., ids.txt, ...
_ID_SUFFIXES = (".txt", ".json", ".csv", ".parquet")
_CLIP_PART = re.compile(r"img_emb_(\d+)\.npy")


class ArrayFeatures:
    """Arrays with a row per image, one after the other, and the ids of their rows."""

    has_names = False

    def __init__(self, name: str, parts: Sequence[tuple[pa.Array, Any]]) -> None:
        self.name = name
        self._parts = parts
        is_sparse = hasattr(parts[0][1], "tocsr")
        self.columns = ["image", "feature", "value"] if is_sparse else ["image", "feature"]
        self.types = [
            pa.large_string(),
            *([pa.large_string(), pa.float32()] if is_sparse else [pa.list_(pa.float32())]),
        ]

    def batches(self) -> Iterator[list[pa.Array]]:
        """Yield all rows, or all values of a sparse array."""
        for ids, matrix in self._parts:
            step = max(1, BATCH_NUMBERS // max(1, matrix.shape[1]))
            for first in range(0, len(ids), step):
                block, names = matrix[first : first + step], ids[first : first + step]
                with np.errstate(over="ignore"):  # too large a number becomes infinite, which the reader reports
                    yield _sparse_batch(names, block) if len(self.columns) == 3 else _dense_batch(names, block)

    def locate(self, row: int) -> str:
        """Return the number of a row, which is counted from 0, for a message."""
        return f"{'value' if len(self.columns) == 3 else 'row'} {row + 1}"


FeatureFile = TextFeatures | ParquetFeatures | ArrayFeatures


def open_features(path: str | Path, *, triples: bool = False) -> FeatureFile:
    """Open a file or folder of features; see `open_table` for ``triples``."""
    path = Path(path)
    if path.is_dir():
        return _open_clip_folder(path)
    if path.suffix.lower() not in _SUFFIXES:
        return open_table(path, triples=triples)
    check_exists(path)
    with _one_message(path):
        if path.suffix.lower() == ".npy":
            return _array_file(path, None, np.load(path, mmap_mode="r", allow_pickle=False))
        if path.suffix.lower() == ".safetensors":
            return _open_named(path, _map_safetensors(path))
        with np.load(path, allow_pickle=False) as archive:
            if {"indptr", "indices", "shape", "data"} <= set(archive.files):
                from scipy.sparse import load_npz

                ids = [name for name in archive.files if name in ("ids", "images")]
                return _array_file(path, archive[ids[0]] if ids else None, load_npz(path).tocsr())  # type: ignore[misc]
            return _open_named(path, dict(archive))


def _open_named(path: Path, arrays: Mapping[str, Any]) -> ArrayFeatures:
    """Choose the array of features and that of ids, or take a vector per image."""
    features = [name for name, one in arrays.items() if one.ndim == 2 and one.dtype.kind in "fiub"]
    ids = [name for name, one in arrays.items() if one.ndim == 1 and one.dtype.kind in "US"]
    if not features and not ids and len({one.shape for one in arrays.values()}) == 1:
        vectors = list(arrays.values())
        if vectors[0].ndim == 1:
            return _array_file(path, np.array(list(arrays)), np.stack(vectors))
    if len(features) != 1 or len(ids) > 1:
        shown = ", ".join(f"{name!r} {one.dtype}{list(one.shape)}" for name, one in list(arrays.items())[:6])
        raise DataError(
            f"{path} should have one array of features, with a row per image, and one of ids as text; it has {shown}"
        )
    named = {name.casefold(): one for name, one in arrays.items() if one.ndim == 1 and one.dtype.kind in "iu"}
    numbers = next((named[name] for name in named if is_image_name(name) or name == "ids"), None)
    return _array_file(path, arrays[ids[0]] if ids else numbers, arrays[features[0]])


def _array_file(path: Path, ids: Any, matrix: Any) -> ArrayFeatures:
    if ids is not None:
        names = strings_to_arrow([one.decode() if isinstance(one, bytes) else str(one) for one in ids.tolist()])
        return ArrayFeatures(str(path), [_matched(path, matrix, path, names)])
    source = _ids_beside(path)
    return ArrayFeatures(str(path), [_matched(path, matrix, source, _read_ids(source))])


def _matched(path: Path, matrix: Any, source: Path, ids: pa.Array) -> tuple[pa.Array, Any]:
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub" or not all(matrix.shape):
        raise DataError(
            f"{path} holds {matrix.dtype} of shape {matrix.shape}; features have a row of numbers for each image"
        )
    if len(ids) != matrix.shape[0]:
        raise DataError(f"{source} has {len(ids):,} ids, but {path} has {matrix.shape[0]:,} rows; they must match")
    return ids, matrix


def _open_clip_folder(path: Path) -> ArrayFeatures:
    """Open what clip-retrieval writes: img_emb/img_emb_0.npy, ... and metadata/metadata_0.parquet, ..."""
    parts = sorted(
        (int(match[1]), one) for one in path.glob("img_emb/*.npy") if (match := _CLIP_PART.fullmatch(one.name))
    )
    if not parts:
        raise DataError(
            f"{path} is a folder without img_emb/img_emb_0.npy, as clip-retrieval writes it; name a file in it"
        )
    opened: list[tuple[pa.Array, Any]] = []
    for _, part in parts:
        with _one_message(part):
            matrix = np.load(part, mmap_mode="r", allow_pickle=False)
        names = path / "metadata" / part.name.replace("img_emb", "metadata").replace(".npy", ".parquet")
        check_exists(names)
        opened.append(_matched(part, matrix, names, _read_ids(names)))
        if matrix.shape[1] != opened[0][1].shape[1]:
            raise DataError(f"{part} has shape {matrix.shape}, unlike {parts[0][1].name}")
    return ArrayFeatures(str(path), opened)


def _ids_beside(path: Path) -> Path:
    candidates = [
        path.with_name(name + suffix) for name in (f"{path.stem}.ids", path.stem, "ids") for suffix in _ID_SUFFIXES
    ]
    found = next((one for one in candidates if one.is_file()), None)
    if found is None:
        raise DataError(
            f"{path} has no image ids, and there is no {candidates[0].name} beside it; write one id per line to it, "
            "in the order of the rows"
        )
    return found


def _read_ids(path: Path) -> pa.Array:
    """Return the ids in a list: a text with one per line, a JSON array, or a table with a column of images."""
    if path.suffix == ".parquet" or (path.suffix == ".csv" and not _is_one_column(path)):
        table = open_table(path)
        image = choose_columns(table.name, table.columns).image if len(table.columns) > 1 else 0
        batches = [to_ids(columns[image], table.name, table.columns[image]) for columns in table.batches()]
        ids = pa.concat_arrays(batches) if batches else strings_to_arrow([])
    else:
        try:
            text = path.read_text(encoding="utf-8-sig")
            found = json.loads(text) if path.suffix == ".json" else text.splitlines()
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path} is not a list of image ids in UTF-8 ({' '.join(str(error).split())})") from None
        if type(found) is not list or any(type(one) not in (str, int) for one in found):
            raise DataError(f'{path} is not a JSON array of image ids, such as ["a.jpg", "b.jpg"]')
        if path.suffix == ".csv" and found and is_image_name(found[0]):
            del found[0]
        ids = strings_to_arrow([str(one) for one in found])
    return ids


def _is_one_column(path: Path) -> bool:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        return not set(",;\t|") & set(file.readline(1 << 16))


def _map_safetensors(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return dict(map_tensors(mapped, read_header(mapped)))


def _dense_batch(ids: pa.Array, block: Any) -> list[pa.Array]:
    numbers = np.ascontiguousarray(block, np.float32)
    return [ids, pa.FixedSizeListArray.from_arrays(as_arrow(numbers.reshape(-1)), numbers.shape[1])]


def _sparse_batch(ids: pa.Array, block: Any) -> list[pa.Array]:
    values = block.tocoo()
    names = pc.cast(as_arrow(values.col.astype(np.int64)), pa.large_string())
    return [ids.take(as_arrow(values.row.astype(np.int64))), names, as_arrow(values.data.astype(np.float32))]


@contextmanager
def _one_message(path: Path) -> Iterator[None]:
    """Turn the errors of NumPy and SciPy into a message that names the file."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001  # damaged bytes raise whatever the parsers of NumPy and Python raise
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        if "pickle" in reason:
            reason = "it holds pickled Python objects, which can run code; save text with ids.astype(str)"
        raise DataError(f"{path} cannot be read: {reason}") from None
