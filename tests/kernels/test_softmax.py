"""A softmax batch against its slow twin, and the second phase on its own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from tests.support.kernel_problems import (
    DIMENSIONS,
    JIT,
    Problem,
    annotations,
    make_batch,
    make_problem,
    random_annotations,
)
from tests.support.kernel_twins import SlowModel, SplitMix
from vse_ens.config import Config
from vse_ens.kernels import samplers
from vse_ens.kernels.arrays import DRAWS, GIVEN_UP, VIOLATIONS
from vse_ens.kernels.softmax import softmax_kernel
from vse_ens.kernels.two_phase import (
    FEATURE_MAP,
    LABELS,
    LabelGradients,
    apply_feature_gradients,
    apply_label_gradients,
)

IMAGES = 40 if JIT else 10
NEGATIVES = 5


def train(problem: Problem, chunks: list[NDArray[np.int64]], states: list[int], rate: float = 0.05):
    """Both phases by the kernels, the second in three uneven parts: its counts, its loss and the changes."""
    config, step, labels = problem.config, problem.step(rate), problem.labels
    of_labels = [(0, 1), (1, labels - 2), (labels - 2, labels)]
    of_features = [(0, 4), (4, len(problem.tables.feature_map))] if config.has_features else []
    layout, cursor, ranges = make_batch(problem.pairs, chunks, states, [of_labels, of_features])
    draws = int(layout.first_draws[-1])
    changes = LabelGradients.allocate(draws, NEGATIVES, DIMENSIONS)
    moves = np.empty((len(layout.images), DIMENSIONS), np.float32)
    compute = softmax_kernel(DIMENSIONS, samplers.CODES[config.sampler], config.has_ids, config.has_features)
    assert compute(problem.arrays, changes, moves, problem.sampling, step, problem.scratch(), layout, cursor)
    selected = np.empty(changes.rows.size + 1, np.int32)
    assert apply_label_gradients(problem.tables, changes, step, selected, draws, ranges[LABELS], cursor)
    if config.has_features:
        assert apply_feature_gradients(
            problem.tables.feature_map, problem.features, moves, layout.images, ranges[FEATURE_MAP], cursor
        )
    return layout.counts.sum(axis=0), float(layout.losses.sum()), changes


def train_both(config: Config, data=None):
    problem = make_problem(config, data or random_annotations(IMAGES, 20, 6))
    step = problem.step()
    chunks, states = np.array_split(np.random.default_rng(1).permutation(len(problem.pairs.indptr) - 1), 3), [7, 8, 9]
    twin = SlowModel(problem, SplitMix(0), step)
    twin.train_batch(chunks, states, NEGATIVES)
    counts, loss, _ = train(problem, chunks, states)
    assert counts.tolist() == twin.counts
    assert loss == pytest.approx(twin.loss, rel=1e-4)
    for ours, theirs in (
        (problem.image_vectors, twin.ids),
        (problem.tables.labels, twin.labels),
        (problem.tables.bias, twin.bias),
        (problem.tables.feature_map, twin.map),
    ):
        assert_allclose(ours, theirs, rtol=1e-4, atol=2e-5)
    return counts


@pytest.mark.parametrize("sampler", ["uniform", "popularity", "vse-ens", "dns"])
def test_equals_the_slow_twin(sampler: str) -> None:
    counts = train_both(Config(sampler=sampler, loss="softmax", candidates=3))
    assert 0 < counts[VIOLATIONS] <= counts[DRAWS]


@pytest.mark.parametrize("tower", ["features", "id+features"])
def test_equals_the_slow_twin_for_every_tower(tower: str) -> None:
    train_both(Config(sampler="uniform", loss="softmax", tower=tower))


def test_images_with_all_labels_or_all_but_one() -> None:
    counts = train_both(Config(sampler="uniform", loss="softmax"), annotations([[0, 1, 2, 3], [0, 1, 2], [3]], 4))
    assert counts[GIVEN_UP] == 4


def test_no_negative_no_step() -> None:
    config = Config(sampler="uniform", loss="softmax", regularization=0.5, bias_regularization=0.25)
    problem = make_problem(config, annotations([[0, 1, 2, 3]], 4))
    before = [array.copy() for array in (problem.image_vectors, problem.tables.labels, problem.tables.bias)]
    counts, loss, changes = train(problem, [np.array([0])], [1], rate=0.1)
    assert counts[DRAWS] == counts[GIVEN_UP] == 4
    assert loss == 0.0
    assert (changes.rows[:, 1:] == -1).all()
    assert_allclose(problem.image_vectors, before[0] * 0.95**4, rtol=1e-6)
    assert_allclose(problem.tables.labels, before[1] * 0.95, rtol=1e-6)
    assert_allclose(problem.tables.bias, before[2] * 0.975, rtol=1e-6)


def test_never_compares_with_a_label_the_image_has() -> None:
    problem = make_problem(Config(sampler="vse-ens", loss="softmax"), random_annotations(IMAGES, 20, 6))
    images = np.arange(IMAGES)
    _, _, changes = train(problem, [images], [5])
    owners = np.repeat(images, np.diff(problem.pairs.indptr))
    for image, (positive, *negatives) in zip(owners, changes.rows, strict=True):
        positives = problem.positives(image)
        assert positive in positives
        assert not np.isin(negatives, positives).any()


def test_slopes_of_a_draw_add_up_to_nothing() -> None:
    problem = make_problem(Config(sampler="uniform", loss="softmax"), random_annotations(IMAGES, 20, 6))
    _, _, changes = train(problem, [np.arange(IMAGES)], [5])
    assert_allclose(changes.slopes.sum(axis=1), 0.0, atol=1e-6)
    assert (changes.slopes[:, 0] > 0).all()
    assert (changes.slopes[:, 1:] < 0).all()


def test_scores_too_large_for_the_exponential_do_no_harm() -> None:
    problem = make_problem(Config(sampler="uniform", loss="softmax"), random_annotations(IMAGES, 20, 6), scale=30.0)
    _, loss, _ = train(problem, [np.arange(IMAGES)], [5], rate=1e-4)
    assert np.isfinite(loss)
    assert all(np.isfinite(table).all() for table in problem.tables)
