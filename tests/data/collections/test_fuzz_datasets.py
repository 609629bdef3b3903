"""Damaged files: every reader and writer gives labels or an error of this package, and never hangs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.collection_samples import CASES, read_and_change
from tests.support.mutations import mutated
from vse_ens.data.collections import open_collection
from vse_ens.errors import VseError

COUNT = 200


@pytest.mark.unhurried
@pytest.mark.parametrize("case", CASES)
def test_a_damaged_file_gives_labels_or_one_sentence(case: str, tmp_path: Path) -> None:
    format_name, make, name = CASES[case]
    path = make(tmp_path)
    read_and_change(path, format_name)
    damaged = tmp_path / name
    for content in mutated(damaged.read_bytes(), COUNT, seed=len(case)):
        damaged.write_bytes(content)
        read_and_change(path, format_name)


@pytest.mark.unhurried
@pytest.mark.parametrize("case", CASES)
def test_some_damaged_files_are_read_all_the_same(case: str, tmp_path: Path) -> None:
    """Otherwise the files are damaged too much to test more than the first check of a reader."""
    format_name, make, name = CASES[case]
    path = make(tmp_path)
    damaged = tmp_path / name
    read = 0
    for content in mutated(damaged.read_bytes(), 200, seed=len(case)):
        damaged.write_bytes(content)
        with suppress(VseError):
            read += bool(list(open_collection(path, format_name).items()))
    assert read
