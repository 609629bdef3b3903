"""Several columns of labels, namespaces, and the dumps of boorus."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vse_ens import Annotations
from vse_ens.errors import ConfigError, DataError

MUSEUM = 'Object ID,Title,Tags,Culture\n1,x,Men|Women,Roman\n2,"y\nz",,Greek\n3,w,Dogs|, \n'
POSTS = [
    {"id": 1, "md5": "a", "tag_string": "1girl solo alice", "tag_string_general": "1girl solo",
     "tag_string_character": "alice", "tag_string_artist": ""},
    {"id": 2, "md5": "b", "tag_string": "", "tag_string_general": "", "tag_string_character": "",
     "tag_string_artist": None},
]  # fmt: skip


def labels(data: Annotations) -> dict[str, list[str]]:
    return {image: data.labels_of(image) for image in data.images}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_an_image_has_the_labels_of_all_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "museum.csv", MUSEUM)
    data = Annotations.read(path, image="Object ID", label=["Tags", "Culture"], label_separator="|")
    assert labels(data) == {"1": ["Men", "Roman", "Women"], "2": ["Greek"], "3": ["Dogs"]}
    assert data.notes == ("skipped 1 empty label between separators",)


def test_the_name_of_the_column_is_the_namespace(tmp_path: Path) -> None:
    path = write(tmp_path / "museum.csv", MUSEUM)
    data = Annotations.read(path, image="Object ID", label=["Tags", 3], label_separator="|", label_namespaces=True)
    assert labels(data)["1"] == ["Culture:Roman", "Tags:Men", "Tags:Women"]
    one = Annotations.read(path, image="Object ID", label="Culture", label_namespaces=True)
    assert labels(one) == {"1": ["Culture:Roman"], "2": ["Culture:Greek"], "3": []}


def dumps(folder: Path) -> list[Path]:
    lines = folder / "posts.jsonl"
    lines.write_text("".join(f"{json.dumps(post)}\n" for post in POSTS))
    table = folder / "posts.parquet"
    pq.write_table(pa.Table.from_pylist(POSTS), table)
    names = list(POSTS[0])
    rows = [",".join(names), *(",".join(str(post[name] or "") for name in names) for post in POSTS)]
    packed = folder / "posts.csv.gz"
    packed.write_bytes(gzip.compress("\n".join(rows).encode()))
    return [lines, table, packed]


def test_dumps_of_danbooru_and_e621_need_no_options(tmp_path: Path) -> None:
    for path in dumps(tmp_path):
        assert labels(Annotations.read(path)) == {"1": ["1girl", "alice", "solo"], "2": []}, path


def test_dumps_of_boorus_have_namespaces_by_category(tmp_path: Path) -> None:
    for path in dumps(tmp_path):
        data = Annotations.read(path, label_namespaces=True)
        assert labels(data) == {"1": ["1girl", "character:alice", "solo"], "2": []}, path
        some = Annotations.read(path, label=["tag_string_character", "tag_string_artist"])
        assert labels(some) == {"1": ["alice"], "2": []}, path


def test_lists_of_several_columns_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"id": ["a", "b", "c"], "x": [["1", "2"], None, []], "y": [["2"], ["3", ""], None]}), path)
    assert labels(Annotations.read(path, label=["x", "y"])) == {"a": ["1", "2"], "b": ["3"], "c": []}


def test_a_blank_image_is_one_error_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "id,tags,culture\n1,a,b\n ,b,c\n")
    with pytest.raises(DataError, match=r"x\.csv has a blank image id on 1 line \(3\)"):
        Annotations.read(path, label=["tags", "culture"])


def test_a_column_cannot_be_both_image_and_label(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "first,second,third\na,b,c\n")
    with pytest.raises(ConfigError, match=r"column 'first' of .* has the images"):
        Annotations.read(path, label=["second", "first"], header=True)
    with pytest.raises(DataError, match="has no column 'fourth'; it has 'first', 'second', 'third'"):
        Annotations.read(path, label=["second", "fourth"])
