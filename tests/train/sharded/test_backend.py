"""Training by shards: whose images, which bytes, how changes are combined, and how little it costs."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.training_runs import bytes_of, counted, finished, small_config, small_data, whole_preset
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.partition.parts import numbered, shard_images
from vse_ens.errors import ConfigError
from vse_ens.evaluate.metrics import per_image
from vse_ens.evaluate.rank import FunctionScorer, evaluate
from vse_ens.presets import configure
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers
from vse_ens.train.checkpoint import Checkpoints
from vse_ens.train.sharded.merge import (
    apply_delta,
    copy_piece,
    delta_between,
    exchanges_per_epoch,
    join_deltas,
    merge_deltas,
    split_tables,
)
from vse_ens.train.trainer import Trainer

pytestmark = pytest.mark.usefixtures("short_rounds")

CONFIGS = {
    "id": small_config(sampler="vse-ens", loss="hinge", shards=3, exchanges=2),
    "features": small_config(sampler="uniform", loss="softmax", tower="id+features", shards=3, exchanges=2),
    "validated": small_config(sampler="vse-ens", loss="logistic", shards=2, validate=True, refit=True),
    "whole preset": whole_preset(shards=3, exchanges=2),
}


def data_for(config: Config) -> Annotations:
    return small_data(features=config.has_features)


def test_every_image_is_in_one_shard_and_neighbors_are_apart() -> None:
    parts = [shard_images(11, shard, 4) for shard in range(4)]
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(11))
    assert {len(part) for part in parts} == {2, 3}
    assert all(np.diff(part).min() == 4 for part in parts)


def test_a_shard_has_the_labels_of_its_images() -> None:
    data = small_data()
    own = shard_images(len(data.images), 1, 3)
    part = numbered(data.rows(own), len(data.labels))
    assert len(part.labels) == len(data.labels)
    assert [part.label_numbers(n).tolist() for n in range(len(own))] == [data.label_numbers(i).tolist() for i in own]


# --- how changes are combined ---


def combined(before: np.ndarray, *after: np.ndarray) -> np.ndarray:
    tables = {"label_vectors": before.astype(np.float32)}
    found = [delta_between(tables, {"label_vectors": one.astype(np.float32)}) for one in after]
    merged = found[0]
    for one in found[1:]:
        merged = merge_deltas(merged, one)
    moved = {"label_vectors": tables["label_vectors"].copy()}
    apply_delta(moved, merged)
    return moved["label_vectors"]


def test_equal_changes_are_averaged_and_orthogonal_ones_added() -> None:
    before = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    one = np.array([[2.0, 1.0], [3.0, 1.0], [1.0, 1.0]])
    other = np.array([[2.0, 1.0], [1.0, 5.0], [1.0, 1.0]])
    assert combined(before, one, other).tolist() == [[2.0, 1.0], [3.0, 5.0], [1.0, 1.0]]


def test_a_row_of_one_shard_moves_as_on_one_machine() -> None:
    before, after = np.zeros((4, 3)), np.zeros((4, 3))
    after[2] = [1.0, -2.0, 3.0]
    assert np.array_equal(combined(before, before, after, before), after)


def test_only_changed_rows_are_sent() -> None:
    before = {"label_bias": np.zeros(5, np.float32)}
    after = {"label_bias": np.array([0, 1, 0, 0, 2], np.float32)}
    changes = delta_between(before, after)
    assert changes["label_bias.rows"].tolist() == [1, 4]
    assert changes["label_bias.sums"].tolist() == [[1.0], [2.0]]


def test_groups_merge_as_their_members_do() -> None:
    before = np.zeros((6, 2))
    rng = np.random.default_rng(0)
    parts = [np.where(rng.random((6, 1)) < 0.5, rng.integers(1, 9, (6, 2)), 0) for _ in range(4)]
    tables = {"x": before.astype(np.float32)}
    a, b, c, d = (delta_between(tables, {"x": part.astype(np.float32)}) for part in parts)
    left, right = (
        merge_deltas(merge_deltas(merge_deltas(a, b), c), d),
        merge_deltas(merge_deltas(a, b), merge_deltas(c, d)),
    )
    assert {name: array.tolist() for name, array in left.items()} == {n: array.tolist() for n, array in right.items()}


# --- the bytes ---


@pytest.mark.parametrize("kind", CONFIGS)
def test_the_bytes_do_not_depend_on_workers(kind: str) -> None:
    config = CONFIGS[kind]
    one, three = (finished(config, data_for(config), workers) for workers in (1, 3))
    assert bytes_of(one.model) == bytes_of(three.model)
    assert counted(one.history) == counted(three.history)
    assert all(report.draws == one.history[0].draws for report in one.history if report.validation)


def test_another_number_of_shards_is_another_model() -> None:
    models = [bytes_of(finished(small_config(shards=shards), small_data()).model) for shards in (1, 2, 3)]
    assert models[0] != models[1] != models[2]


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_run_stopped_after_any_round_goes_on_to_the_same_bytes(kind: str, tmp_path: Path) -> None:
    config, data = CONFIGS[kind], data_for(CONFIGS[kind])
    whole = finished(config, data)
    rounds = sum(1 for _ in Trainer(config, data, 1).rounds())
    for stop in range(1, rounds, 3):
        trainer, checkpoints = Trainer(config, data, 1), Checkpoints(tmp_path / "run", data)
        for number, _ in enumerate(trainer.rounds(), 1):
            if number == stop:
                break
        checkpoints.write(trainer)
        resumed = Trainer(config, data, 2)
        assert checkpoints.resume(resumed)
        for _ in resumed.rounds():
            pass
        assert bytes_of(resumed.model) == bytes_of(whole.model)


def test_a_stopped_model_has_the_vectors_of_all_shards() -> None:
    config, data = CONFIGS["id"], small_data()
    start = Trainer(config, data, 1).embeddings.image_vectors
    trainer = Trainer(config, data, 1)
    for _ in trainer.epochs():
        break
    assert (trainer.embeddings.image_vectors != start).any(axis=1)[data.labels_per_image > 0].all()


def test_more_shards_than_images_are_refused() -> None:
    with pytest.raises(ConfigError, match="shards must be at most the number of images, 40; got 41"):
        finished(small_config(shards=41), small_data())


def test_a_pool_is_for_models_of_several_shards() -> None:
    with Workers(1) as workers, pytest.raises(ConfigError, match="shards must be at least 2 on a cluster"):
        Trainer(small_config(), small_data(), 1, LocalPool(workers))


# --- what it costs ---


def recall(config: Config, data: Annotations, held_out: Annotations) -> float:
    model = finished(config, data, 2).model
    scorer = FunctionScorer(data.images, data.labels, lambda images: model.scores(images, data))
    return float(per_image(evaluate(scorer, data, held_out))["recall@10"].mean())


SETTINGS: dict[str, dict[str, Any]] = {
    "context": {"dimensions": 32, "epochs": 8},
    "vse-ens": {"dimensions": 32, "epochs": 40},
}


@pytest.mark.parametrize("preset", SETTINGS)
def test_four_shards_find_as_much_as_one_machine(preset: str) -> None:
    train, test = scenes(2_000, 120).leave_one_out(seed=0)
    alone, shards = (
        recall(configure(preset, validate=False, shards=shards, **SETTINGS[preset]), train, test) for shards in (1, 4)
    )
    assert 0.95 * alone < shards < 1.05 * alone


def test_exchanges_follow_from_the_data_unless_set() -> None:
    quick, slow = configure("vse-ens", shards=4), configure("context", shards=4)
    assert exchanges_per_epoch(quick.override(exchanges=7), 100, 1_000, epoch=9) == 7
    assert [exchanges_per_epoch(quick, 1_000, 10**6, epoch) for epoch in (0, 4, 5, 99)] == [8, 8, 1, 1]
    assert [exchanges_per_epoch(quick.override(shards=shards), 1_000, 10**6, 9) for shards in (2, 8, 16, 99)] == [
        1,
        2,
        4,
        4,
    ]
    assert [exchanges_per_epoch(slow, 1_000, pairs, epoch=9) for pairs in (1_000, 28_000, 10**6)] == [1, 4, 8]


@pytest.mark.parametrize("pieces", [1, 2, 3, 7])
def test_pieces_are_merged_to_the_bytes_of_the_whole(pieces: int) -> None:
    rng = np.random.default_rng(5)
    tables = {name: rng.normal(size=shape).astype(np.float32) for name, shape in {"x": (10, 4), "y": (5,)}.items()}
    shards = []
    for _ in range(3):
        after = {name: table.copy() for name, table in tables.items()}
        for table in after.values():
            table[rng.integers(0, len(table), 4)] += 1.0
        shards.append(after)
    cut = split_tables(tables, pieces)
    copy = {name: np.zeros_like(table) for name, table in tables.items()}
    for piece in cut:
        copy_piece(copy, piece)
    assert all(np.array_equal(copy[name], table) for name, table in tables.items())

    whole = reduce(merge_deltas, [delta_between(tables, after) for after in shards])
    apart = [reduce(merge_deltas, [delta_between(piece, after) for after in shards]) for piece in cut]
    joined = join_deltas(apart)
    assert {name: array.tobytes() for name, array in joined.items()} == {
        name: array.tobytes() for name, array in whole.items()
    }
