"""What the samplers draw, and how far apart they are."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.paper.equivalence import (
    Distributions,
    EquivalenceObserver,
    same_ranking,
    sampler_config,
    total_variation,
)
from numpy.typing import NDArray

from benchmarks.paper import equivalence
from tests.support.kernel_problems import JIT, annotations
from vse_ens.kernels.serial import NEGATIVE
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.engines import SerialEngine, Training
from vse_ens.train.sampling import rank_probabilities
from vse_ens.train.tables import initial_embeddings, padded

LABELS, FACTORS = 12, 8
rng = np.random.default_rng(7)
IMAGES = rng.normal(size=(3, FACTORS))
VECTORS = rng.normal(1.0, 1.0, (LABELS, FACTORS)) * np.geomspace(0.2, 3.0, FACTORS)
LAW = rank_probabilities(LABELS, "exponential", 0.2, 0.0)


def test_the_transformed_score_ranks_as_the_score_does() -> None:
    assert same_ranking(IMAGES, VECTORS)


@pytest.mark.parametrize("power", [0.0, 2.0])
def test_a_wrong_transformation_is_noticed(power: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the variance, or nothing, in place of the standard deviation in eq. 7 the rankings differ."""
    deviation = VECTORS.std(axis=0)
    stretched = VECTORS.mean(axis=0) + (VECTORS - VECTORS.mean(axis=0)) * deviation ** (power - 1.0)
    order = np.argsort(-(IMAGES @ VECTORS.T), axis=1)
    assert (np.diff(np.take_along_axis(IMAGES @ stretched.T, order, axis=1)) > 0).any()
    original = np.sign
    monkeypatch.setattr(equivalence.np, "sign", lambda values: original(values) * deviation ** (power - 1.0))
    assert not same_ranking(IMAGES, VECTORS)


def by_hand(image: int) -> NDArray[np.float64]:
    """Return the mixture over factors, one factor and one rank at a time."""
    vector, found = IMAGES[image], np.zeros(LABELS)
    weights = np.abs(vector) * VECTORS.std(axis=0)
    for f in range(FACTORS):
        best_first = sorted(range(LABELS), key=lambda a: -VECTORS[a, f])
        for r in range(1, LABELS + 1):
            position = r if vector[f] > 0 else LABELS - r + 1
            found[best_first[position - 1]] += weights[f] / weights.sum() * LAW[r - 1]
    return found


def test_the_mixture_over_factors_worked_by_hand() -> None:
    found = Distributions.of(IMAGES, VECTORS, LAW)
    for image in range(len(IMAGES)):
        assert found.vse_ens[image] == pytest.approx(by_hand(image))
        best_first = np.argsort(-(VECTORS @ IMAGES[image]))
        assert found.naive[image][best_first] == pytest.approx(LAW)
        assert found.ranks[image][best_first].tolist() == list(range(1, LABELS + 1))


@pytest.mark.parametrize("sampler", ["vse-ens", "naive", "uniform"])
def test_distributions_are_those_that_the_kernel_draws_from(sampler: str) -> None:
    """The bound is 1.5 times the distance expected of as many draws from the stated distribution."""
    draws = 200_000 if JIT else 1_500
    config = sampler_config(sampler).override(dimensions=FACTORS, rank_scale=0.2)
    data = annotations([[0], [], []], LABELS)
    embeddings = padded(initial_embeddings(config, data))
    embeddings.image_vectors[:], embeddings.label_vectors[:] = IMAGES, VECTORS
    with Workers(1) as workers:
        drawn = SerialEngine(Training.of(config, data, embeddings, workers)).trace(draws, 0.0, Streams(1))[:, NEGATIVE]
    distributions = Distributions.of(IMAGES, VECTORS, LAW)
    stated = {
        "vse-ens": distributions.vse_ens[0],
        "naive": distributions.naive[0],
        "uniform": np.full(LABELS, 1.0 / LABELS),
    }
    observed = np.bincount(drawn, minlength=LABELS) / draws
    expected = 0.5 * np.sqrt(2 / np.pi) * np.sqrt(stated[sampler] * (1 - stated[sampler]) / draws).sum()
    assert total_variation(observed, stated[sampler]) < 1.5 * expected + 1e-3
    others = [one for name, one in stated.items() if name != sampler]
    assert all(total_variation(observed, other) > 0.1 for other in others), "the samplers differ"


def test_total_variation() -> None:
    first = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    second = np.array([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    assert total_variation(first, second).tolist() == [0.25, 1.0]


def test_one_factor_is_the_naive_sampler() -> None:
    """With a single factor there is no mixture: the claim of the paper holds there."""
    found = Distributions.of(IMAGES[:, :1], VECTORS[:, :1], LAW)
    assert total_variation(found.vse_ens, found.naive) == pytest.approx(np.zeros(3))


def test_observer_adds_a_row_per_point() -> None:
    config = sampler_config("vse-ens").override(dimensions=FACTORS, rank_scale=0.2)
    data = annotations([[0], [1], [2]], LABELS)
    embeddings = padded(initial_embeddings(config, data))
    embeddings.image_vectors[:], embeddings.label_vectors[:] = IMAGES, VECTORS
    observer = EquivalenceObserver(config, data)
    observer(5, embeddings)
    (row,) = observer.rows
    assert (row["iteration"], row["images"], row["same_ranking"]) == (5, 3, True)
    assert row["mean_rank"]["uniform"] == pytest.approx((LABELS + 1) / 2)
    assert row["mean_rank"]["naive"] == pytest.approx((LAW * np.arange(1, LABELS + 1)).sum())
    assert row["mean_rank"]["naive"] < row["mean_rank"]["vse-ens"] < row["mean_rank"]["uniform"]
    exact = Distributions.of(embeddings.image_vectors, embeddings.label_vectors, LAW)
    assert row["total_variation"]["vse-ens to naive"] == pytest.approx(
        total_variation(exact.vse_ens, exact.naive).mean()
    )
