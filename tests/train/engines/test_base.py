"""The same bytes whatever the number of workers, for all that can be trained; and buffers that are large enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.kernel_problems import annotations
from tests.support.training_runs import allowed_pairs, bytes_of, counted, finished, small_config, small_data
from vse_ens.config import TOWERS, Config
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError, DataError
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.engines import RoundStats, make_engine
from vse_ens.train.schedule import EpochPlan, Schedule
from vse_ens.train.tables import initial_embeddings
from vse_ens.train.trainer import Trainer

TOWER_RUNS = [(tower, loss, 12 * ("context" in tower)) for tower in TOWERS for loss in ("hinge", "softmax")]


@pytest.mark.usefixtures("short_rounds")
@pytest.mark.parametrize(("sampler", "loss"), allowed_pairs())
def test_workers_do_not_change_the_model(sampler: str, loss: str) -> None:
    config, data = small_config(sampler=sampler, loss=loss), small_data()
    one, two, three = (finished(config, data, workers) for workers in (1, 2, 3))
    assert bytes_of(one.embeddings) == bytes_of(two.embeddings) == bytes_of(three.embeddings)
    assert counted(one.history) == counted(two.history) == counted(three.history)
    assert one.history[0].draws == data.pairs
    assert all(np.isfinite(array).all() for array in one.embeddings.arrays().values())


@pytest.mark.unhurried
@pytest.mark.usefixtures("short_rounds")
@pytest.mark.parametrize(("tower", "loss", "pairs"), [*TOWER_RUNS, ("context+id", "hinge", 0)])
def test_workers_do_not_change_the_model_of_any_tower(tower: str, loss: str, pairs: int) -> None:
    config = small_config(sampler="uniform", loss=loss, tower=tower, label_pairs=pairs)
    data = small_data(features=True)
    one, two, three = (bytes_of(finished(config, data, workers).embeddings) for workers in (1, 2, 3))
    assert one == two == three


def test_the_seed_and_the_number_of_slices_do() -> None:
    runs = [{}, {"seed": 1}, {"slices": 2}, {"learning_rate": 0.04}]
    models = [bytes_of(finished(small_config(sampler="uniform", **run), small_data()).embeddings) for run in runs]
    assert len({model["label_vectors"] for model in models}) == len(runs)


def test_row_order_does_not_change_the_model() -> None:
    pairs = [(f"i{i}", f"l{(i * j + j) % 17}") for i in range(30) for j in range(1, 5)]
    shuffled = [pairs[n] for n in np.random.default_rng(3).permutation(len(pairs))]
    ours, theirs = (
        bytes_of(finished(small_config(sampler="uniform"), Annotations.from_pairs(order)).embeddings)
        for order in (pairs, shuffled)
    )
    assert ours == theirs


@pytest.mark.parametrize(
    ("sampler", "loss"),
    [("uniform", "warp"), ("vse-ens", "warp"), ("dns", "warp"), ("warp", "softmax"), ("naive", "softmax")],
)
def test_pairs_that_make_no_sense_are_told(sampler: str, loss: str) -> None:
    with pytest.raises(ConfigError, match=f"loss {loss} .*sampler {sampler}"):
        Config(sampler=sampler, loss=loss)


def test_training_learns() -> None:
    data = annotations([[g * 5 + a for a in range(5) if a != i % 5] for g in range(4) for i in range(20)], 20)
    trainer = finished(small_config(sampler="uniform", loss="logistic", epochs=30, learning_rate=0.1), data)
    assert trainer.history[-1].loss < 0.5 * trainer.history[0].loss
    scores = trainer.embeddings.scores(trainer.embeddings.vectors(np.arange(80)))
    scores[np.repeat(np.arange(80), 4), data.indices] = -np.inf
    # The label an image lacks of its group is the best of all others.
    assert (scores.argmax(axis=1) == np.repeat(np.arange(4), 20) * 5 + np.tile(np.arange(20) % 5, 4)).mean() > 0.9


def test_a_tower_of_features_needs_them() -> None:
    with pytest.raises(ConfigError, match="tower features needs image features: --features FILE"):
        Trainer(small_config(tower="features"), small_data()).prepare()


def test_nothing_to_learn_from_is_told() -> None:
    with pytest.raises(DataError, match="no pair"):
        Trainer(small_config(), annotations([[], []], 3))
    with pytest.raises(DataError, match="at least two labels, got 1"):
        Trainer(small_config(), annotations([[0], [0]], 1))


def test_draws_without_a_negative_are_given_up_and_counted() -> None:
    trainer = finished(small_config(sampler="uniform"), annotations([[0, 1, 2]] * 4, 3))
    assert [report.given_up for report in trainer.history] == [12, 12]


degrees = st.lists(st.integers(0, 12), min_size=1, max_size=40).filter(sum)


@given(degrees, st.integers(0, 300), st.integers(1, 70), st.integers(1, 60))
def test_no_batch_is_larger_than_its_buffers(few: list[int], huge: int, batch: int, round_draws: int) -> None:
    counts = [*few, huge]
    data = annotations([list(range(count)) for count in counts], max(*counts, 2))
    config = small_config(sampler="uniform", loss="softmax", batch=batch, tower="id+features")
    data = data.with_features(np.ones((len(counts), 1), np.float32))
    with Workers(1) as workers:
        kernels = make_engine(config, data, initial_embeddings(config, data), workers).kernels
    plan = EpochPlan.of(data, Schedule(round_draws, 1, batch), Streams(0))
    for number in range(plan.rounds):
        for edges in plan.batches(number, batch):
            images = plan.images[edges[0] : edges[-1]]
            assert data.labels_per_image[images].sum() <= len(kernels.gradients.rows)
            assert len(images) <= len(kernels.vector_changes)


def test_work_adds_up() -> None:
    work = RoundStats(np.arange(5), 1.0, 2.0, 0.5)
    work.add(RoundStats(np.ones(5, np.int64), 0.25, 1.0, 0.25))
    assert work.counts.tolist() == [1, 2, 3, 4, 5]
    assert (work.loss, work.seconds, work.refresh_seconds) == (1.25, 3.0, 0.75)
