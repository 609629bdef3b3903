from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from vse_ens.cli.app import main


class Answer(NamedTuple):
    """What a run of ``vse`` left behind."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def vse(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Run ``vse`` in this process, 80 columns wide and without color."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    # On a slow machine, lines about progress would be in between.
    monkeypatch.setattr("vse_ens.cli.console._LOG_INTERVAL_SECONDS", math.inf)

    def run(*arguments: object) -> Answer:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        return Answer(int(left.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """A small file of pairs: ten images with one to four labels each."""
    rows = [(f"img {image:02}", f"label/{label}") for image in range(10) for label in range(image % 4 + 1)]
    path = tmp_path / "pairs.parquet"
    pl.DataFrame(rows, schema=["image", "label"], orient="row").write_parquet(path)
    return path


@pytest.fixture(scope="session")
def model(small_model: Path) -> Path:
    """A small saved model, with confidences."""
    return small_model
