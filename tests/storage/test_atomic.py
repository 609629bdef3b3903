from __future__ import annotations

from pathlib import Path

import pytest

from vse_ens.errors import DataError
from vse_ens.storage.atomic import replace_files


def test_both_files_appear_together_in_place_of_the_old(tmp_path: Path) -> None:
    one, other = tmp_path / "new" / "one", tmp_path / "other"
    other.write_text("old")
    with replace_files(one, other) as partial:
        for path, text in zip(partial, ("1", "2"), strict=True):
            path.write_text(text)
        assert other.read_text() == "old"
        assert not one.exists()
    assert (one.read_text(), other.read_text()) == ("1", "2")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["new", "one", "other"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail() -> None:
        with replace_files(path) as (partial,):
            partial.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [one.read_text() for one in tmp_path.iterdir()] == ["old"]


def test_what_cannot_be_written_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "below"
    message = r"below could not be written: .*; correct this or choose another path"
    with pytest.raises(DataError, match=message), replace_files(place):
        pass
