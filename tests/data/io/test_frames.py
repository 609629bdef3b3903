from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from vse_ens import Annotations, ConfigError, DataError, MissingPartError

PAIRS = [("10", "sea"), ("2", "sand"), ("2", "sea")]


def pairs_of(data: Annotations) -> list[tuple[str, str]]:
    return data.to_frame("polars").rows()


# --- frames ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"image": [2, 10, 2], "label": ["sea", "sea", "sand"]}),
        pl.DataFrame({"label": pl.Series(["sea", "sea", "sand"], dtype=pl.Categorical), "image": ["2", "10", "2"]}),
        pl.DataFrame(
            {"image": ["2", "10", "2"], "label": pl.Series(["sea", "sea", "sand"], dtype=pl.Enum(["sand", "sea"]))}
        ),
        pl.LazyFrame({"image": [2, 10, 2], "label": ["sea", "sea", "sand"], "score": [0.1, 0.2, 0.3]}),
        pl.DataFrame({"image": ["2", "10"], "tags": [["sea", "sand"], ["sea"]]}),
        pd.DataFrame({"image": [2, 10, 2], "label": ["sea", "sea", "sand"]}, index=[7, 8, 9]),
        pd.DataFrame({"image": ["2", "10", "2"], "label": pd.Categorical(["sea", "sea", "sand"])}),
        pd.DataFrame({"image": ["2", "10"], "tags": [["sea", "sand"], ["sea"]]}),
        pa.table({"image": pa.array([2, 10, 2], pa.uint8()), "label": ["sea", "sea", "sand"]}),
        pa.table({"image": ["2", "10", "2"], "label": pa.array(["sea", "sea", "sand"]).dictionary_encode()}),
        pa.table({"image": ["2", "10", "2"], "label": pa.array(["sea", "sea", "sand"], pa.string_view())}),
        pa.table({"image": ["2", "10"], "tags": pa.array([["sea", "sand"], ["sea"]], pa.list_(pa.string()))}),
        pa.record_batch({"image": ["2", "10", "2"], "label": ["sea", "sea", "sand"]}),
        pa.table({"image": ["2", "10", "2"], "label": ["sea", "sea", "sand"]}).to_reader(),
    ],
    ids=lambda frame: f"{type(frame).__module__.partition('.')[0]} {type(frame).__name__}",
)
def test_frames(frame) -> None:
    data = Annotations.from_frame(frame)
    assert pairs_of(data) == PAIRS
    assert data.notes == ()


def test_columns_of_a_frame_by_name() -> None:
    frame = pd.DataFrame({"what": ["sea"], "who": ["ann"], "when": [dt.date(2024, 1, 1)]})
    assert pairs_of(Annotations.from_frame(frame, image="who", label="what")) == [("ann", "sea")]
    assert Annotations.from_frame(frame).notes == ("used column 'what' for images and 'who' for labels",)


def test_wide_frames() -> None:
    frame = pl.DataFrame({"image": ["x", "y", "z"], "labels": [["sea", "sand"], [], None]})
    data = Annotations.from_frame(frame)
    assert pairs_of(data) == [("x", "sand"), ("x", "sea")]
    assert list(data.images) == ["x", "y", "z"]
    frame = pl.DataFrame({"image": ["x", "y"], "labels": ["sea;sand", None]})
    assert pairs_of(Annotations.from_frame(frame, label_separator=";")) == [("x", "sand"), ("x", "sea")]


def test_slices_of_arrow_lists_are_read_from_their_own_start() -> None:
    lists = pa.array([["no"], ["sea", "sand"], None, [], ["sea"], ["no"]], pa.list_(pa.string()))
    table = pa.table({"image": ["a", "2", "y", "z", "10", "b"], "label": lists}).slice(1, 4)
    data = Annotations.from_frame(table)
    assert pairs_of(data) == PAIRS
    assert list(data.images) == ["10", "2", "y", "z"]


def test_filters() -> None:
    data = Annotations.from_frame(pl.DataFrame(PAIRS, schema=["image", "label"], orient="row"), min_images_per_label=2)
    assert pairs_of(data) == [("10", "sea"), ("2", "sea")]


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (pl.DataFrame({"image": [1.5], "label": ["sea"]}), "column 'image' of the polars DataFrame holds double"),
        (
            pd.DataFrame({"image": [1, None], "label": ["sea", "sea"]}),
            "column 'image' of the pandas DataFrame holds double",
        ),
        (pl.DataFrame({"image": ["x"], "label": [True]}), "holds bool"),
        (pl.DataFrame({"image": ["x"], "label": [dt.date(2024, 1, 1)]}), "holds date32"),
        (pl.DataFrame({"image": ["x"], "label": [[1.5]]}), "holds double"),
        (pl.DataFrame({"image": ["x", None], "label": ["sea", " "]}), r"blank image or label id on 1 row \(2\)"),
        (pd.DataFrame({"image": ["x", None], "label": ["sea", "sea"]}), r"blank image id on 1 row \(2\)"),
        (pl.DataFrame({"image": ["x"], "label": [["sea", None]]}), r"blank label id on 1 row \(1\)"),
        (pl.DataFrame({"image": [None, None], "label": ["sea", "sea"]}), r"blank image id on 2 rows \(1, 2\)"),
        (pl.DataFrame({"image": ["x"]}), "has one column only"),
        (pl.DataFrame(schema={"image": pl.String, "label": pl.String}), "is empty"),
        (pl.DataFrame(), "is empty"),
        (pd.DataFrame({0: ["x"], 1: ["sea"]}), "column names that are not text"),
        (pd.DataFrame({"image": ["x", 1], "label": ["sea", "sea"]}), "convert it to text"),
        ({"image": ["x"]}, "a data frame is needed, such as one of pandas, Polars or Arrow, got the builtins dict"),
    ],
)
def test_frames_that_cannot_be_read(frame, reason: str) -> None:
    with pytest.raises(DataError, match=reason) as caught:
        Annotations.from_frame(frame)
    assert "\n" not in str(caught.value)


def test_a_missing_column_of_a_frame() -> None:
    with pytest.raises(DataError, match="has no column 'tag'; it has 'image', 'label'"):
        Annotations.from_frame(pl.DataFrame({"image": ["x"], "label": ["y"]}), label="tag")


def test_columns_of_the_same_name_are_refused() -> None:
    with pytest.raises(DataError, match=r"the pyarrow.* Table cannot be read: .*'image' 2 times"):
        Annotations.from_frame(pa.table([["x"], ["y"], ["sea"]], names=["image", "image", "label"]))


@pytest.mark.parametrize(
    ("backend", "kind"), [("pyarrow", pa.Table), ("polars", pl.DataFrame), ("pandas", pd.DataFrame)]
)
def test_frames_of_every_library_go_out_and_come_back(backend: str, kind: type) -> None:
    data = Annotations.from_pairs([*PAIRS, ("ünï", "a,b")])
    frame = data.to_frame(backend)
    assert isinstance(frame, kind)
    assert list(frame.columns if backend != "pyarrow" else frame.column_names) == ["image", "label"]
    assert Annotations.from_frame(frame) == data


def test_an_arrow_table_is_the_default() -> None:
    assert Annotations.from_pairs(PAIRS).to_frame().to_pylist() == [
        {"image": image, "label": label} for image, label in PAIRS
    ]


def test_frames_of_unknown_or_missing_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Annotations.from_pairs(PAIRS)
    with pytest.raises(ConfigError, match="backend must be arrow, pandas or polars, got 'excel'"):
        data.to_frame("excel")
    with pytest.raises(MissingPartError, match="a modin frame needs the package modin"):
        data.to_frame("modin")


# --- matrices --------------------------------------------------------------------------------------------------------

DENSE = np.array([[0, 1, 2], [0, 0, 0], [1, 0, 0]])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32])
def test_matrices_of_every_form(form: str, kind: str, dtype: type) -> None:
    matrix = getattr(scipy.sparse, f"{form}_{kind}")(DENSE.astype(dtype))
    data = Annotations.from_matrix(matrix, ["b", "a", "c"], ["z", "y", "x"])
    assert pairs_of(data) == [("b", "x"), ("b", "y"), ("c", "z")]
    assert list(data.images) == ["a", "b", "c"]


def test_without_names_rows_and_columns_are_their_numbers() -> None:
    matrix = scipy.sparse.csr_array(np.random.default_rng(0).random((30, 12)) < 0.2)
    data = Annotations.from_matrix(matrix)
    rows, columns = matrix.nonzero()
    assert pairs_of(data) == sorted((str(row), str(column)) for row, column in zip(rows, columns, strict=True))
    assert sorted(data.images, key=int) == [str(row) for row in range(30)]
    assert len(data.labels) == 12


def test_explicit_zeros_are_no_pairs_and_duplicates_are_summed() -> None:
    values, rows, columns = [1, 0, 1, 1, 1, -1], [0, 0, 1, 1, 2, 2], [0, 1, 0, 0, 0, 0]
    matrix = scipy.sparse.coo_array((values, (rows, columns)), (3, 2))
    data = Annotations.from_matrix(matrix)
    assert pairs_of(data) == [("0", "0"), ("1", "0")]
    assert data.notes == ("skipped 2 explicit zeros", "merged 2 duplicate pairs")
    assert matrix.nnz == 6


def test_the_matrix_given_is_not_changed() -> None:
    matrix = scipy.sparse.csr_array((np.ones(3), np.array([1, 0, 0]), np.array([0, 3])), (1, 2))
    assert pairs_of(Annotations.from_matrix(matrix)) == [("0", "0"), ("0", "1")]
    assert matrix.indices.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("matrix", "names", "reason"),
    [
        (scipy.sparse.csr_array([[1.0, np.nan]]), {}, "holds 1 NaN"),
        (scipy.sparse.csr_array(DENSE), {"images": ["a"]}, "has 3 rows, but 1 image names were given"),
        (scipy.sparse.csr_array(DENSE), {"labels": list("abcd")}, "has 3 columns, but 4 label names were given"),
        (scipy.sparse.csr_array(DENSE), {"images": list("aba")}, "image name 'a' was given twice"),
        (scipy.sparse.csr_array(DENSE), {"images": ["a", " ", "b"]}, "not blank"),
        (DENSE, {}, "a sparse matrix with two dimensions is needed, got ndarray"),
    ],
)
def test_matrices_that_cannot_be_read(matrix, names: dict, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        Annotations.from_matrix(matrix, **names)


def test_no_frame_library_is_imported_by_reading(python, tmp_path) -> None:
    (tmp_path / "a.csv").write_text("image,label\nx,sea\n")
    (tmp_path / "a.jsonl").write_text('{"image": "x", "label": "sea"}\n')
    (tmp_path / "wide.csv").write_text('image,labels\nx,"[""sea""]"\n')
    pl.DataFrame({"image": ["x"], "label": ["sea"]}).write_parquet(tmp_path / "a.parquet")
    code = """
import sys
from vse_ens import Annotations
for name in ("a.csv", "a.jsonl", "wide.csv", "a.parquet"):
    data = Annotations.read(sys.argv[1] + "/" + name)
data.to_frame()
print([name for name in ("pandas", "polars", "narwhals", "scipy", "numba") if name in sys.modules])
"""
    done = python(code, str(tmp_path))
    assert done.stdout.strip() == "[]", done.stderr
