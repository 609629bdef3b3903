"""What every sampler promises: its stated distribution, no label the image has, an end to every search."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.context_problems import compute, make_context_problem
from tests.support.drawing import assert_drawn_from, draw, drawn_p_value
from tests.support.kernel_problems import JIT, Problem, annotations, make_problem
from tests.support.stated_distributions import best_of, one_look, without_owned
from vse_ens.config import SAMPLERS, Config
from vse_ens.kernels.arrays import DRAWS, GIVEN_UP, REJECTED, TRIES

LABELS = 12
SOME, ALL_BUT_ONE, ALL = range(3)
OWNED = [[1, 4, 5], [a for a in range(LABELS) if a != 7], list(range(LABELS)), [0, 7], [0, 1, 2, 7], [3, 7, 8, 9]]
MANY, VOCABULARY = 300, 400


class SamplerContract:
    """A sampler passes by naming itself, and by saying what becomes of the labels it looks at."""

    name: str
    settings: ClassVar[dict[str, Any]] = {}

    def problem(self) -> Problem:
        return make_problem(Config(sampler=self.name, rank_scale=0.4, **self.settings), annotations(OWNED, LABELS))

    def chosen(self, problem: Problem, image: int, looked_at: NDArray[np.float64]) -> NDArray[np.float64]:
        """What is returned, where labels the image does not have are looked at with these probabilities."""
        return looked_at

    def test_draws_from_its_stated_distribution(self) -> None:
        problem = self.problem()
        stated = self.chosen(problem, SOME, without_owned(one_look(problem, SOME), problem.positives(SOME)))
        found = draw(problem, SOME).labels
        assert_drawn_from(found, stated)
        # And the test would notice a difference of a few hundredths.
        free = np.zeros(LABELS)
        free[problem.free(SOME)] = 1.0 / len(problem.free(SOME))
        tilted = 0.85 * stated + 0.15 * free * np.linspace(0.5, 1.5, LABELS)
        assert drawn_p_value(found, tilted / tilted.sum()) < 1e-3 or not JIT

    def test_never_returns_a_label_the_image_has(self) -> None:
        problem = self.problem()
        for image in (SOME, 3, 4, 5):
            found = draw(problem, image, draws=2_000 if JIT else 200).labels
            assert np.isin(found, problem.free(image)).all()

    def test_finds_the_only_label_an_image_lacks(self) -> None:
        found = draw(self.problem(), ALL_BUT_ONE, draws=200 if JIT else 20).labels
        assert set(found) <= {7, -1}
        assert 7 in found

    def test_gives_up_on_an_image_with_every_label(self) -> None:
        problem = self.problem()
        drawn = draw(problem, ALL, draws=10)
        assert (drawn.labels == -1).all()
        assert drawn.counts[TRIES] == drawn.counts[REJECTED] == 10 * problem.sampling.max_redraws

    def test_redraws_are_bounded_and_given_up_at_the_right_odds(self) -> None:
        problem = self.problem()
        problem.sampling = problem.sampling._replace(max_redraws=3, candidates=1)
        drawn = draw(problem, 4)
        looked_at = one_look(problem, 4)
        gives_up = looked_at[problem.positives(4)].sum() ** 3
        kept = without_owned(looked_at, problem.positives(4)) * (1.0 - gives_up)
        assert_drawn_from(np.where(drawn.labels < 0, LABELS, drawn.labels), np.append(kept, gives_up))
        assert drawn.counts[TRIES] <= 3 * len(drawn.labels)
        assert drawn.counts[TRIES] - drawn.counts[REJECTED] == np.count_nonzero(drawn.labels >= 0)

    def test_an_image_with_hundreds_of_labels(self) -> None:
        positives = np.sort(np.random.default_rng(5).permutation(VOCABULARY)[:MANY]).tolist()
        data = annotations([positives, [3], list(range(VOCABULARY))], VOCABULARY)
        problem = make_problem(Config(sampler=self.name, rank_scale=0.4, **self.settings), data)
        found = draw(problem, 0, draws=2_000 if JIT else 30).labels
        assert np.isin(found, problem.free(0)).all()
        assert len(set(found)) > 15

    def test_the_context_tower_draws_no_known_label_and_gives_up(self) -> None:
        loss = {"warp": "warp", "naive": "hinge"}.get(self.name, "softmax")
        config = Config(sampler=self.name, loss=loss, tower="context", label_pairs=60, rank_scale=0.4, **self.settings)
        problem = make_context_problem(config, annotations(OWNED, LABELS))
        for image in (SOME, ALL_BUT_ONE, ALL, 3, 4, 5):
            batch = compute(problem, [np.array([image])], [image + 1])
            positives, negatives = batch.changes.rows[:, 0], batch.changes.rows[:, 1:]
            assert positives.tolist() == problem.positives(image).tolist()
            assert np.isin(negatives, [*problem.free(image), -1]).all()
            assert batch.counts[DRAWS] == len(positives)
            assert batch.counts[GIVEN_UP] == np.count_nonzero((negatives == -1).all(axis=1))
            if image == ALL:
                assert batch.counts[GIVEN_UP] == LABELS
                assert batch.counts[TRIES] == batch.counts[REJECTED] == batch.negatives * problem.sampling.max_redraws
            else:
                assert (negatives >= 0).any()

    def test_the_same_state_draws_the_same(self) -> None:
        problem = self.problem()
        first, again, other = (draw(problem, SOME, draws=100, seed=seed).labels for seed in (3, 3, 4))
        assert (first == again).all()
        assert (first != other).any()


class TestUniform(SamplerContract):
    name = "uniform"


class TestPopularity(SamplerContract):
    name = "popularity"


class TestPopularityToAPower(SamplerContract):
    name = "popularity"
    settings: ClassVar = {"popularity_power": 0.5}


class TestDns(SamplerContract):
    name = "dns"
    settings: ClassVar = {"candidates": 3}

    def chosen(self, problem: Problem, image: int, looked_at: NDArray[np.float64]) -> NDArray[np.float64]:
        return best_of(looked_at, problem.scores(image), 3)


class TestWarp(SamplerContract):
    """With a positive that all labels violate; which ones do is a matter of `kernels/test_samplers.py`."""

    name = "warp"


class TestVseEns(SamplerContract):
    name = "vse-ens"


class TestVseEnsGeometric(SamplerContract):
    name = "vse-ens"
    settings: ClassVar = {"rank_distribution": "geometric"}


class TestVseEnsLinear(SamplerContract):
    name = "vse-ens"
    settings: ClassVar = {"rank_distribution": "linear"}


class TestNaive(SamplerContract):
    name = "naive"


def test_every_sampler_is_under_contract() -> None:
    assert {contract.name for contract in SamplerContract.__subclasses__()} == set(SAMPLERS)


@pytest.mark.parametrize("seed", range(3))
def test_the_chi_square_test_rejects_wrong_samples_only(seed: int) -> None:
    probabilities = np.array([0.5, 0.3, 0.15, 0.05, 0.0])
    found = np.random.default_rng(seed).choice(5, 2_000, p=probabilities)
    assert drawn_p_value(found, probabilities) > 1e-3
    assert drawn_p_value(found, np.array([0.4, 0.4, 0.15, 0.05, 0.0])) < 1e-6
    with pytest.raises(AssertionError, match="probability is 0"):
        drawn_p_value(found, np.array([0.55, 0.3, 0.15, 0.0, 0.0]))
