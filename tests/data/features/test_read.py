from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vse_ens.data.features import files
from vse_ens.data.features.read import read_features, read_scores
from vse_ens.errors import DataError

IDS = ["b", "ü", "007", "sea view"]
NUMBERS = [[1.0, -2.5], [0.0, 1e-3], [3.0, 0.0], [0.5, 4.0]]
IMAGES = ["007", "b", "sea view", "ü"]
WANTED = [[3.0, 0.0], [1.0, -2.5], [0.5, 4.0], [0.0, 1e-3]]


def dense_frame() -> pl.DataFrame:
    return pl.DataFrame({"image": IDS, "red": [row[0] for row in NUMBERS], "blue": [row[1] for row in NUMBERS]})


def write(path: Path, frame: pl.DataFrame, *, header: bool = True) -> Path:
    if path.suffix == ".parquet":
        frame.write_parquet(path)
        return path
    text = frame.write_csv(separator="\t" if ".tsv" in path.suffixes else ",", include_header=header).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["f.csv", "f.tsv", "f.csv.gz", "f.tsv.gz", "f.parquet"])
def test_an_image_a_row(tmp_path: Path, name: str) -> None:
    table = read_features(write(tmp_path / name, dense_frame()))
    np.testing.assert_array_equal(table.matrix, np.array(WANTED, np.float32))
    assert table.matrix.dtype == np.float32
    assert table.names == ["red", "blue"]
    assert list(table.images) == IMAGES


def test_a_gzipped_parquet_file(tmp_path: Path) -> None:
    plain = write(tmp_path / "f.parquet", dense_frame())
    zipped = tmp_path / "f.parquet.gz"
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    np.testing.assert_array_equal(read_features(zipped).matrix, read_features(plain).matrix)


def test_image_column_with_a_known_name_may_be_anywhere(tmp_path: Path) -> None:
    frame = dense_frame().select("red", pl.col("image").alias("Image ID"), "blue")
    for name in ("f.csv", "f.parquet"):
        table = read_features(write(tmp_path / name, frame))
        np.testing.assert_array_equal(table.matrix, np.array(WANTED, np.float32))


def test_a_text_without_a_header(tmp_path: Path) -> None:
    table = read_features(write(tmp_path / "f.csv", dense_frame(), header=False))
    np.testing.assert_array_equal(table.matrix, np.array(WANTED, np.float32))
    assert table.names is None


@pytest.mark.parametrize("corner", ["image", ""])
def test_header_of_numbers_is_recognized_by_its_first_column(tmp_path: Path, corner: str) -> None:
    path = write_text(tmp_path / "f.csv", f"{corner},0,1\na,5,6\n")
    table = read_features(path)
    assert (table.matrix.tolist(), table.names) == ([[5.0, 6.0]], ["0", "1"])


def test_spaces_quotes_and_blank_lines(tmp_path: Path) -> None:
    path = write_text(tmp_path / "f.csv", '\ufeffimage,x\n"a,b", 1 \n\n"c","2e1"\n')
    assert read_features(path).matrix.tolist() == [[1.0], [20.0]]


@pytest.mark.parametrize("kind", [pl.Float64, pl.Int16, pl.UInt64, pl.Boolean])
def test_all_kinds_of_numbers_and_number_ids(tmp_path: Path, kind: Any) -> None:
    frame = pl.DataFrame({"image": [12, 7], "x": pl.Series([0, 1]).cast(kind)})
    table = read_features(write(tmp_path / "f.parquet", frame))
    assert table.matrix.tolist() == [[0.0], [1.0]]


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float32(), 2), pa.list_(pa.int8())]
)
def test_a_list_an_image(tmp_path: Path, kind: pa.DataType) -> None:
    lists = [[1, 2], [3, 4], [5, 6]]
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"image": ["b", "x", "a"], "vector": pa.array(lists, kind)}), path)
    table = read_features(path)
    assert table.matrix.tolist() == [[5.0, 6.0], [1.0, 2.0], [3.0, 4.0]]
    assert (list(table.images), table.names) == (["a", "b", "x"], None)


@pytest.mark.parametrize("name", ["f.csv", "f.tsv.gz", "f.parquet"])
def test_a_value_a_row(tmp_path: Path, name: str) -> None:
    frame = pl.DataFrame(
        {
            "image": ["b", "a", "x", "b", "x"],
            "feature": ["sky", "sea", "only of x", "sea", "sea"],
            "value": [1.0, 2.0, 3.0, 0.5, 6.0],
        }
    )
    table = read_features(write(tmp_path / name, frame))
    assert table.matrix.format == "csr"
    assert table.matrix.dtype == np.float32
    assert table.matrix.toarray().tolist() == [[0.0, 2.0, 0.0], [0.0, 0.5, 1.0], [3.0, 6.0, 0.0]]
    assert (list(table.images), table.names) == (["a", "b", "x"], ["only of x", "sea", "sky"])


PGVECTOR = {
    "f.tsv": "b\t[1, 2.5]\na\t[-3e-1,4]\n",
    "f.csv": 'id,embedding\nb,"[1,2.5]"\na,"[-0.3,4]"\n',
}


@pytest.mark.parametrize("name", PGVECTOR)
def test_vectors_as_pgvector_prints_them(tmp_path: Path, name: str) -> None:
    table = read_features(write_text(tmp_path / name, PGVECTOR[name]))
    assert list(table.images) == ["a", "b"]
    np.testing.assert_array_equal(table.matrix, np.array([[-0.3, 4], [1, 2.5]], np.float32))


SCORES = {
    "rows": ("f.csv", "image,tag,score\nb,sea,0.5\na,sky,1\nb,sky,0.25\n"),
    "rows without a header": ("f.tsv", "b\tsea\t0.5\na\tsky\t1\nb\tsky\t0.25\n"),
    "other names and order": ("f.csv", "confidence,class,file\n0.5,sea,b\n1,sky,a\n0.25,sky,b\n"),
    "a column per tag": ("f.csv", "image,sky,sea\nb,0.25,0.5\na,1,0\n"),
}


@pytest.mark.parametrize("case", SCORES)
def test_scores_of_another_tagger(tmp_path: Path, case: str) -> None:
    name, text = SCORES[case]
    table = read_scores(write_text(tmp_path / name, text))
    assert (list(table.images), table.names) == (["a", "b"], ["sea", "sky"])
    assert table.matrix.format == "csr"
    assert table.matrix.toarray().tolist() == [[0.0, 1.0], [0.5, 0.25]]


def test_tags_without_scores_count_as_1(tmp_path: Path) -> None:
    table = read_scores(write_text(tmp_path / "f.csv", "image,tag\nb,sea\na,sky\nb,sky\n"))
    assert table.matrix.toarray().tolist() == [[0.0, 1.0], [1.0, 1.0]]


def test_features_take_the_order_of_a_model(tmp_path: Path) -> None:
    dense = read_features(write(tmp_path / "f.csv", dense_frame()))
    assert dense.aligned(None, "f.csv") is dense
    assert dense.aligned(["red", "blue"], "f.csv") is dense
    np.testing.assert_array_equal(dense.aligned(["blue", "red"], "f.csv").matrix, dense.matrix[:, ::-1])
    np.testing.assert_array_equal(dense.aligned(["blue"], "f.csv").matrix, dense.matrix[:, 1:])
    with pytest.raises(DataError, match=r"f\.csv has no feature 'green', which the model was trained on"):
        dense.aligned(["red", "green"], "f.csv")
    sparse = read_scores(write_text(tmp_path / "s.csv", SCORES["rows"][1]))
    wanted = sparse.aligned(["sky", "unheard of", "sea"], "s.csv")
    assert wanted.matrix.toarray().tolist() == [[1.0, 0.0, 0.0], [0.25, 0.0, 0.5]]
    assert wanted.names == ["sky", "unheard of", "sea"]
    with pytest.raises(DataError, match=r"s\.csv has no feature 'x'"):
        sparse.aligned(["x", "y"], "s.csv")


def test_features_may_be_numbers_and_an_image_may_be_all_zero(tmp_path: Path) -> None:
    path = write_text(tmp_path / "f.csv", "image,feature,value\na,10,1\nb,9,0\n")
    table = read_features(path)
    assert table.matrix.toarray().tolist() == [[1.0, 0.0], [0.0, 0.0]]
    assert table.names == ["10", "9"]


def test_the_order_of_rows_and_the_size_of_batches_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pl.DataFrame(
        {"image": sorted(f"i{number}" for number in range(500)), "x": np.arange(500.0), "y": -np.arange(500.0)}
    )
    whole = read_features(write(tmp_path / "f.csv", frame)).matrix
    monkeypatch.setattr(files, "_BLOCK", 256)
    monkeypatch.setattr(files, "BATCH_NUMBERS", 100)
    for name in ("g.csv", "g.parquet"):
        path = write(tmp_path / name, frame.sample(fraction=1, shuffle=True, seed=1))
        np.testing.assert_array_equal(read_features(path).matrix, whole)
        twice = write(tmp_path / name, pl.concat([frame, frame.tail(400).head(1)]))
        with pytest.raises(DataError, match=r"has image 'i189' in (row|line) 10[12] and again in (row|line) 50[12];"):
            read_features(twice)


BAD_TEXT = {
    "image,x\n": "{path} has no rows of features",
    "image,feature,value\n": "{path} has no rows of features",
    "image,x\na,1\nb,2\na,3\n": "{path} has image 'a' in line 2 and again in line 4; keep one of them",
    "image,x,y\na,1,2\n\nb,1,beach\n": "{path}, line 4 has 'beach' in column 'y', but features are numbers",
    "image,x,y\na,1,2\nb,,2\n": "{path}, line 3 has '' in column 'x', but features are numbers",
    "image,x,y\na,1,2\nb,1,nan\n": "{path}, line 3 has no number in column 'y'; features must be finite",
    "image,x,y\na,1,2\nb,1e60,2\n": "{path}, line 3 has an infinite number in column 'x'",
    "image,x,y\na,1,2\nb,1\n": "{path}, line 3 has 2 fields where line 1 has 3",
    "image,x\na,1\n ,2\n": "{path}, line 3 has no id in column 'image'; fill it in or remove it",
    "image\na\nb\n": "{path} has no feature column besides the image ids",
    "image,feature,value\na,x,1\nb,x,2\na,x,3\n": "{path} has more than one value for feature 'x' of image 'a'",
    "image,feature,value\na,x,1\nb,,2\n": "{path}, line 3 has no id in column 'feature'",
    "image,feature,value\na,x,1\nb,x,?\n": "{path}, line 3 has '?' in column 'value'",
    'image,v\na,"[1,2]"\nb,"[1]"\n': "{path}, line 3 has 1 numbers in column 'v' where row 1 has 2; fix it",
    'image,v\na,"[1,2]"\nb,"[1,x]"\n': "{path}, line 3 has 'x' in column 'v', but features are numbers",
    'image,v\na,"[1,2]"\nb,"[1,nan]"\n': "{path}, line 3 has no number in column 'v[1]'",
}


@pytest.mark.parametrize("text", BAD_TEXT)
def test_faults_of_a_text_are_errors_in_one_line(tmp_path: Path, text: str) -> None:
    path = write_text(tmp_path / "f.csv", text)
    with pytest.raises(DataError, match=re.escape(BAD_TEXT[text].format(path=path))) as caught:
        read_features(path)
    assert "\n" not in str(caught.value)


TWO = ["a", "b"]
BAD_PARQUET: list[tuple[dict[str, Any], str]] = [
    ({"image": TWO}, "has no feature column: it has only 'image'"),
    ({"image": TWO, "scene": TWO}, "column 'scene' of {path} holds string, but features are numbers"),
    ({"image": TWO, "x": [1.0, 2.0], "v": [[1.0], [2.0]]}, "column 'v' of {path} holds list<element: double>, but"),
    ({"image": TWO, "x": [1.0, None]}, "{path}, row 2 has no number in column 'x'"),
    ({"image": TWO, "x": [-np.inf, 1.0]}, "{path}, row 1 has an infinite number in column 'x'"),
    ({"image": TWO, "v": [[1.0, 2.0], [3.0]]}, "{path}, row 2 has 1 numbers in column 'v' where row 1 has 2"),
    ({"image": TWO, "v": [[1.0, 2.0], None]}, "{path}, row 2 has 0 numbers in column 'v' where row 1 has 2"),
    ({"image": TWO, "v": pa.array([[], []], pa.list_(pa.float32()))}, "column 'v' of {path} holds empty lists"),
    ({"image": TWO, "v": [[1.0, 2.0], [np.nan, 1.0]]}, "{path}, row 2 has no number in column 'v[0]'"),
    ({"image": TWO, "v": [["x"], ["y"]]}, "column 'v' of {path} holds list<element: string>, but features are numbers"),
    ({"image": [1.5, 2.5], "x": [1.0, 2.0]}, "column 'image' of {path} holds double, but ids are text"),
    ({"image": [TWO, TWO], "x": [1.0, 2.0]}, "column 'image' of {path} holds list<element: string>, but ids are text"),
]


@pytest.mark.parametrize(("columns", "message"), BAD_PARQUET)
def test_faults_of_a_parquet_file_are_errors_in_one_line(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(DataError, match=re.escape(message.format(path=path))):
        read_features(path)


def test_a_missing_a_foreign_and_a_damaged_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_features(tmp_path / "none.csv")
    with pytest.raises(DataError, match=r"is jsonl, but features are read from csv, tsv, txt, parquet, npy"):
        read_features(write_text(tmp_path / "f.jsonl", '{"image": "a"}\n'))
    path = write(tmp_path / "f.parquet", dense_frame())
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="is a damaged Parquet file"):
        read_features(path)
