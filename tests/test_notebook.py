"""The notebook of the documentation runs from the start, and its stored outputs are of the same kinds."""

from __future__ import annotations

from typing import Any

import pytest
from tools.notebook import NOTEBOOK, run


def kinds(notebook: Any) -> list[list[list[str]]]:
    """The formats of each output of each cell."""
    return [[sorted(one.get("data", {"stream": ""})) for one in cell.get("outputs", ())] for cell in notebook.cells]


@pytest.mark.docs
def test_the_notebook_runs_and_shows_what_it_shows() -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbclient and ipykernel are not installed")
    pytest.importorskip("ipykernel", reason="nbclient and ipykernel are not installed")
    stored = nbformat.read(NOTEBOOK, as_version=4)
    assert all(cell.outputs for cell in stored.cells if cell.cell_type == "code")
    assert kinds(run()) == kinds(stored)
