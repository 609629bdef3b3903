from __future__ import annotations

from typing import Any

import pytest
from benchmarks.service.page import _other_keys


class Stub:
    """Grids of three images; a verdict changes the confidence of its image, except where it is stuck."""

    def __init__(self, confidences: dict[str, float], stuck: tuple[str, ...] = ()) -> None:
        self._grids = {label: {f"image of {label}": value} for label, value in confidences.items()}
        self._stuck = stuck

    def get(self, path: str, label: str, **query: Any) -> Any:
        found = self._grids[label].items()
        return {"images": [{"image": image, "labels": [], "confidence": value} for image, value in found]}

    def post(self, path: str, body: Any) -> None:
        for grid in self._grids.values():
            for image in {one["image"] for one in body["events"]} & grid.keys() - set(self._stuck):
                grid[image] = (grid[image] + 1) / 2


@pytest.mark.parametrize(
    ("sure", "stuck", "error"),
    [
        (0.4, (), ""),
        (1.0, (), ""),  # surer than sure is the same number
        (0.4, ("image of b",), "images have not been scored again: image of b"),
        (1.0, ("image of a",), "images have not been scored again: none has"),
    ],
)
def test_an_image_that_is_not_scored_again_is_found(sure: float, stuck: tuple[str, ...], error: str) -> None:
    labels = {"a": 0.3, "b": sure, "c": 0.5} if error[-3:] != "has" else {"a": 1.0, "b": sure, "c": 1.0}
    service: Any = Stub(labels, stuck)
    if error:
        with pytest.raises(RuntimeError, match=f"^{error}$"):
            _other_keys(service, list(labels))
    else:
        assert len(_other_keys(service, list(labels))) == 2
