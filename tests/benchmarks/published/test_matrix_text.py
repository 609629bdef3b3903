from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.published.common import FileProgress
from benchmarks.published.matrix_text import zero_one_rows
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.published import matrix_text
from vse_ens.errors import DataError


def read(path: Path, width: int, height: int) -> np.ndarray:
    found = list(zero_one_rows(path, width, height, FileProgress([path], None)))
    assert [rows.start for rows in found] == list(np.cumsum([0, *(len(rows.values) for rows in found)])[:-1])
    return np.concatenate([rows.values for rows in found])


@given(
    values=st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(st.booleans(), min_size=width, max_size=width), min_size=1, max_size=20)
    ),
    between=st.sampled_from([" ", "\t", "  "]),
    end=st.sampled_from(["\n", "\r\n", "\t\n", " \r\n"]),
    last=st.sampled_from(["", "\n", "\n\n \n"]),
    block=st.integers(1, 64),
)
def test_any_layout_in_any_blocks_is_read(
    values: list[list[bool]], between: str, end: str, last: str, block: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("matrix") / "m.txt"
    lines = [between.join("01"[value] for value in row) for row in values]
    path.write_bytes((end.join(lines) + last).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrix_text, "_BLOCK", block)
        assert read(path, len(values[0]), len(values)).tolist() == values


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("0 1\n1 0\n-1130179 0\n", "line 3 has '-1130179' where 0 or 1 should be"),
        ("0 1\n1 2\n0 0\n", "line 2 has '2' where 0 or 1 should be"),
        ("0 1\n10\n0 0\n", "line 2 has '10' where 0 or 1 should be"),
        ("0 1\n1\n0 0\n", "line 2 has 1 value where there are 2 labels"),
        ("0 1\n1 0 0\n0 0\n", "line 2 has 3 values where there are 2 labels"),
        ("0 1\n1 0\n", " ends after line 2, but there are 3 images"),
        ("0 1\n1 0\n1", "line 3 has 1 value where there are 2 labels"),
        ("0 1\n1 0\n1 1\n0 0\n", "line 4 is one too many for 3 images"),
        ("", " ends after line 0, but there are 3 images"),
    ],
)
def test_a_fault_is_named_by_its_line(
    text: str, fault: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_text, "_BLOCK", block)
    path = tmp_path / "m.txt"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        read(path, 2, 3)
    assert str(error.value).startswith(f"{path}{fault if fault.startswith(' ') else ', ' + fault}")


@pytest.mark.parametrize("block", [1, 5, 1 << 20])
def test_a_blank_line_is_a_fault_unless_nothing_follows(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_text, "_BLOCK", block)
    path = tmp_path / "m.txt"
    path.write_text("0 1\n\n1 1\n")
    with pytest.raises(DataError, match=r"m\.txt, line 2 (is blank|has 0 values)"):
        read(path, 2, 2)
