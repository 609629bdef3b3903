from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vse_ens.errors import DataError
from vse_ens.experiments.paper.numbers import KNOWN_NUMBERS
from vse_ens.experiments.paper.stand_ins import Shape


def _file(folder: Path, content: Any) -> Path:
    path = folder / "paper.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_nothing_is_known_that_was_not_seen() -> None:
    """A number that is added here needs a source beside it in numbers.py."""
    assert KNOWN_NUMBERS.to_dict() == {
        "table1": {},
        "table2": {"iaprtc12": {"vse-ens": {"recall@10": 0.436, "map": 0.184}}},
        "table4": {},
        "speed_up": {"iaprtc12": 2.5, "nuswide": 2.06, "openimages": 5.02},
    }


def test_cells_of_a_file_are_merged_in(tmp_path: Path) -> None:
    more = {
        "table1": {"nuswide": {"images": 10, "labels": 5, "train": 20, "test": 10}},
        "table2": {
            "iaprtc12": {"vse-ens": {"auc": 0.7}, "warp": {"recall@10": 0.4}},
            "nuswide": {"warp": {"map": 0.1}},
        },
        "table4": {"nuswide": {"warp": 12.5}},
        "speed_up": {"nuswide": 3},
    }
    paper = KNOWN_NUMBERS.with_file(_file(tmp_path, more))
    assert paper.shapes == {"nuswide": Shape(10, 5, 20, 10)}
    assert paper.accuracy == {
        "iaprtc12": {"vse-ens": {"recall@10": 0.436, "map": 0.184, "auc": 0.7}, "warp": {"recall@10": 0.4}},
        "nuswide": {"warp": {"map": 0.1}},
    }
    assert paper.training_time == {"nuswide": {"warp": 12.5}}
    assert paper.speed_up == {"iaprtc12": 2.5, "nuswide": 3, "openimages": 5.02}


def test_what_it_knows_can_be_read_back(tmp_path: Path) -> None:
    assert KNOWN_NUMBERS.with_file(_file(tmp_path, KNOWN_NUMBERS.to_dict())) == KNOWN_NUMBERS


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("{", "is not JSON"),
        ([], "expected an object with names and values"),
        ({"table5": {}}, "'table5' is unknown; use one of table1"),
        ({"table2": {"flickr": {}}}, "table2: 'flickr' is unknown; use one of iaprtc12"),
        ({"table2": {"iaprtc12": {"bpr": {}}}}, r"table2.iaprtc12: 'bpr' is unknown; use one of vse-ens"),
        ({"table2": {"iaprtc12": {"warp": {"mrr": 0.1}}}}, r"table2.iaprtc12.warp: 'mrr' is unknown; use one of"),
        (
            {"table2": {"iaprtc12": {"warp": {"map": "0.1"}}}},
            r"table2.iaprtc12.warp.map: expected a number of at least 0",
        ),
        ({"table1": {"iaprtc12": {"images": 5}}}, r"table1.iaprtc12: labels must be a whole number"),
        ({"table1": {"iaprtc12": {"images": 5, "labels": 5, "train": 2, "test": 5}}}, r"table1.iaprtc12: 5 images"),
    ],
)
def test_a_fault_is_reported_with_its_key(tmp_path: Path, content: Any, fault: str) -> None:
    with pytest.raises(DataError, match=fault) as raised:
        KNOWN_NUMBERS.with_file(_file(tmp_path, content))
    assert str(raised.value).startswith(str(tmp_path / "paper.json"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.json could not be read"):
        KNOWN_NUMBERS.with_file(tmp_path / "none.json")
