"""The upper bound of the RAM of a training: never too low, not much too high, and in words."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.support.kernel_problems import random_annotations
from tests.support.training_runs import small_config, small_data
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.errors import InsufficientMemoryError, VseError
from vse_ens.model.embeddings import Embeddings
from vse_ens.presets import configure
from vse_ens.train import ram_estimate as module
from vse_ens.train.ram_estimate import RamEstimate, check_ram, estimate_ram
from vse_ens.train.schedule import resolve_auto
from vse_ens.train.trainer import Trainer

RESIDENT_MEMORY = Path(__file__).parents[1] / "support" / "resident_memory.py"
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "context": ("context", {}),
    "context without a memory": ("context", {"label_weights": False, "refit": False}),
    "vse-ens": ("vse-ens", {"slices": 4}),
    "vse-ens with validation": ("vse-ens", {"validate": True}),
    "opt-auc with softmax": ("opt-auc", {"loss": "softmax"}),
    "warp": ("warp", {}),
    "paper-vse-ens": ("paper-vse-ens", {}),
    "paper-vse-ens by image": ("paper-vse-ens", {"positives": "by-image", "validate": True}),
    "paper-warp": ("paper-warp", {"positives": "shuffled"}),
    "with features": ("vse-ens", {"tower": "id+features"}),
    "with features alone": ("opt-auc", {"tower": "features", "validate": True}),
    "context with features": ("context", {"tower": "context+features"}),
}


SHARDED: dict[str, tuple[str, dict[str, Any]]] = {
    "vse-ens in shards": ("vse-ens", {"shards": 4}),
    "context in shards": ("context", {"shards": 4, "label_weights": False, "refit": False}),
}


def case(run: str) -> tuple[Config, Annotations]:
    preset, settings = (RUNS | SHARDED)[run]
    data = random_annotations(images=3_000, labels=400, most=8)
    if "features" in run:
        matrix = np.random.default_rng(5).random((3_000, 60)).astype(np.float32)
        data = data.with_features(matrix if "alone" in run else sparse.csr_array(matrix * (matrix > 0.5)))
    return resolve_auto(configure(preset, **settings, epochs=2), data), data


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def trained(config: Config, data: Annotations) -> Embeddings:
    trainer = Trainer(config, data, 1)
    for _ in trainer.rounds():
        pass
    return trainer.model.with_features(data.features).embeddings


@pytest.mark.unhurried
@pytest.mark.parametrize("run", RUNS | SHARDED)
def test_no_training_allocates_more_than_the_bound(run: str, request: pytest.FixtureRequest) -> None:
    config, data = case(run)
    needed = estimate_ram(config, data, 1)
    trained(config, data)  # kernels are compiled
    request.getfixturevalue("traced")
    before, _ = tracemalloc.get_traced_memory()
    trained(config, data)
    _, peak = tracemalloc.get_traced_memory()
    bound = needed.total - needed.parts[module.KEPT]
    # Of a few megabytes, the bound is up to four times as much; twice where vectors count.
    assert peak - before < bound < 4 * (peak - before), (run, peak - before, str(needed))


@pytest.mark.unhurried
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of a process is reset as on Linux")
def test_the_resident_memory_of_a_training_stays_below_the_bound() -> None:
    ran = subprocess.run([sys.executable, str(RESIDENT_MEMORY)], capture_output=True, text=True, timeout=900)
    if "Permission" in ran.stderr:
        pytest.skip("a process may not reset its peak")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert len(found) == 3
    for case, (used, bound) in found.items():
        assert used < bound < 2.5 * used, (case, used, bound)


def test_an_estimate_prints_as_a_table() -> None:
    found = RamEstimate("to train", {"image vectors": 1_234_500_000, "pairs": 80_000}, 24_000_000_000)
    assert str(found) == (
        "image vectors              1,234.5 MB\n"
        "pairs                          0.1 MB\n"
        "needed at most to train    1,234.6 MB\n"
        "available                 24,000.0 MB"
    )
    assert "available" not in str(RamEstimate("to train", {"pairs": 1}, None))


def test_an_estimate_goes_through_json() -> None:
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
        ("label_weights", True),
    ):
        assert estimate_ram(small_config(**{**settings, name: value}), data, workers=1).total > least, name
    without = replace(data, features=None)
    plain = estimate_ram(small_config(**settings), without, workers=1).total
    assert least > plain  # features beside the tower
    assert estimate_ram(small_config(**{**settings, "tower": "context+features"}), data, workers=1).total > plain


@pytest.mark.parametrize("preset", ["context", "vse-ens"])
def test_data_that_cannot_be_trained_on_are_left_to_the_trainer(preset: str) -> None:
    nothing = Annotations.from_pairs([])
    check_ram(configure(preset), nothing)
    check_ram(configure(preset, tower="features"), small_data())


def test_trainings_that_fit_or_cannot_be_judged_are_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_training_that_does_not_fit_is_refused(
    settings: dict[str, object], largest: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "available_memory", lambda: 1_000_000)
    with pytest.raises(InsufficientMemoryError) as caught:
        check_ram(small_config(**settings), small_data())
    message = str(caught.value)
    assert message.startswith("training needs at most ")
    assert f"for {largest}, but only 1 MB are available; {advice}" in message
    assert isinstance(caught.value, VseError | MemoryError)


def test_every_part_that_can_be_largest_has_advice() -> None:
    vectors = {"image vectors", "label vectors", "feature map", "copies of vectors", "drawing vectors"}
    config = small_config(loss="softmax", tower="context+features", label_pairs=9, validate=True, label_weights=True)
    named = estimate_ram(config, small_data(features=True), 1).parts.keys()
    assert named - vectors - {"rankings", "slice copies", "validation", module.KEPT} == module._ADVICE.keys()
