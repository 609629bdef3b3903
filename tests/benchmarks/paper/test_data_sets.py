"""The data sets of table 1, real or as stand-ins."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.paper.data_sets import COUNTS, load_data_set, marked_titles, paper_shape
from benchmarks.paper.numbers import DATA_SETS, PAPER
from benchmarks.paper.stand_ins import Shape, stand_in

from vse_ens.data.io.write import write_parquet


@pytest.mark.parametrize("name", ["openimages", "nuswide"])
def test_stand_ins_have_the_shapes_of_table_1(name: str) -> None:
    shape = paper_shape(name)
    assert {count: getattr(shape, count) for count in COUNTS} == PAPER["table1"][name]


def test_the_stand_in_of_iaprtc12_has_the_published_shape() -> None:
    """Table 1 holds out more labels than there are images."""
    shape = paper_shape("iaprtc12")
    assert (shape.images, shape.labels, shape.pairs, shape.test) == (19_627, 291, 112_241, 19_067)


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA_SETS)
def test_a_part_of_a_stand_in_keeps_its_proportions(name: str) -> None:
    described = load_data_set(name, None, 0.02).describe()
    assert described["generated"]
    for count in ("images", "train", "test"):
        assert described[count] == pytest.approx(0.02 * getattr(paper_shape(name), count), rel=0.01)


def test_a_file_is_used_as_it_is(tmp_path: Path) -> None:
    data = stand_in(Shape(60, 12, 200, 50))
    write_parquet({tmp_path / "pairs.parquet": data})
    data_set = load_data_set("nuswide", tmp_path / "pairs.parquet", 0.01)
    assert data_set.data == data
    described = data_set.describe()
    assert not described["generated"]
    assert [described[count] for count in COUNTS] == [60, 12, 200, 50]
    assert marked_titles({"nuswide": described}) == {"nuswide": "NUS-WIDE"}


def test_tuning_labels_are_neither_trained_on_nor_tested_on() -> None:
    data_set = load_data_set("iaprtc12", None, 0.01)
    parts = {
        name: set(zip(part.image_numbers().tolist(), part.indices.tolist(), strict=True))
        for name, part in (
            ("test", data_set.split(0).test),
            ("tune", data_set.tuning_split.test),
            ("rest", data_set.tuning_split.train),
        )
    }
    assert sum(map(len, parts.values())) == data_set.data.pairs
    assert len(set.union(*parts.values())) == data_set.data.pairs
    assert parts["tune"] | parts["rest"] == set(
        zip(data_set.split(0).train.image_numbers().tolist(), data_set.split(0).train.indices.tolist(), strict=True)
    )
