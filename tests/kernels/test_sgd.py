"""A slice against its slow twin: the same negatives, the same steps, the same counts."""

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
    make_problem,
    no_counts,
    random_annotations,
    random_state,
)
from tests.support.kernel_twins import SlowModel, SplitMix
from vse_ens.config import SAMPLERS, Config
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError
from vse_ens.kernels import losses, samplers
from vse_ens.kernels.arrays import DRAWS, GIVEN_UP, VIOLATIONS
from vse_ens.kernels.sgd import merge_slice_updates, sgd_kernel

IMAGES = 60 if JIT else 12


def allowed(sampler: str, loss: str) -> bool:
    try:
        Config(sampler=sampler, loss=loss)
    except ConfigError:
        return False
    return True


ONE_NEGATIVE = [(s, loss) for s in SAMPLERS for loss in ("hinge", "warp", "logistic") if allowed(s, loss)]


def train(problem: Problem, images: NDArray[np.int64], seed: int = 1, rate: float = 0.1, frozen: bool = False):
    """One slice by the kernel: its counts and its loss. With frozen labels, image i starts from state seed + i."""
    config, counts = problem.config, no_counts()
    kernel = sgd_kernel(
        DIMENSIONS,
        samplers.CODES[config.sampler],
        losses.CODES[config.loss],
        config.has_ids,
        config.has_features,
        frozen,
    )
    loss = kernel(
        problem.arrays,
        images,
        problem.sampling,
        problem.step(rate),
        problem.scratch(),
        seed + np.arange(len(problem.image_vectors), dtype=np.uint64) if frozen else random_state(seed),
        counts,
    )
    return counts, loss


def train_both(config: Config, data: Annotations | None = None, seed: int = 3, rate: float = 0.05):
    """One slice by the kernel and by its twin."""
    problem = make_problem(config, data or random_annotations(IMAGES, 20, 6))
    twin = SlowModel(problem, SplitMix(seed), problem.step(rate))
    images = np.random.default_rng(1).permutation(len(problem.pairs.indptr) - 1)
    twin.train_slice(images)
    return problem, twin, *train(problem, images, seed, rate)


def assert_same(problem, twin: SlowModel, counts, loss: float) -> None:
    assert counts.tolist() == twin.counts
    assert loss == pytest.approx(twin.loss, rel=1e-4)
    for ours, theirs in (
        (problem.image_vectors, twin.ids),
        (problem.tables.labels, twin.labels),
        (problem.tables.bias, twin.bias),
        (problem.tables.feature_map, twin.map),
    ):
        assert_allclose(ours, theirs, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(("sampler", "loss"), ONE_NEGATIVE)
def test_equals_the_slow_twin(sampler: str, loss: str) -> None:
    problem, twin, counts, value = train_both(Config(sampler=sampler, loss=loss, candidates=3))
    assert_same(problem, twin, counts, value)
    assert counts[DRAWS] == len(problem.pairs.indices)
    assert 0 < counts[VIOLATIONS] <= counts[DRAWS]


@pytest.mark.parametrize("rank_weight", ["harmonic", "mean", "top-n"])
def test_equals_the_slow_twin_for_every_rank_weight(rank_weight: str) -> None:
    assert_same(*train_both(Config(sampler="warp", loss="warp", rank_weight=rank_weight, top_n=3)))


@pytest.mark.parametrize("tower", ["features", "id+features"])
def test_equals_the_slow_twin_for_every_tower(tower: str) -> None:
    assert_same(*train_both(Config(sampler="uniform", loss="hinge", tower=tower)))


class FrozenTwin(SlowModel):
    """Trains the free vectors alone, each image on random numbers of its own."""

    def walk(self, images: NDArray[np.int64], seed: int) -> None:
        shrink = 1.0 - self.rate * self.regularization
        randoms = [SplitMix(seed + image) for image in range(len(self.ids))]
        for image in images:
            self.random = randoms[image]
            start, positives = self.vector(image), self.problem.positives(image)
            vector, weights = start.copy(), self.factor_weights(start)
            drawn = self.draw_ahead(image, start, weights)
            for place, p in enumerate(positives):
                n, tried = drawn[place] if drawn else self.draw(image, p, vector, weights)
                self.counts[DRAWS] += 1
                self.counts[GIVEN_UP] += n < 0
                if n < 0:
                    vector *= shrink
                    continue
                difference = self.scores(vector)[p] - self.scores(vector)[n]
                self.counts[VIOLATIONS] += bool(difference < self.margin)
                value, slope = self.loss_of(difference, tried)
                self.loss += value
                vector = shrink * vector + self.rate * slope * (self.labels[p] - self.labels[n])
            self.ids[image] += vector - start


@pytest.mark.parametrize(
    ("sampler", "loss", "tower"),
    [
        ("uniform", "logistic", "id"),
        ("uniform", "hinge", "id+features"),
        ("vse-ens", "hinge", "id"),
        ("warp", "warp", "id"),
    ],
)
def test_with_frozen_labels_equals_the_slow_twin(sampler: str, loss: str, tower: str) -> None:
    data = annotations([[0, 3, 7], [2], list(range(12)), [1, 5, 8, 9, 11]], 12)
    problem = make_problem(Config(sampler=sampler, loss=loss, tower=tower, candidates=3, regularization=0.1), data)
    before = [table.copy() for table in problem.tables]
    twin = FrozenTwin(problem, SplitMix(0), problem.step(0.05))
    images = np.array([0, 3, 2, 0, 0, 1, 3, 3])
    twin.walk(images, seed=5)
    assert_same(problem, twin, *train(problem, images, seed=5, rate=0.05, frozen=True))
    assert twin.counts[GIVEN_UP] >= 12, "image 2 has every label"
    assert all((table == old).all() for table, old in zip(problem.tables, before, strict=True))


def test_without_a_negative_there_is_decay_and_no_step() -> None:
    data = annotations([list(range(4)), [0, 1]], 4)
    config = Config(sampler="uniform", loss="hinge", regularization=0.5, bias_regularization=0.25)
    problem = make_problem(config, data)
    labels, bias, vectors = problem.tables.labels.copy(), problem.tables.bias.copy(), problem.image_vectors.copy()
    counts, _ = train(problem, np.array([0]))
    assert counts[DRAWS] == counts[GIVEN_UP] == 4
    assert_allclose(problem.image_vectors[0], vectors[0] * (1 - 0.1 * 0.5) ** 4, rtol=1e-6)
    assert_allclose(problem.tables.labels, labels * (1 - 0.1 * 0.5), rtol=1e-6)
    assert_allclose(problem.tables.bias, bias * (1 - 0.1 * 0.25), rtol=1e-6)


def test_an_image_with_hundreds_of_labels_and_one_with_all() -> None:
    data = annotations([list(range(300)), list(range(320)), [5]], 320)
    assert_same(*train_both(Config(sampler="uniform", loss="hinge"), data, rate=0.01))


@pytest.mark.skipif(not JIT, reason="many draws")
def test_the_logistic_loss_of_many_draws_does_not_overflow() -> None:
    data = random_annotations(600, 20, 6)
    _, twin, counts, loss = train_both(Config(sampler="uniform", loss="logistic"), data, rate=1e-4)
    assert counts[DRAWS] > 1_500
    assert loss == pytest.approx(twin.loss, rel=1e-4)


def test_where_the_margin_holds_there_is_still_decay() -> None:
    data = annotations([[0], [1]], 2)
    config = Config(sampler="uniform", loss="hinge", regularization=0.5, bias_regularization=0.25, margin=1e-3)
    problem = make_problem(config, data)
    problem.tables.bias[:] = [40.0, -40.0]
    before = [array.copy() for array in (problem.image_vectors, problem.tables.labels, problem.tables.bias)]
    counts, loss = train(problem, np.array([0]))
    assert loss == 0.0
    assert counts[VIOLATIONS] == 0
    assert_allclose(problem.image_vectors[0], before[0][0] * 0.95, rtol=1e-6)
    assert_allclose(problem.tables.labels, before[1] * 0.95, rtol=1e-6)
    assert_allclose(problem.tables.bias, before[2] * 0.975, rtol=1e-6)


def merged(base: list[float], changes: list[list[float]]) -> NDArray[np.float32]:
    """One row after slices changed it so."""
    table = np.array([base], np.float32)
    copies = table + np.array(changes, np.float32)[:, None, :]
    merge_slice_updates(table, copies, 0, 1)
    return table[0]


def test_merging_adds_changes_as_far_as_they_do_not_agree() -> None:
    rng = np.random.default_rng(2)
    table = rng.normal(size=(9, DIMENSIONS)).astype(np.float32)
    copies = (table + rng.normal(0.2, 1.0, size=(4, 9, DIMENSIONS))).astype(np.float32)
    changes = copies.astype(np.float64) - table
    total = changes.sum(axis=0)
    share = np.minimum(1.0, (changes**2).sum(axis=(0, 2)) / (total**2).sum(axis=1))
    assert 0 < np.count_nonzero(share < 1) < 9, "rows of both kinds"
    ours = table.copy()
    for first, last in ((0, 2), (2, 9)):
        merge_slice_updates(ours, copies, first, last)
    assert_allclose(ours, table + share[:, None] * total, rtol=1e-5, atol=1e-5)
    assert all((copy == ours).all() for copy in copies)


def test_merging_averages_equal_changes_and_adds_orthogonal_ones() -> None:
    assert_allclose(merged([1.0, 2.0], [[0.5, 1.0]] * 4), [1.5, 3.0])
    assert_allclose(merged([1.0, 2.0], [[3.0, 0.0], [0.0, 4.0]]), [4.0, 6.0])
    assert_allclose(merged([1.0, 2.0], [[3.0, 0.0], [-1.0, 0.0]]), [3.0, 2.0])
    assert_allclose(merged([1.0, 2.0], [[0.0, 0.0], [0.0, 0.0]]), [1.0, 2.0])


def test_merging_touches_only_its_rows() -> None:
    table, copies = np.zeros((5, 3), np.float32), np.ones((2, 5, 3), np.float32)
    copies[1] = 2.0
    merge_slice_updates(table, copies, 1, 3)
    assert not table[[0, 3, 4]].any()
    assert table[[1, 2]].all()
    assert (copies[:, [1, 2]] == table[[1, 2]]).all()
    assert (copies[0, [0, 3, 4]] == 1.0).all()
    assert (copies[1, [0, 3, 4]] == 2.0).all()


def test_a_slice_of_no_images_does_nothing() -> None:
    problem = make_problem(Config(sampler="uniform", loss="hinge"), random_annotations(5, 20, 3))
    before = problem.tables.labels.copy()
    counts, loss = train(problem, np.empty(0, np.int64))
    assert loss == 0.0
    assert not counts.any()
    assert (problem.tables.labels == before).all()
