from __future__ import annotations

import json

import pytest

from tests.support.training_runs import small_config, small_data
from vse_ens.data.annotations import Annotations
from vse_ens.errors import InsufficientMemoryError, VseError
from vse_ens.presets import configure
from vse_ens.train import ram_estimate as module
from vse_ens.train.ram_estimate import RamEstimate, check_ram, estimate_ram


def test_it_prints_as_a_table_a_person_can_read() -> None:
    found = RamEstimate("to train", {"image vectors": 1_234_500_000, "pairs": 80_000}, 24_000_000_000)
    assert str(found) == (
        "image vectors      1,234.5 MB\n"
        "pairs                  0.1 MB\n"
        "needed to train    1,234.6 MB\n"
        "available         24,000.0 MB"
    )
    assert "available" not in str(RamEstimate("to train", {"pairs": 1}, None))


def test_it_goes_through_json() -> None:
    found = estimate_ram(configure("context"), small_data())
    document = found.to_dict()
    assert json.loads(json.dumps(document)) == document
    assert document["total"] == found.total == sum(document["parts"].values())
    assert list(document["parts"].values()) == sorted(document["parts"].values(), reverse=True)


def test_more_of_anything_needs_no_less() -> None:
    data = small_data(features=True)
    settings = {"loss": "softmax", "sampler": "uniform", "tower": "context", "label_pairs": 10, "validate": True}
    least = estimate_ram(small_config(**settings), data, workers=1).total
    for name, value in (
        ("dimensions", 64),
        ("batch", 4_096),
        ("negatives", 500),
        ("sampler", "vse-ens"),
        ("tower", "context+id"),
        ("tower", "context+features"),
        ("label_weights", True),
    ):
        assert estimate_ram(small_config(**{**settings, name: value}), data, workers=1).total > least, name


@pytest.mark.parametrize("preset", ["context", "vse-ens"])
def test_data_that_cannot_be_trained_on_are_left_to_the_trainer(preset: str) -> None:
    nothing = Annotations.from_pairs([])
    check_ram(configure(preset), nothing)
    check_ram(configure(preset, tower="features"), small_data())


def test_what_fits_or_cannot_be_told_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    config, data = small_config(), small_data()
    for left in (None, estimate_ram(config, data).total):
        monkeypatch.setattr(module, "available_memory", lambda left=left: left)
        check_ram(config, data)


@pytest.mark.parametrize(
    ("settings", "largest", "advice"),
    [
        ({"dimensions": 2_000}, "drawing vectors", "lower dimensions"),
        ({"loss": "softmax", "batch": 100_000}, "batch buffers", "lower batch, negatives or dimensions"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(
    settings: dict[str, object], largest: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "available_memory", lambda: 1_000_000)
    with pytest.raises(InsufficientMemoryError) as caught:
        check_ram(small_config(**settings), small_data())
    message = str(caught.value)
    assert message.startswith("training needs about ")
    assert f"for {largest}, but only 1 MB are available; {advice}" in message
    assert isinstance(caught.value, VseError | MemoryError)


def test_every_part_that_can_be_largest_has_advice_of_its_own_or_is_of_vectors() -> None:
    vectors = {"image vectors", "label vectors", "feature map", "copies of vectors", "drawing vectors"}
    config = small_config(loss="softmax", tower="context+features", label_pairs=9, validate=True, label_weights=True)
    parts = module.RamModel(config, small_data(features=True), 1).moments()
    named = {name for _, moment in parts for name in moment}
    assert named - vectors - {"rankings", "slice copies", "validation", module.KEPT} == module._ADVICE.keys()
