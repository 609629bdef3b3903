from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.support.random_models import random_case
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, DataError
from vse_ens.export import vectors
from vse_ens.export.vectors import write_model_vectors, write_vectors
from vse_ens.model.loaded import LoadedModel

IDS = Vocabulary.from_ids(["a b", "naïve 海.jpg", "🏖️", "0"])
TABLE = np.arange(12, dtype=np.float32).reshape(4, 3) / 7


def test_parquet_has_ids_and_fixed_size_lists(tmp_path: Path) -> None:
    write_vectors(tmp_path / "x.parquet", IDS, 3, [TABLE[:3], TABLE[3:]])
    table = pq.read_table(tmp_path / "x.parquet")
    assert table["id"].to_pylist() == list(IDS)
    assert str(table.schema.field("vector").type) == "fixed_size_list<element: float>[3]"
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist(), np.float32), TABLE)


def test_npy_has_the_ids_beside_it(tmp_path: Path) -> None:
    write_vectors(tmp_path / "x.npy", IDS, 3, [TABLE[:3], TABLE[3:]])
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy", allow_pickle=False), TABLE)
    assert (tmp_path / "x.ids.txt").read_text(encoding="utf-8").splitlines() == list(IDS)


@pytest.mark.parametrize("name", ["x.txt", "x.vec"])
def test_word2vec_text_reads_back(tmp_path: Path, name: str) -> None:
    write_vectors(tmp_path / name, IDS, 3, [TABLE[:3], TABLE[3:]])
    first, *lines = (tmp_path / name).read_text(encoding="utf-8").splitlines()
    assert first == "4 3"
    assert [line.split(" ")[0] for line in lines] == ["0", "a_b", "naïve_海.jpg", "🏖️"]
    read = np.array([[float(value) for value in line.split(" ")[1:]] for line in lines])
    np.testing.assert_allclose(read, TABLE, rtol=1e-5)


def test_labels_and_images_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_BLOCK", 7)
    model, known = random_case("id and context")
    loaded = cast("LoadedModel", SimpleNamespace(model=model, known=known))
    for what in ("labels", "images"):
        write_model_vectors(tmp_path / f"{what}.npy", loaded, what)
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), model.embeddings.label_vectors)
    np.testing.assert_array_equal(
        np.load(tmp_path / "images.npy"), model.embeddings.vectors(np.arange(60), known=known)
    )


def test_nothing_to_write_is_written(tmp_path: Path) -> None:
    nobody = Vocabulary.from_ids([])
    for name in ("x.parquet", "x.npy", "x.txt"):
        write_vectors(tmp_path / name, nobody, 3, [])
    assert pq.read_table(tmp_path / "x.parquet").num_rows == 0
    assert np.load(tmp_path / "x.npy").shape == (0, 3)
    assert (tmp_path / "x.txt").read_text() == "0 3\n"


def test_ids_a_format_cannot_hold_are_refused_without_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"x.csv must end in .parquet, .npy, .txt, .vec"):
        write_vectors(tmp_path / "x.csv", IDS, 3, [TABLE])
    with pytest.raises(DataError, match=r"the id 'a\\nb' contains a line break"):
        write_vectors(tmp_path / "x.npy", Vocabulary.from_ids(["a\nb"]), 3, [TABLE[:1]])
    with pytest.raises(DataError, match="'a b' and 'a_b' would both be the word 'a_b'"):
        write_vectors(tmp_path / "x.txt", Vocabulary.from_ids(["a b", "a_b"]), 3, [TABLE[:2]])
    assert list(tmp_path.iterdir()) == []


def test_a_failure_half_way_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write_vectors(path, IDS, 3, [TABLE])
    before = path.read_bytes()

    def blocks():  # type: ignore[no-untyped-def]
        yield TABLE[:2]
        raise KeyError

    with pytest.raises(KeyError):
        write_vectors(path, IDS, 3, blocks())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
