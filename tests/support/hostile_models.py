"""Models that are hostile but correctly sealed: every checksum, size and header agrees with the contents."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tests.support.saved_models import random_annotator
from tests.support.stored_models import reseal
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.model.store import load_model, write_ids
from vse_ens.storage.artifact import canonical_json
from vse_ens.storage.tensors import shapes, write_tensors

IMAGES, LABELS = 30, 12
BASES = ("id", "context", "context with weights", "context with sparse weights", "id and context")

Arrays = dict[str, NDArray[Any]]


class Hostile(NamedTuple):
    """A case: what is wrong, with which kind of model, and how to make a good model directory so."""

    name: str
    base: str
    spoil: Callable[[Path], None]


def save_bases(folder: Path) -> None:
    """Save one good model of every kind."""
    for kind in BASES:
        random_annotator(kind, IMAGES, LABELS).save(folder / kind)


def spoil_copy(case: Hostile, bases: Path, folder: Path) -> Path:
    """A copy of the base of a case, made hostile and sealed again."""
    shutil.copytree(bases / case.base, folder / "model")
    case.spoil(folder / "model")
    reseal(folder / "model")
    return folder / "model"


def hostile_models() -> Iterator[Hostile]:
    """All cases, each with a name of its own."""
    yield from _types_and_shapes()
    yield from _numbers()
    yield from _missing_and_extra()
    yield from _label_pairs()
    yield from _sparse_weights()
    yield from _calibration()
    yield from _pairs()
    yield from _ids()
    yield from _settings()
    yield from _headers()


# --- arrays ---------------------------------------------------------------------------------------------------------


def _write_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    with (folder / "arrays.safetensors").open("wb") as file:
        write_tensors(file, arrays, finite=False)
    _edit_document(folder, lambda document: document.update(arrays=shapes(arrays)))


def _change(change: Callable[[Arrays], Any]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        arrays = {name: np.array(array) for name, array in load_model(folder).arrays.items()}
        change(arrays)
        _write_arrays(folder, arrays)

    return spoil


def _one(base: str, array: str, what: str, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Hostile:
    return Hostile(
        f"{array}: {what} ({base})", base, _change(lambda arrays: arrays.update({array: change(arrays[array])}))
    )


def _put(place: Any, value: Any) -> Callable[[NDArray[Any]], NDArray[Any]]:
    def change(array: NDArray[Any]) -> NDArray[Any]:
        array[place] = value
        return array

    return change


ARRAYS = {
    "context with sparse weights": (
        "label_vectors",
        "label_bias",
        "input_vectors",
        "label_pairs",
        "label_squares",
        "input_squares",
        "label_weights_values",
        "label_weights_indices",
        "label_weights_indptr",
        "confidence_shares",
        "confidence_values",
        "confidence_temperature",
        "confidence_completeness",
        "confidence_correction",
        "confidence_facts",
    ),
    "context with weights": ("label_weights_values",),
    "id": ("label_vectors", "image_vectors"),
}


def _types_and_shapes() -> Iterator[Hostile]:
    for base, names in ARRAYS.items():
        for name in names:
            yield _one(base, name, "of another type", lambda array: array.astype(_other(array.dtype)))
            yield _one(base, name, "one row less", lambda array: array[:-1].copy())
            yield _one(base, name, "one row more", lambda array: np.concatenate([array, array[:1]]))
            yield _one(base, name, "one dimension more", lambda array: array[None])
            yield _one(base, name, "a number", lambda array: np.zeros((), array.dtype))
            if name not in ("label_pairs", "label_weights_indices"):
                yield _one(base, name, "no rows", lambda array: array[:0].copy())
    for base, name in (("id", "label_vectors"), ("id", "image_vectors"), ("context", "input_vectors")):
        yield _one(base, name, "one column less", lambda array: array[:, :-1].copy())
        yield _one(base, name, "transposed", lambda array: np.ascontiguousarray(array.T))
    yield _one("id", "feature_map", "rows without features", lambda array: np.zeros((3, array.shape[1]), np.float32))
    yield _one("id", "feature_map", "no width", lambda array: np.zeros((0, 0), np.float32))
    yield _one("context", "image_vectors", "rows without ids", lambda array: np.zeros((IMAGES, 6), np.float32))
    yield _one("context", "label_pairs", "three columns", lambda array: np.zeros((len(array), 3), np.int32))


def _other(dtype: np.dtype[Any]) -> type[np.generic]:
    return np.float64 if dtype.kind == "f" else np.int16


def _numbers() -> Iterator[Hostile]:
    for base, names in ARRAYS.items():
        for name in names:
            if name in ("label_pairs", "label_weights_indices", "label_weights_indptr"):
                continue
            for value in (np.nan, np.inf, -np.inf, 1e30):
                yield _one(base, name, f"a number {value}", _put(-1, value))
    for name in ("label_squares", "input_squares"):
        for value in (0.0, -1.0):
            yield _one("context", name, f"a number {value}", _put(0, value))


def _missing_and_extra() -> Iterator[Hostile]:
    for base, names in ARRAYS.items():
        for name in names:
            if (base, name) == ("context with weights", "label_weights_values"):
                continue  # a model without label weights is a good one
            yield Hostile(f"{name}: missing ({base})", base, _change(lambda arrays, name=name: arrays.pop(name)))
    extra = {"more": np.zeros(3), "input_vectors": np.zeros((12, 6), np.float32), "label_weights_indices": np.zeros(3)}
    for name, array in extra.items():
        yield Hostile(f"{name}: extra", "id", _change(lambda arrays, n=name, a=array: arrays.update({n: a})))


def _label_pairs() -> Iterator[Hostile]:
    for what, pair in {
        "a negative label": (-1, 3),
        "a label out of range": (0, LABELS),
        "a huge label": (0, 2**31 - 1),
        "in the wrong order": (3, 1),
        "of a label with itself": (2, 2),
        "the lowest number": (-(2**31), 0),
        "twice": (1, 3),
    }.items():
        yield _one("context", "label_pairs", what, _put(0, pair))


def _sparse_weights() -> Iterator[Hostile]:
    base = "context with sparse weights"
    for what, place, value in (
        ("falls", 3, 0),
        ("does not start at 0", 0, 1),
        ("starts below 0", 0, -1),
        ("ends too late", -1, 10**6),
        ("ends too soon", -1, 1),
        ("is negative", 5, -(2**62)),
        ("is huge", 5, 2**62),
    ):
        yield _one(base, "label_weights_indptr", what, _put(place, value))
    for what, value in (("negative", -1), ("out of range", LABELS), ("huge", 2**31 - 1), ("far below", -(2**31))):
        yield _one(base, "label_weights_indices", what, _put(0 if value < 0 else -1, value))
    yield _one(base, "label_weights_indices", "not sorted", lambda array: array[::-1].copy())


def _calibration() -> Iterator[Hostile]:
    for name in ("confidence_shares", "confidence_values"):
        yield _one("id", name, "falls", _put(1, 1.5))
        yield _one("id", name, "below 0", _put(0, -1.0))
        yield _one("id", name, "above 1", _put(-1, 2.0))
    for what, pair in {"0": (0.0, 0.0), "negative": (-1.0, 0.0), "tiny": (1e-30, 0.0), "steep": (1.0, 1e10)}.items():
        yield _one("id", "confidence_temperature", what, lambda array, pair=pair: np.array(pair, array.dtype))
    for value in (0.0, 1e-38, -0.5, 1.5):
        yield _one("id", "confidence_completeness", f"is {value}", _put(0, value))
    for place, value in ((0, 1e9), (0, -1e9), (1, -1.0), (1, 1e9)):
        yield _one("id", "confidence_correction", f"{place} is {value:g}", _put(place, value))
    for value in (-1.0, 1e30):
        yield _one("id", "confidence_facts", f"has {value:g}", _put(1, value))


# --- pairs, ids, document -------------------------------------------------------------------------------------------


def _rewrite_pairs(change: Callable[[Arrays], Any]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        known = load_model(folder).known
        arrays = {"indptr": np.array(known.indptr), "indices": np.array(known.indices)}
        change(arrays)
        with (folder / "pairs.safetensors").open("wb") as file:
            write_tensors(file, arrays, finite=False)

    return spoil


def _pairs() -> Iterator[Hostile]:
    for array, what, place, value in (
        ("indptr", "falls", 5, 0),
        ("indptr", "starts late", 0, 2),
        ("indptr", "is negative", 5, -(2**40)),
        ("indptr", "is huge", 5, 2**60),
        ("indptr", "ends late", -1, 2**40),
        ("indices", "negative", 0, -1),
        ("indices", "out of range", 11, LABELS),
        ("indices", "huge", 11, 2**31 - 1),
        ("indices", "far below", 0, -(2**31)),
        ("indices", "twice", 1, 0),
    ):
        yield Hostile(
            f"pairs: {array} {what}", "context", _rewrite_pairs(lambda a, n=array, p=place, v=value: _put(p, v)(a[n]))
        )
    yield Hostile("pairs: none", "context", _rewrite_pairs(lambda arrays: arrays.clear()))
    yield Hostile(
        "pairs: unsigned", "context", _rewrite_pairs(lambda a: a.update(indices=a["indices"].astype(np.uint32)))
    )


def _arrow_ids(ids: pa.Array, **options: Any) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        table = pa.table({"id": ids})
        writing = pa.ipc.IpcWriteOptions(**options)
        with (
            pa.OSFile(str(folder / "labels.arrow"), "wb") as file,
            pa.ipc.new_file(file, table.schema, options=writing) as out,
        ):
            out.write_table(table)

    return spoil


def _raw_ids(offsets: list[int], text: bytes) -> pa.Array:
    buffers = [None, pa.py_buffer(np.array(offsets, np.int64)), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)


def _ids() -> Iterator[Hostile]:
    good = [f"label-{number:05d}" for number in range(LABELS)]
    ids = pa.array(good, pa.large_string())
    steps = list(range(LABELS + 1))
    letters = b"abcdefghijkl"
    cases: dict[str, Callable[[Path], None]] = {
        "one fewer": _arrow_ids(ids[:-1]),
        "none": _arrow_ids(ids[:0]),
        "not sorted": _arrow_ids(ids[::-1]),
        "twice": _arrow_ids(pa.array([good[0], *good[:-1]], pa.large_string())),
        "null": _arrow_ids(pa.array([*good[:-1], None], pa.large_string())),
        "numbers": _arrow_ids(pa.array(range(LABELS))),
        "short strings": _arrow_ids(pa.array(good, pa.string())),
        "zstd": _arrow_ids(ids, compression="zstd"),
        "lz4": _arrow_ids(ids, compression="lz4"),
        "falling offsets": _arrow_ids(_raw_ids([*steps[:3], 9, *steps[4:]], letters)),
        "negative offsets": _arrow_ids(_raw_ids([*steps[:3], -9, *steps[4:]], letters)),
        "offsets beyond the text": _arrow_ids(_raw_ids([*steps[:3], 10**9, *steps[4:]], letters)),
        "invalid UTF-8": _arrow_ids(_raw_ids(steps, b"abcdefghijk\xff")),
        "a bomb": _arrow_ids(pa.array(["a" * (1 << 24), *good[1:]], pa.large_string()), compression="zstd"),
        "zeros": lambda folder: (folder / "labels.arrow").write_bytes(bytes(1000)),
        "empty": lambda folder: (folder / "labels.arrow").write_bytes(b""),
        "only the magic": lambda folder: (folder / "labels.arrow").write_bytes(b"ARROW1\0\0"),
        "no batch": _no_batch,
        "images as labels": lambda folder: shutil.copy(folder / "images.arrow", folder / "labels.arrow"),
        "other ids than counted": _more_labels,
    }
    for what, spoil in cases.items():
        yield Hostile(f"ids: {what}", "context", spoil)


def _no_batch(folder: Path) -> None:
    schema = pa.schema([("id", pa.large_string())])
    with pa.OSFile(str(folder / "labels.arrow"), "wb") as file, pa.ipc.new_file(file, schema):
        pass


def _more_labels(folder: Path) -> None:
    """More labels than the arrays have rows, counted correctly."""
    more = Vocabulary.from_ids([f"label-{number:05d}" for number in range(1000)])
    with (folder / "labels.arrow").open("wb") as file:
        write_ids(file, more)
    _edit_document(folder, lambda document: document["counts"].update(labels=1000))


def _edit_document(folder: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    document = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    edit(document)
    (folder / "model.json").write_bytes(canonical_json(document))


def _setting(what: str, edit: Callable[[dict[str, Any]], Any], base: str = "context with weights") -> Hostile:
    return Hostile(
        f"settings: {what}", base, lambda folder: _edit_document(folder, lambda whole: edit(whole["settings"]))
    )


def _settings() -> Iterator[Hostile]:
    for name, values in {
        "dimensions": (0, 5, 7, -1, 10**12, "6", None, True),
        "epochs": (10**12, 0, 1.5),
        "negatives": (10**12,),
        "candidates": (10**12,),
        "tower": ("id", "context+id", "features", "", 3),
        "loss": ("unknown", ["hinge"]),
        "learning_rate": ("fast", -1, 1e9),
        "unknown": (1,),
    }.items():
        for value in values:
            yield _setting(f"config.{name} {value!r}", lambda s, n=name, v=value: s["config"].update({n: v}))
    for name, training in {
        "best_epoch": (-1, 10**15, "1", None),
        "model_epochs": (-1, 10**15, "1", None),
        "epochs": (-1, 10**15, 0.5),
        "generations": (-1, 2**70, None),
        "label_weights_scale": ("1", None, -1, 1e300, True, [1.0]),
        "neighbors_scale": ("1", None, -1, 1e300, True, [1.0]),
        "label_weights_regularization": ("1", -1.0, {}, 0.0, 1e300),
        "complete": (None, 1),
        "version": (None, 2),
        "cpus": (None, "znver4", [1]),
    }.items():
        for value in training:
            yield _setting(f"training.{name} {value!r}", lambda s, n=name, v=value: s["training"].update({n: v}))
    for name in ("config", "training", "preset"):
        yield _setting(f"no {name}", lambda s, n=name: s.pop(n))
        yield _setting(f"{name} is a list", lambda s, n=name: s.update({n: []}))
    yield _setting("an unknown preset", lambda s: s.update(preset="best"))
    for value in ([], "good", {"map": "high"}, {"map": None}):
        yield _setting(f"validation {value!r}", lambda s, v=value: s.update(validation=v))
    for name in ("images", "labels", "pairs"):
        for value in (-1, 10**12, None, "12", 1.5):
            yield Hostile(
                f"counts: {name} {value!r}",
                "id",
                lambda folder, n=name, v=value: _edit_document(folder, lambda whole: whole["counts"].update({n: v})),
            )


# --- headers --------------------------------------------------------------------------------------------------------


def _header(folder: Path, header: bytes) -> None:
    (folder / "pairs.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)


def _headers() -> Iterator[Hostile]:
    whole = {"dtype": "I64", "shape": [31], "data_offsets": [0, 248]}
    for what, header in {
        "is not JSON": b"\xff\xff",
        "is a list": b"[]",
        "is deep": b"[" * 100_000,
        "has an impossible shape": json.dumps({"indptr": whole | {"shape": [0, 2**62, 2**62]}}).encode(),
        "has many dimensions": json.dumps({"indptr": whole | {"shape": [0] * 100}}).encode(),
        "has a negative shape": json.dumps({"indptr": whole | {"shape": [-31]}}).encode(),
        "has an unknown type": json.dumps({"indptr": whole | {"dtype": "F8"}}).encode(),
        "points beyond the file": json.dumps({"indptr": whole}).encode(),
        "is long": json.dumps({f"array-{n}": whole for n in range(20_000)}).encode(),
        "is null": b"null",
    }.items():
        yield Hostile(f"header: {what}", "id", lambda folder, header=header: _header(folder, header))
    yield Hostile(
        "header: longer than the file",
        "id",
        lambda folder: (folder / "pairs.safetensors").write_bytes((2**62).to_bytes(8, "little")),
    )
    yield Hostile("header: cut short", "id", lambda folder: (folder / "pairs.safetensors").write_bytes(b"\1"))
    yield Hostile("card: not text", "id", lambda folder: (folder / "README.md").write_bytes(b"\xff"))
    yield Hostile(
        "document: NaN",
        "id",
        lambda folder: (folder / "model.json").write_text(
            (folder / "model.json").read_text().replace('"label_weights_scale": 0.0', '"label_weights_scale": NaN')
        ),
    )
