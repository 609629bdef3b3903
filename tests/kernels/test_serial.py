"""The kernel of the serial engine against algorithm 1, its distribution, and the worked example of figure 2."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from tests.support.algorithm1 import Algorithm1, KernelRandom
from tests.support.drawing import assert_drawn_from, drawn_p_value
from tests.support.kernel_problems import DIMENSIONS, JIT, annotations, no_counts, random_annotations, random_state
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels import losses, samplers
from vse_ens.kernels.arrays import (
    DRAWS,
    GIVEN_UP,
    REJECTED,
    TRIES,
    VIOLATIONS,
    Csr,
    Features,
    Floats,
    SharedTables,
    Step,
    TrainingArrays,
)
from vse_ens.kernels.rank_table import RankScratch
from vse_ens.kernels.serial import (
    FACTOR,
    NEGATIVE,
    PAIR,
    RANK,
    TRACED,
    serial_kernel,
    sort_factors,
)
from vse_ens.kernels.sgd import SgdScratch
from vse_ens.train.sampling import alias_table, make_sampling, rank_probabilities, rank_weights

NO_FEATURES = Features(np.zeros(1, np.int64), *(np.zeros(0, kind) for kind in (np.int32, np.float32, np.float32)))
MANY = 100_000 if JIT else 1_500


class Model:
    """A model of given or random vectors, whose steps are made by the kernel."""

    def __init__(
        self,
        data: Annotations,
        images: Floats | None = None,
        labels: Floats | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        rng = np.random.default_rng(seed)
        given = {"sampler": "vse-ens", "loss": "hinge", "positives": "iid", "redraw_positives": False, **settings}
        self.config = Config(engine="serial", label_bias=False, **given)
        self.data = data
        shapes = (len(data.images), DIMENSIONS), (len(data.labels), DIMENSIONS)
        self.images, self.labels = (
            rng.normal(0, 0.5, shape).astype(np.float32) if vectors is None else vectors.astype(np.float32)
            for vectors, shape in zip((images, labels), shapes, strict=True)
        )
        self.width = self.images.shape[1]
        count = len(self.labels)
        self.tables = SharedTables(self.labels, np.zeros(count, np.float32), np.zeros((0, self.width), np.float32))
        self.sampling = make_sampling(self.config, data, self.width)
        self.state, self.counts = random_state(1), no_counts()
        self.refresh()

    def refresh(self) -> None:
        if self.config.sampler == "vse-ens":
            sort_factors(self.tables, self.sampling, np.arange(self.width), RankScratch.allocate(len(self.labels)))

    def run(self, steps: int, rate: float = 0.0, order: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Make steps; without a learning rate only draw. Returns the trace."""
        config, labels, trace = self.config, len(self.labels), np.full((steps, TRACED), -9, np.int64)
        step = Step(
            np.float32(rate),
            np.float32(config.regularization),
            np.float32(0),
            np.float32(0),
            np.float32(config.margin),
            rank_weights(labels, config.rank_weight, config.top_n),
        )
        parts = samplers.CODES[config.sampler], losses.CODES[config.loss]
        independent = config.positives == "iid"
        train = serial_kernel(self.width, *parts, independent, config.redraw_positives, config.warp_cap)
        image_of_pair = np.repeat(np.arange(len(self.images), dtype=np.int32), self.data.labels_per_image)
        self.loss = train(
            TrainingArrays(self.images, self.tables, NO_FEATURES, Csr(self.data.indptr, self.data.indices)),
            image_of_pair,
            self.sampling,
            SgdScratch.allocate(self.width, 0, labels),
            np.empty(0, np.int64) if order is None else order,
            steps,
            step,
            self.state,
            self.counts,
            trace,
        )
        return trace


def twin(model: Model) -> Algorithm1:
    return Algorithm1(model.config, model.data, model.images, model.labels, KernelRandom(1, model.sampling))


# --- exact sort ---


@pytest.mark.parametrize("labels", [2, 3, 300, 5_000 if JIT else 700])
def test_sort_is_exact_with_ties_by_label_number(labels: int) -> None:
    rng = np.random.default_rng(labels)
    columns = [
        rng.normal(size=labels),
        rng.integers(-2, 3, labels).astype(float),  # ties
        1.0 + rng.integers(0, 50, labels) * 2.0**-23,  # neighbors in float32
        np.where(rng.random(labels) < 0.5, 0.0, -0.0),
        np.append(1e6, rng.normal(size=labels - 1)),  # one outlier: a counting sort over steps sees no order below it
        rng.normal(size=labels) * 1e-42,  # subnormal
    ]
    table = np.column_stack(columns).astype(np.float32)
    model = Model(random_annotations(20, labels, 1), labels=table, images=np.zeros((20, table.shape[1])))
    for column, ranking in zip(table.T, model.sampling.rankings, strict=False):
        assert ranking.tolist() == np.argsort(-column, kind="stable").tolist()


def test_refresh_writes_rankings_and_standard_deviations() -> None:
    model = Model(random_annotations(20, 40, 4))
    assert_allclose(model.sampling.spread[:-1], model.labels.std(axis=0), rtol=1e-5)
    assert model.sampling.spread[-1] == 0.0, "no label bias"
    for f in range(DIMENSIONS):
        assert model.sampling.rankings[f].tolist() == np.argsort(-model.labels[:, f], kind="stable").tolist()


def test_rankings_of_nan_stay_as_they_were() -> None:
    model = Model(random_annotations(20, 40, 4))
    before = model.sampling.rankings.copy()
    model.labels[3, 2] = np.nan
    model.refresh()
    assert (model.sampling.rankings == before).all()


# --- step by step ---

CASES = [
    {"sampler": sampler, "loss": loss, "positives": positives, "redraw_positives": redraw}
    for (sampler, loss), positives, redraw in product(
        [("vse-ens", "hinge"), ("uniform", "logistic"), ("warp", "warp"), ("naive", "hinge")],
        ["iid", "shuffled"],
        [False, True],
    )
] + [
    {"sampler": "vse-ens", "loss": "logistic"},
    {"sampler": "vse-ens", "loss": "hinge", "rank_scale": 1e-9},
    {"sampler": "warp", "loss": "warp", "warp_cap": False, "redraw_positives": True},
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_same_steps_as_algorithm_1(case: dict[str, Any]) -> None:
    data = random_annotations(images=25, labels=12, most=5)
    model = Model(data, regularization=0.02, **case)
    slow = twin(model)
    steps = 28 if JIT else 20  # |A| ln |A| = 29.8: without a second refresh
    order = None if model.config.positives == "iid" else np.random.default_rng(3).permutation(data.pairs)[:steps]
    trace = model.run(steps, 0.1, order)
    slow.run(steps, 0.1, None if order is None else order.tolist())
    assert slow.refreshed_at == [1]
    assert [(*slow.pairs[pair], negative) for pair, negative in trace[:, [PAIR, NEGATIVE]].tolist()] == slow.drawn
    assert_allclose(model.images, slow.images, atol=2e-5)
    assert_allclose(model.labels, slow.labels, atol=2e-5)
    assert model.loss == pytest.approx(slow.loss, rel=1e-4)
    assert model.counts.tolist() == slow.counts.tolist()


# --- the distribution ---


def mixture(model: Model, image: int, spread: NDArray[np.float64], ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """p(a|i) = sum_f p(f|i) p(rank of a in f), from an exact argsort."""
    v = model.images[image].astype(np.float64)
    weights = np.abs(v) * spread
    found = np.zeros(len(model.labels))
    for f, weight in enumerate(weights / weights.sum()):
        best_first = np.argsort(-np.sign(v[f]) * model.labels[:, f], kind="stable")
        found[best_first] += weight * ranks
    return found


@pytest.mark.parametrize("labels", [12, 291])
def test_draws_from_the_mixture_over_exact_rankings(labels: int) -> None:
    rng = np.random.default_rng(labels)
    # Factors of unequal spread and with an outlier each, which hides the order of the others from coarse steps.
    vectors = rng.normal(0, 1, (labels, DIMENSIONS)) * np.geomspace(0.2, 2.0, DIMENSIONS)
    vectors[0] += 1e4 * vectors[0]
    model = Model(annotations([[1, 4, 5]], labels), labels=vectors, rank_scale=0.1)
    found = model.run(MANY)[:, NEGATIVE]
    spread, ranks = vectors.std(axis=0), rank_probabilities(labels, "exponential", 0.1)
    stated = mixture(model, 0, spread, ranks)
    assert_drawn_from(found, stated)
    expected_distance = 0.5 * np.sqrt(2 / np.pi) * np.sqrt(stated / len(found)).sum()
    observed = np.bincount(found, minlength=labels) / len(found)
    assert 0.5 * np.abs(observed - stated).sum() < 1.3 * expected_distance, "total variation"
    # The same test fails for the likely mistakes.
    if JIT:
        assert drawn_p_value(found, mixture(model, 0, spread**2, ranks)) < 1e-6, "variance"
        assert drawn_p_value(found, mixture(model, 0, spread, np.full(labels, 1 / labels))) < 1e-6, "uniform ranks"
        shallow = rank_probabilities(labels, "exponential", 0.09)
        assert drawn_p_value(found, mixture(model, 0, spread, shallow)) < 1e-6, "another lambda"


@pytest.mark.parametrize("scale", [1e-3, 1e-12, 5e-324])
@pytest.mark.parametrize("kind", ["exponential", "geometric", "linear"])
def test_small_lambda_draws_the_first_rank_only(scale: float, kind: str) -> None:
    model = Model(random_annotations(20, 20, 4), rank_scale=scale, rank_distribution=kind)
    assert (model.run(2_000 if JIT else 100)[:, RANK] == 0).all()


def test_lambda_has_no_floor() -> None:
    """Lambda |A| = 0.5: p(1) / p(0) = exp(-2), where the fast engine draws as if lambda |A| were 1."""
    model = Model(random_annotations(20, 20, 4), rank_scale=0.5 / 20)
    ranks = model.run(MANY)[:, RANK]
    stated = np.exp(-2.0 * np.arange(20))
    assert_drawn_from(ranks, stated / stated.sum())
    fast = rank_probabilities(20, "exponential", 0.5 / 20)
    assert fast[1] / fast[0] == pytest.approx(np.exp(-1))


def test_factors_are_drawn_from_the_vector_of_this_step() -> None:
    """One image whose vector turns during training: draws follow it although the rankings stay."""
    model = Model(annotations([[0]], 6), images=np.eye(1, 4) * 5.0, labels=np.tile(np.eye(4), (2, 1))[:6])
    assert set(model.run(50)[:, FACTOR]) == {0}
    model.images[0] = np.eye(4)[2]
    assert set(model.run(50)[:, FACTOR]) == {2}


def test_a_zero_vector_still_draws() -> None:
    model = Model(annotations([[0]], 6), images=np.zeros((1, 4)), labels=np.tile(np.eye(4), (2, 1))[:6])
    trace = model.run(50)
    assert set(trace[:, FACTOR]) == {0}
    assert np.isin(trace[:, NEGATIVE], np.arange(6)).all()


# --- figure 2 ---

# Factor 3 of the paper, counted from 1, ranks the ten labels, counted from 1: 7 4 10 1 5 9 2 8 3 6.
FIGURE_2 = [7, 4, 10, 1, 5, 9, 2, 8, 3, 6]


def figure_2(side: float, **settings: Any) -> Model:
    """Return 5 images, 10 labels and 5 factors; only the pair (1, 2) is known, both counted from 1."""
    labels = np.random.default_rng(2).normal(size=(10, 5))
    labels[np.array(FIGURE_2) - 1, 2] = np.linspace(3, -3, 10)
    images = np.zeros((5, 5))
    images[0, 2] = side
    return Model(annotations([[1], [], [], [], []], 10), images, labels, **settings)


@pytest.mark.parametrize(
    ("side", "position"),
    [(+1.0, 2), (-1.0, 9)],  # |A| - r + 1 = 9 by algorithm 1, line 17; the paper's text prints 8
)
def test_worked_example_of_figure_2(side: float, position: int) -> None:
    model = figure_2(side)
    threshold, alias = alias_table(np.eye(10)[2 - 1])  # r = 2
    model.sampling = model.sampling._replace(threshold=threshold, alias=alias)
    before_images, before = model.images.copy(), model.labels.copy()
    (row,) = model.run(1, rate=0.1)
    assert (row[PAIR], row[RANK] + 1, row[FACTOR] + 1) == (0, 2, 3)
    assert row[NEGATIVE] + 1 == FIGURE_2[position - 1]
    # The step of the hinge loss, with regularization, on v_1, v_2 and the negative, and on nothing else.
    n = FIGURE_2[position - 1] - 1
    violated = 1 + before_images[0] @ before[n] > before_images[0] @ before[1]
    assert violated
    shrink = 1 - 0.1 * 0.01
    assert_allclose(model.images[0], shrink * before_images[0] + 0.1 * (before[1] - before[n]), atol=1e-6)
    assert_allclose(model.labels[1], shrink * before[1] + 0.1 * before_images[0], atol=1e-6)
    assert_allclose(model.labels[n], shrink * before[n] - 0.1 * before_images[0], atol=1e-6)
    untouched = np.setdiff1d(np.arange(10), [1, n])
    assert (model.labels[untouched] == before[untouched]).all()


def test_figure_2_draws_ranks_and_factors_by_hand_computed_laws() -> None:
    """Factors with standard deviations 1, 2, 1, 1/2, 1 (times sqrt(8.25)); v_1 = (2, -1, 0, 4, -2).

    |v_1f| sigma_f is 2, 2, 0, 2, 2: factors 1, 2, 4 and 5 with a quarter each. By variance it would be 2, 4, 0, 1, 2.
    """
    permutations = [np.random.default_rng(f).permutation(10) for f in range(5)]
    labels = np.column_stack([scale * p for scale, p in zip([1, 2, 1, 0.5, 1], permutations, strict=True)])
    images = np.zeros((5, 5))
    images[0] = [2, -1, 0, 4, -2]
    model = Model(annotations([[1], [], [], [], []], 10), images, labels, rank_scale=0.2)
    trace = model.run(MANY)
    assert_drawn_from(trace[:, FACTOR], np.array([0.25, 0.25, 0.0, 0.25, 0.25]))
    # exp(-r / 2) for r = 1 .. 10
    law = np.exp(-np.arange(1, 11) / 2)
    assert_drawn_from(trace[:, RANK], law / law.sum())


# --- choices that the paper leaves open ---


def test_kept_positives_are_trained_as_negatives() -> None:
    data = annotations([[0, 1, 2, 3, 4, 5]], 8)
    kept, redrawn = Model(data, rank_scale=1.0), Model(data, rank_scale=1.0, redraw_positives=True)
    steps = 2_000 if JIT else 200
    drawn = kept.run(steps)[:, NEGATIVE]
    own = np.isin(drawn, range(6)).sum()
    assert kept.counts[[TRIES, REJECTED]].tolist() == [steps, own]
    assert 0.4 < own / steps < 0.95
    assert set(redrawn.run(steps)[:, NEGATIVE]) <= {6, 7, -1}
    assert redrawn.counts[TRIES] == redrawn.counts[REJECTED] + steps - redrawn.counts[GIVEN_UP]


def test_a_pair_that_draws_its_own_label_only_decays() -> None:
    labels = np.zeros((5, 4))
    labels[:, 0] = [5, 4, 3, 2, 1]
    model = Model(annotations([[0]], 5), np.eye(1, 4), labels, rank_scale=1e-9, regularization=0.5)
    assert model.run(1, rate=0.1)[0, NEGATIVE] == 0
    assert_allclose(model.images[0], 0.95 * np.eye(1, 4)[0])
    assert_allclose(model.labels[:, 0], [4.75, 4, 3, 2, 1])
    assert model.counts[[DRAWS, VIOLATIONS, REJECTED]].tolist() == [1, 1, 1]
    assert model.loss == pytest.approx(1.0)


def warp_model(scores: list[float], cap: bool) -> Model:
    """Return one image with label 0, which scores 10, among labels with these scores."""
    labels = np.zeros((1 + len(scores), 4))
    labels[:, 0] = [10.0, *scores]
    data = annotations([[0]], len(labels))
    return Model(data, np.eye(1, 4), labels, sampler="warp", loss="warp", redraw_positives=True, warp_cap=cap)


def test_capped_warp_gives_up_after_all_labels_but_one() -> None:
    model = warp_model([0.0] * 39 + [9.5], cap=True)  # one of 40 negatives violates the margin
    steps = 500 if JIT else 30
    negatives = model.run(steps)[:, NEGATIVE]
    missed = (39 / 40) ** 40
    assert (negatives == -1).mean() == pytest.approx(missed, abs=0.06 if JIT else 0.3)
    assert model.counts[GIVEN_UP] == (negatives == -1).sum()
    tries = model.counts[TRIES] - model.counts[REJECTED]
    assert tries <= 40 * steps


def test_uncapped_warp_finds_the_only_violation() -> None:
    model = warp_model([0.0] * 39 + [9.5], cap=False)
    steps = 500 if JIT else 30
    assert (model.run(steps)[:, NEGATIVE] == 40).all()
    tries = (model.counts[TRIES] - model.counts[REJECTED]) / steps
    assert tries == pytest.approx(40, rel=0.15 if JIT else 0.6), "the mean of a geometric distribution"


def test_uncapped_warp_ends_where_no_label_violates_the_margin() -> None:
    model = warp_model([0.0] * 40, cap=False)
    assert (model.run(10)[:, NEGATIVE] == -1).all()
    assert model.counts[GIVEN_UP] == 10
    assert model.counts[TRIES] - model.counts[REJECTED] == 400


def test_independent_pairs_are_drawn_uniformly() -> None:
    data = random_annotations(images=10, labels=12, most=5)
    pairs = Model(data).run(MANY)[:, PAIR]
    assert_drawn_from(pairs, np.full(data.pairs, 1 / data.pairs))


def test_ordered_pairs_come_as_given() -> None:
    data = random_annotations(images=10, labels=12, most=5)
    order = np.random.default_rng(0).permutation(data.pairs)
    assert Model(data, positives="shuffled").run(data.pairs, order=order)[:, PAIR].tolist() == order.tolist()
