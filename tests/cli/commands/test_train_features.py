from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Vse = Callable[..., Any]
SETTINGS = ("--preset", "opt-auc", "--tower", "features", "--dimensions", 8, "--epochs", 1)


@pytest.fixture
def features(tmp_path: Path) -> Path:
    """Features of the ten images of ``pairs``, and of two more."""
    path = tmp_path / "features.csv"
    rows = [f"img {image:02},{image % 4},1" for image in range(12)]
    path.write_text("\n".join(["image,number,one", *rows]), encoding="utf-8")
    return path


def test_features_are_read_and_images_without_pairs_counted(
    vse: Vse, pairs: Path, features: Path, tmp_path: Path
) -> None:
    answer = vse("train", pairs, "--out", tmp_path / "model", "--features", features, *SETTINGS, "--json")
    assert answer.status == 0
    assert f"note: ignored 2 images of {features} without pairs" in answer.err
    assert answer.document["config"]["tower"] == "features"


def test_an_image_without_features_is_told(vse: Vse, pairs: Path, features: Path, tmp_path: Path) -> None:
    features.write_text(features.read_text(encoding="utf-8").replace("img 03,", "img 30,"), encoding="utf-8")
    answer = vse("train", pairs, "--out", tmp_path / "model", "--features", features, *SETTINGS)
    assert answer.status == 1
    assert "has no features for 1 of 10 images ('img 03')" in answer.err
    assert not (tmp_path / "model").exists()
