"""The benchmark of inference."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from benchmarks.service import inference


def test_inference_measures_and_scores() -> None:
    pytest.importorskip("usearch")
    sizes = inference.Sizes(200, 50, 1, 3, 500, 1, 300, 100, 60, 3)
    raw = {**asdict(sizes), **{name: part(sizes) for name, part in inference._PARTS.items()}}
    limits = [check.limit for check in inference.score(through_json(raw)).checks]
    assert limits == [3.0, 2.0, 2.0] * 2 + [1.0, 0.95, 0.95]


def through_json(raw: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(raw, allow_nan=False))  # type: ignore[no-any-return]
