"""What every loss promises: one draw moves every number by the learning rate times the slope of what is documented.

The slope is taken of the loss plus half the L2 of every vector and bias the draw touches, by central differences in
double precision; a feature map's step is scaled by the image's reach as well. In the context tower all labels of an
image are judged from one snapshot, and the slope is taken of the sum of their losses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from tests.support.context_problems import compute, make_context_problem
from tests.support.context_twin import SlowContext
from tests.support.kernel_problems import (
    DIMENSIONS,
    Problem,
    annotations,
    make_batch,
    make_problem,
    no_counts,
    random_state,
)
from vse_ens.config import LOSSES, TOWERS, Config
from vse_ens.kernels import losses, samplers
from vse_ens.kernels.arrays import REJECTED, TRIES
from vse_ens.kernels.sgd import sgd_kernel
from vse_ens.kernels.softmax import softmax_kernel
from vse_ens.kernels.two_phase import LabelGradients, apply_feature_gradients, apply_label_gradients

RATE, LABELS, POSITIVE, IMAGE = 0.1, 6, 2, 1
L2, BIAS_L2 = 0.3, 0.2
PLAIN_TOWERS = [tower for tower in TOWERS if "context" not in tower]
OWNED = [0, POSITIVE, 3, 5]  # the labels of the image in the context tower


@dataclass
class Numbers:
    """All that a draw may move, in double precision."""

    labels: NDArray[np.float64]
    bias: NDArray[np.float64]
    feature_map: NDArray[np.float64]
    ids: NDArray[np.float64]

    @classmethod
    def of(cls, problem: Problem) -> Numbers:
        return cls(*(array.astype(np.float64) for array in (*problem.tables, problem.image_vectors)))

    def vector(self, problem: Problem) -> NDArray[np.float64]:
        features, config = problem.features, problem.config
        vector = self.ids[IMAGE].copy() if config.has_ids else np.zeros(DIMENSIONS)
        if config.has_features:
            places = slice(features.indptr[IMAGE], features.indptr[IMAGE + 1])
            vector += features.values[places].astype(np.float64) @ self.feature_map[features.indices[places]]
        return vector


def slopes(function: Callable[[], float], numbers: NDArray[np.float64], step: float = 1e-6) -> NDArray[np.float64]:
    """The slope of a function in every number of an array, which is moved for it and put back."""
    found = np.zeros_like(numbers)
    for place in np.ndindex(numbers.shape):
        before = numbers[place]
        values = []
        for side in (-1, 1):
            numbers[place] = before + side * step
            values.append(function())
        numbers[place] = before
        found[place] = (values[1] - values[0]) / (2 * step)
    return found


class LossContract:
    """A loss passes by naming itself and writing its value down."""

    name: str
    sampler = "uniform"
    settings: ClassVar[dict[str, object]] = {}

    def value(self, scores: NDArray[np.float64], positive: int, negatives: list[int], tried: int) -> float:
        raise NotImplementedError

    def draw(self, problem: Problem, seed: int) -> tuple[list[int], int, float]:
        """One draw by the kernel: its negatives, how many labels were tried, and the loss it tells."""
        before, counts, config = problem.tables.bias.copy(), no_counts(), problem.config
        train = sgd_kernel(
            DIMENSIONS, samplers.CODES[config.sampler], losses.CODES[config.loss], config.has_ids, config.has_features
        )
        loss = train(
            problem.arrays,
            np.array([IMAGE]),
            problem.sampling,
            problem.step(RATE),
            problem.scratch(),
            random_state(seed),
            counts,
        )
        moved = np.flatnonzero(problem.tables.bias != before)
        return [a for a in moved.tolist() if a != POSITIVE], int(counts[TRIES] - counts[REJECTED]), loss

    @pytest.mark.parametrize("tower", PLAIN_TOWERS)
    @pytest.mark.parametrize("seed", [4, 5])
    def test_a_draw_goes_down_the_slope_of_the_loss(self, tower: str, seed: int) -> None:
        config = Config(
            sampler=self.sampler,
            loss=self.name,
            tower=tower,
            regularization=L2,
            bias_regularization=BIAS_L2,
            **self.settings,  # type: ignore[arg-type]
        )
        problem = make_problem(config, annotations([[0], [POSITIVE], [3]], LABELS), seed=3, scale=0.4)
        numbers = Numbers.of(problem)
        negatives, tried, told = self.draw(problem, seed)
        assert negatives
        assert POSITIVE not in negatives

        def value() -> float:
            scores = numbers.labels @ numbers.vector(problem) + numbers.bias
            return self.value(scores, POSITIVE, negatives, tried)

        def documented() -> float:
            touched = [POSITIVE, *negatives]
            squares = (numbers.vector(problem) ** 2).sum() + (numbers.labels[touched] ** 2).sum()
            return value() + L2 / 2 * squares + BIAS_L2 / 2 * (numbers.bias[touched] ** 2).sum()

        assert value() > 0
        assert told == pytest.approx(value(), rel=1e-5)
        step_scale = float(problem.features.step_scale[IMAGE])
        for name, after, scale in (
            ("labels", problem.tables.labels, 1.0),
            ("bias", problem.tables.bias, 1.0),
            ("ids", problem.image_vectors, 1.0),
            ("feature_map", problem.tables.feature_map, step_scale),
        ):
            before = getattr(numbers, name)
            expected = before - RATE * scale * slopes(documented, before)
            assert_allclose(after, expected, rtol=1e-5, atol=1e-6, err_msg=name)

    @pytest.mark.parametrize("seed", [4, 5])
    def test_a_context_visit_goes_down_the_slope_of_its_losses(self, seed: int) -> None:
        config = Config(
            sampler=self.sampler,
            loss=self.name,
            tower="context",
            label_pairs=99,
            regularization=0.0,
            **self.settings,  # type: ignore[arg-type]
        )
        data = annotations([[0], OWNED, [0, 3]], LABELS)
        problem = make_context_problem(config, data, seed=3, scale=0.4)
        # All labels violate the margin: warp's first try is the one it takes.
        problem.tables.bias[OWNED] -= 5.0
        slow = SlowContext(problem, problem.step(RATE))
        batch = compute(problem, [np.array([IMAGE])], [seed], RATE)
        changes, counts = batch.changes, batch.counts
        assert counts[TRIES] - counts[REJECTED] == batch.negatives

        def value() -> float:
            return sum(
                self.value(slow.scores(slow.built(IMAGE, without=p)), p, negatives, tried=1)
                for p, *negatives in changes.rows.tolist()
            )

        assert batch.loss == pytest.approx(value(), rel=1e-5)
        found = {name: np.zeros_like(slow.trained[name]) for name in ("labels", "bias")}
        for rows, row_slopes, vector in zip(changes.rows, changes.slopes, changes.vectors, strict=True):
            np.add.at(found["labels"], rows, row_slopes[:, None] * vector)
            np.add.at(found["bias"], rows, row_slopes)
        for name, pull in found.items():
            assert_allclose(pull, -slopes(value, slow.trained[name]), rtol=1e-4, atol=1e-6, err_msg=name)
        pull = -slopes(value, slow.inputs)
        batch.apply()
        # One step of AdaGrad a row: 1 / the root of the squares, this one among them.
        squares = slow.input_squares + (pull**2).mean(axis=1)
        assert_allclose(problem.context.input_squares, squares, rtol=1e-5)
        assert_allclose(
            problem.context.inputs, slow.inputs + RATE * pull / np.sqrt(squares)[:, None], rtol=1e-4, atol=1e-6
        )


class TestHinge(LossContract):
    name = "hinge"
    settings: ClassVar = {"margin": 2.5}  # so that the draws violate it

    def value(self, scores: NDArray[np.float64], positive: int, negatives: list[int], tried: int) -> float:
        (n,) = negatives
        return max(0.0, 2.5 - (scores[positive] - scores[n]))


class TestLogistic(LossContract):
    name = "logistic"

    def value(self, scores: NDArray[np.float64], positive: int, negatives: list[int], tried: int) -> float:
        (n,) = negatives
        return float(np.log1p(np.exp(-(scores[positive] - scores[n]))))


class WarpContract(LossContract):
    """L(floor((|A| - 1) / N)) times the hinge."""

    name = "warp"
    sampler = "warp"

    def rank_weight(self, rank: int) -> float:
        raise NotImplementedError

    def value(self, scores: NDArray[np.float64], positive: int, negatives: list[int], tried: int) -> float:
        (n,) = negatives
        return self.rank_weight((LABELS - 1) // tried) * max(0.0, 1.0 - (scores[positive] - scores[n]))


class TestWarpHarmonic(WarpContract):
    settings: ClassVar = {"rank_weight": "harmonic"}

    def rank_weight(self, rank: int) -> float:
        return sum(1 / j for j in range(1, rank + 1))


class TestWarpMean(WarpContract):
    settings: ClassVar = {"rank_weight": "mean"}

    def rank_weight(self, rank: int) -> float:
        return rank / (LABELS - 1)


class TestWarpTopN(WarpContract):
    settings: ClassVar = {"rank_weight": "top-n", "top_n": 3}

    def rank_weight(self, rank: int) -> float:
        return sum(1 / j for j in range(1, min(rank, 3) + 1))


class TestSoftmax(LossContract):
    name = "softmax"

    def value(self, scores: NDArray[np.float64], positive: int, negatives: list[int], tried: int) -> float:
        compared = scores[[positive, *negatives]]
        return float(np.log(np.exp(compared).sum()) - scores[positive])

    def draw(self, problem: Problem, seed: int) -> tuple[list[int], int, float]:
        config, step, count = problem.config, problem.step(RATE), 3
        compute = softmax_kernel(DIMENSIONS, samplers.UNIFORM, config.has_ids, config.has_features)
        of_tables = [[(0, LABELS)], [(0, len(problem.tables.feature_map))] if config.has_features else []]
        start = [array.copy() for array in (*problem.tables, problem.image_vectors)]
        while True:
            batch = make_batch(problem.pairs, [np.array([IMAGE])], [seed], of_tables)
            layout, cursor, (of_labels, of_features) = batch
            changes, moves = LabelGradients.allocate(1, count, DIMENSIONS), np.empty((1, DIMENSIONS), np.float32)
            assert compute(problem.arrays, changes, moves, problem.sampling, step, problem.scratch(), layout, cursor)
            negatives = changes.rows[0, 1:].tolist()
            if len(set(negatives)) == count:  # a label drawn twice decays twice, one step after the other
                break
            problem.image_vectors[:] = start[3]
            seed += 100
        selected = np.empty(count + 2, np.int32)
        assert apply_label_gradients(problem.tables, changes, step, selected, 1, of_labels, cursor)
        if config.has_features:
            assert apply_feature_gradients(
                problem.tables.feature_map, problem.features, moves, layout.images, of_features, cursor
            )
        return negatives, 0, float(layout.losses[0])


def test_every_loss_is_under_contract() -> None:
    contracts = {*LossContract.__subclasses__(), *WarpContract.__subclasses__()}
    assert {contract.name for contract in contracts} == set(LOSSES)
