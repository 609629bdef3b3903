"""What is foretold, against what is really made."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.support.kernel_problems import random_annotations
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.model.embeddings import Embeddings
from vse_ens.presets import configure
from vse_ens.run.threads import Workers
from vse_ens.train import ram_estimate, tables
from vse_ens.train.auto_config import resolve_auto
from vse_ens.train.engines import make_engine
from vse_ens.train.engines.base import Engine
from vse_ens.train.ram_estimate import estimate_ram
from vse_ens.train.tables import initial_embeddings, padded
from vse_ens.train.trainer import Trainer

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
    return resolve_auto(configure(preset, **settings, dimensions=96, epochs=2), data), data


def sized(arrays: Any) -> int:
    """Bytes of everything in a group of arrays, however deep."""
    if isinstance(arrays, np.ndarray):
        return arrays.nbytes
    return sum(map(sized, arrays)) if isinstance(arrays, tuple | list) else 0


def engine_bytes(engine: Engine) -> dict[str, int]:
    """What an engine really holds beside the vectors and the pairs, under the names of the parts."""
    held = vars(engine)
    return {
        "rankings": sized([held["_sampling"], held["_rank_scratch"]]),
        "slice copies": sized(held.get("_copies", [])),
        "batch buffers": sized(
            [held.get(name, []) for name in ("_gradients", "_input_gradients", "_feature_gradients")]
        ),
        "features": sized(held["_features"]),
    }


@pytest.mark.parametrize("run", RUNS)
def test_vectors_and_buffers_are_foretold_to_the_byte_or_a_little_over(run: str) -> None:
    config, data = case(run)
    embeddings = padded(initial_embeddings(config, data))
    with Workers(2) as workers:
        engine = engine_bytes(make_engine(config, data, embeddings, workers))
    train = next(parts for moment, parts in RamModel(config, data, 2).moments() if moment == "to train")
    made = {
        "image vectors": embeddings.image_vectors.nbytes,
        "label vectors": sized([embeddings.label_vectors, embeddings.label_bias, embeddings.label_squares]),
        "input vectors": sized([embeddings.input_vectors, embeddings.input_squares, embeddings.label_pairs])
        + (sized(embeddings.label_pair_table[:2]) if embeddings.has_context else 0),
        "feature map": embeddings.feature_map.nbytes,
        **engine,
    }
    for name, size in made.items():
        # An engine's smallest arrays are not counted; making features takes more than holding them.
        loose = 4.0 if name == "features" else 1.5 if name == "batch buffers" else 1.05
        assert size - 20_000 <= train[name] <= loose * size + 20_000, (name, size, train[name])


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the first block of random numbers is all that counts in small data."""
    for module in (tables, ram_estimate):
        monkeypatch.setattr(module, "BLOCK_ROWS", 128)


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


@pytest.mark.parametrize("run", RUNS | SHARDED)
@pytest.mark.usefixtures("small_blocks")
def test_the_fullest_moment_of_a_training_is_foretold(run: str, request: pytest.FixtureRequest) -> None:
    config, data = case(run)
    needed = estimate_ram(config, data, 1)
    trained(config, data)  # kernels are compiled
    request.getfixturevalue("traced")
    before, _ = tracemalloc.get_traced_memory()
    trained(config, data)
    _, peak = tracemalloc.get_traced_memory()
    assert 0.95 * (peak - before) < needed.total < 1.4 * (peak - before), (run, peak - before, str(needed))


def test_the_c_library_keeps_a_little_of_what_was_freed() -> None:
    large, small = 40 << 20, 5 << 20
    model = RamModel(*case("vse-ens"), 1)
    moments = [("a", {"pairs": [small] * 6}), ("b", {"pairs": [large, small]}), ("c", {"pairs": [large, large]})]
    model._moments = lambda: iter(moments)  # type: ignore[method-assign]
    kept = [parts[ram_estimate.KEPT] for _, parts in model.moments()]
    # At most twice the largest of the arrays that come from the heap; large ones are given back.
    assert kept == [0, 2 * small, 2 * small]
