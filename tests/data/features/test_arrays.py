from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file
from scipy import sparse

from vse_ens.data.features import arrays, read, read_features
from vse_ens.errors import DataError

IDS = ["b.jpg", "ü.jpg", "a.jpg"]
NUMBERS = np.array([[1.0, 0.0, -2.0], [3.0, 4.0, 0.0], [0.5, 6.0, 7.0]], np.float32)
IN_ORDER = [NUMBERS[2].tolist(), NUMBERS[0].tolist(), NUMBERS[1].tolist()]


def beside(name: str, content: Any) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        np.save(folder / "X.npy", NUMBERS)
        if name.endswith(".parquet"):
            pq.write_table(pa.table(content), folder / name)
        else:
            (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return folder / "X.npy"

    return write


def npz(**more: Any) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        np.savez_compressed(folder / "X.npz", **more)
        return folder / "X.npz"

    return write


def safetensors(more: dict[str, Any]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        save_file(more, folder / "X.safetensors")
        return folder / "X.safetensors"

    return write


def with_ids(write: Callable[[Path], Path]) -> Callable[[Path], Path]:
    def both(folder: Path) -> Path:
        (folder / "X.ids.txt").write_text("\n".join(IDS), encoding="utf-8")
        return write(folder)

    return both


def sparse_npz(folder: Path) -> Path:
    sparse.save_npz(folder / "X.npz", sparse.csr_array(NUMBERS))
    return folder / "X.npz"


def clip_folder(folder: Path) -> Path:
    (folder / "img_emb").mkdir()
    (folder / "metadata").mkdir()
    for part, rows in enumerate(([0], [1, 2])):
        np.save(folder / f"img_emb/img_emb_{part}.npy", NUMBERS[rows].astype(np.float16))
        table = pa.table({"caption": ["x"] * len(rows), "image_path": [IDS[row] for row in rows]})
        pq.write_table(table, folder / f"metadata/metadata_{part}.parquet")
    return folder


CASES: dict[str, Callable[[Path], Path]] = {
    "npy and X.ids.txt": beside("X.ids.txt", "\n".join(IDS) + "\n"),
    "npy and X.txt": beside("X.txt", "\r\n".join(IDS)),
    "npy and ids.json": beside("ids.json", IDS),
    "npy and a csv of one column": beside("X.csv", "\n".join(["image", *IDS])),
    "npy and a csv of two columns": beside("X.csv", "\n".join(["n,image", *(f"1,{one}" for one in IDS)])),
    "npy and parquet": beside("X.ids.parquet", {"n": [1, 2, 3], "image": IDS}),
    "npz": npz(ids=np.array(IDS), vectors=NUMBERS),
    "npz of bytes and 64 bits": npz(names=np.array([one.encode() for one in IDS]), X=NUMBERS.astype(np.float64)),
    "npz of a vector per image": npz(**dict(zip(IDS, NUMBERS, strict=True))),
    "npz of scipy": with_ids(sparse_npz),
    "safetensors": with_ids(safetensors({"features": NUMBERS.astype(np.float16)})),
    "safetensors of a vector per image": safetensors(dict(zip(IDS, NUMBERS, strict=True))),
    "clip-retrieval": clip_folder,
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("block", [1, 1 << 22])
def test_arrays_become_a_row_per_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, block: int) -> None:
    monkeypatch.setattr(arrays, "BATCH_NUMBERS", block)
    monkeypatch.setattr(read, "_COLUMNS", 1 + block % 2)
    table = read_features(CASES[case](tmp_path))
    assert list(table.images) == sorted(IDS)
    matrix = table.matrix if isinstance(table.matrix, np.ndarray) else table.matrix.toarray()
    assert matrix.dtype == np.float32
    assert matrix.tolist() == IN_ORDER
    assert (table.names is None) == isinstance(table.matrix, np.ndarray)


def test_whole_numbers_are_ids_if_the_array_says_so(tmp_path: Path) -> None:
    table = read_features(npz(image_id=np.array([7, 12, 3]), X=NUMBERS)(tmp_path))
    assert list(table.images) == ["12", "3", "7"]


class Danger:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("a pickle was loaded",))


def damaged(folder: Path) -> Path:
    path = npz(ids=np.array(IDS), X=NUMBERS)(folder)
    path.write_bytes(path.read_bytes()[:-30])
    return path


def cut(folder: Path) -> Path:
    path = beside("X.ids.txt", "\n".join(IDS))(folder)
    path.write_bytes(path.read_bytes()[:-4])
    return path


def no_tensors(folder: Path) -> Path:
    (folder / "X.safetensors").write_bytes(b"\xff" * 40)
    return folder / "X.safetensors"


def without_metadata(folder: Path) -> Path:
    clip_folder(folder)
    (folder / "metadata/metadata_1.parquet").unlink()
    return folder


def no_ids(folder: Path) -> Path:
    np.save(folder / "X.npy", NUMBERS)
    return folder / "X.npy"


FAULTS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "no ids": (no_ids, "X.npy has no image ids, and there is no X.ids.txt beside it; write one id per line to it"),
    "too few ids": (beside("ids.txt", "a\nb\n"), "ids.txt has 2 ids, but X.npy has 3 rows; they must match"),
    "an id twice": (beside("X.txt", "a\nb\na\n"), "X.npy has image 'a' in row 1 and again in row 3; keep one of them"),
    "a blank id": (beside("X.txt", "a\n\nb\n"), "X.npy, row 2 has no id in column 'image'; fill it in or remove it"),
    "no list": (beside("X.json", {"a": 1}), "X.json is not a JSON array of image ids"),
    "no JSON": (beside("X.json", "[1"), "X.json is not a list of image ids in UTF-8"),
    "pickled ids": (
        npz(ids=np.array([Danger(), 1, 2], object), X=NUMBERS),
        "X.npz cannot be read: it holds pickled Python objects, which can run code; save text with ids.astype(str)",
    ),
    "not a number": (
        npz(ids=np.array(IDS), X=np.where(NUMBERS == 4.0, np.nan, NUMBERS)),
        "X.npz, row 2 has no number in column 'feature[1]'; features must be finite",
    ),
    "too large": (npz(ids=np.array(IDS), X=NUMBERS.astype(np.float64) * 1e200), "X.npz, row 1 has an infinite number"),
    "text": (npz(ids=np.array(IDS), X=NUMBERS.astype(str)), "X.npz should have one array of features, with a row per"),
    "two arrays": (npz(ids=np.array(IDS), X=NUMBERS, Y=NUMBERS), "X.npz should have one array of features"),
    "three dimensions": (npz(ids=np.array(IDS), X=NUMBERS[None]), "X.npz should have one array of features"),
    "no columns": (npz(ids=np.array(IDS), X=NUMBERS[:, :0]), "X.npz holds float32 of shape (3, 0); features"),
    "a damaged archive": (damaged, "X.npz cannot be read: "),
    "a cut array": (cut, "X.npy cannot be read: "),
    "no safetensors": (no_tensors, "X.safetensors cannot be read: the header is longer than the file"),
    "no metadata": (without_metadata, "metadata_1.parquet does not exist; did you mean metadata_0.parquet?"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_errors_in_one_line(tmp_path: Path, fault: str) -> None:
    write, message = FAULTS[fault]
    path = write(tmp_path)
    with pytest.raises(DataError) as caught:
        read_features(path)
    text = str(caught.value).replace(f"{tmp_path}/", "")
    assert message in text
    assert "\n" not in text


def test_a_folder_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is a folder without img_emb/img_emb_0\.npy"):
        read_features(tmp_path)
    for name in ("X.npy", "X.npz", "X.safetensors"):
        with pytest.raises(DataError, match=f"{name} does not exist"):
            read_features(tmp_path / name)
