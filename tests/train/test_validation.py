"""Held-out labels: what is kept from training, and what is chosen by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.kernel_problems import annotations
from vse_ens.config import METRICS, Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.splits import leave_one_out
from vse_ens.evaluate.metrics import per_image
from vse_ens.evaluate.rank import FunctionScorer, evaluate, mean_metrics
from vse_ens.kernels.arrays import Csr
from vse_ens.label_weights.learn import learn_label_weights
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.neighbors import ImageNeighbors
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers
from vse_ens.train import validation
from vse_ens.train.pair_selection import frequent_label_pairs
from vse_ens.train.sharded.sources import InMemorySource
from vse_ens.train.trainer import Trainer
from vse_ens.train.validation import (
    ValidationSet,
    Validator,
    choose_held_out,
    held_out_images,
    hill_climb,
    make_validation_set,
)

CHOICES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


def hold_out(config: Config, data: Annotations) -> tuple[Annotations, ValidationSet]:
    """The pairs to train on, and those to validate with."""
    chosen = choose_held_out(config, data)
    train = InMemorySource(data).without(chosen).known
    return train, make_validation_set(data, train, chosen)


class Hill:
    """Values of some images that are best at one choice; counts how often it is asked."""

    def __init__(self, top: float, steepness: float = 1.0, noise: float = 0.1, images: int = 100) -> None:
        self.asked: list[float] = []
        self._top, self._steepness, self._noise, self._images = top, steepness, noise, images
        self._own = np.random.default_rng(3).normal(size=images)  # images differ, which says nothing of the choices

    def __call__(self, choice: float) -> NDArray[np.float64]:
        self.asked.append(choice)
        noise = np.random.default_rng(int(choice)).normal(0.0, self._noise, self._images)
        return 9 * self._own - self._steepness * np.log2(choice / self._top) ** 2 + noise


@pytest.mark.parametrize("start", CHOICES)
@pytest.mark.parametrize("top", CHOICES)
def test_hill_climb_walks_to_the_top(start: float, top: float) -> None:
    hill = Hill(top)
    assert hill_climb(CHOICES, start, hill) == top
    assert len(set(hill.asked)) == len(hill.asked), "no choice is measured twice"


@pytest.mark.parametrize("start", CHOICES)
def test_hill_climb_ends_at_the_borders(start: float) -> None:
    assert hill_climb(CHOICES, start, Hill(top=10_000.0)) == CHOICES[-1]
    assert hill_climb(CHOICES, start, Hill(top=0.0001)) == CHOICES[0]


def test_only_the_way_and_what_lies_beside_it_is_measured() -> None:
    hill = Hill(top=8.0)
    hill_climb(CHOICES, 8.0, hill)
    assert sorted(hill.asked) == [4.0, 8.0, 16.0]


def test_hill_climb_stays_where_a_gain_may_be_chance() -> None:
    assert hill_climb(CHOICES, 4.0, Hill(top=32.0, steepness=0.001, noise=1.0)) == 4.0
    assert hill_climb(CHOICES, 4.0, lambda _: np.ones(50)) == 4.0
    better = {4.0: np.zeros(1), 2.0: np.zeros(1), 8.0: np.ones(1)}
    assert hill_climb(CHOICES, 4.0, better.__getitem__) == 4.0, "one image says nothing"


@pytest.mark.parametrize(("gain", "kept"), [(0.9, 1.0), (1.1, 2.0)])
def test_a_gain_is_one_above_its_standard_error(gain: float, kept: float) -> None:
    spread = np.resize([-1.0, 1.0], 64)  # a standard error of 1 / 8
    values = {1.0: np.zeros(64), 2.0: spread + gain / 8}
    assert hill_climb((1.0, 2.0), 1.0, values.__getitem__) == kept


# --- what is held out ---

PLAIN = Config(validate=True, metric="map")
REMEMBERING = PLAIN.override(label_weights=True)


@pytest.fixture(scope="module")
def data() -> Annotations:
    return scenes(images=400, labels=60, seed=2)


def make_validator(config: Config, data: Annotations, workers: int = 1) -> Validator:
    part, validation_set = hold_out(config, data)
    return Validator(config, validation_set, part, lambda regularization: learn(part, regularization, workers), workers)


def keys(data: Annotations) -> set[tuple[int, int]]:
    return set(zip(data.image_numbers().tolist(), data.indices.tolist(), strict=True))


def test_held_out_labels_are_not_in_the_part_that_is_trained_on(data: Annotations) -> None:
    part, validation_set = hold_out(PLAIN, data)
    train, held_out = part, validation_set.split.test
    hidden = set(zip(validation_set.images.tolist(), held_out.indices.tolist(), strict=True))
    assert keys(train).isdisjoint(hidden)
    assert keys(train) | hidden == keys(data)
    assert held_out.pairs == len(validation_set.images) == 80, "a fifth of the images"
    assert (np.diff(validation_set.images) > 0).all()
    assert validation_set.split.train.images == held_out.images
    assert [train.labels_of(image) for image in held_out.images] == list(
        map(validation_set.split.train.labels_of, held_out.images)
    )
    assert (validation_set.split.train.labels_per_image >= 1).all()
    assert train.labels == held_out.labels == validation_set.split.train.labels == data.labels
    whole = leave_one_out(data, PLAIN.seed, name="validation", max_images=80)
    assert train == whole.train
    assert keys(whole.test) == hidden


def test_images_with_many_labels_can_spare_more() -> None:
    assert held_out_images(1_000, 50, 3_000) == 200, "a fifth of the images"
    assert held_out_images(1_000, 50, 20_000) == 800, "or one pair of 25"
    assert held_out_images(10**6, 50, 10**8) == 4_000
    assert held_out_images(10**6, 10_000, 10**8) == 2_000, "fewer where there are many labels to rank"
    assert held_out_images(10**6, 10**6, 10**8) == 1_000


def test_never_more_than_it_takes_to_see_a_difference(data: Annotations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "_MAX_IMAGES", 25)
    assert make_validator(PLAIN, data).data.split.test.pairs == 25


def test_another_seed_holds_out_others(data: Annotations) -> None:
    first, again, other = (make_validator(PLAIN.override(seed=seed), data).data.split.test for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_held_out_labels_are_in_no_combination() -> None:
    # Every pair of labels is in just as many images as it takes: where one is held out, it is one too few.
    data = annotations([[2 * pair, 2 * pair + 1] for pair in range(20) for _ in range(5)], 40)
    trainer = Trainer(PLAIN.override(tower="context", label_pairs=99), data, 1)
    trainer.prepare()
    assert trainer._validator is not None
    train, held_out = trainer._backend.training_pairs, trainer._validator.data.split.test
    touched = set((held_out.indices // 2).tolist())
    left = [(2 * pair, 2 * pair + 1) for pair in range(20) if pair not in touched]
    assert left
    assert trainer.embeddings.label_pairs.tolist() == [list(pair) for pair in left]
    assert trainer.embeddings.label_pairs.tolist() == frequent_label_pairs(train, 99).tolist()
    assert len(frequent_label_pairs(data, 99)) == 20


def test_held_out_labels_are_not_in_the_memory(data: Annotations) -> None:
    validator = make_validator(REMEMBERING, data)
    assert same(validator._label_weights, learn(hold_out(REMEMBERING, data)[0], validator.regularization))
    assert not same(validator._label_weights, learn(data, validator.regularization))


def learn(data: Annotations, regularization: float, workers: int = 1) -> LabelWeights:
    with Workers(workers) as team:
        return learn_label_weights(data, regularization, LocalPool(team))


def same(one: LabelWeights, other: LabelWeights) -> bool:
    return np.array_equal(one.values, other.values)


# --- what is chosen ---


def by_counts(memory: LabelWeights, weight: float, known: Annotations, own: Any = 0.0) -> Any:
    """Scores as the definition has them: weight x the sum of the rows of the known labels, above own scores."""
    table = np.array(
        [memory.values[known.label_numbers(image)].sum(axis=0) for image in range(len(known.images))], np.float32
    )
    return (np.float32(weight) * table + own).astype(np.float32).__getitem__


def embeddings_of(scores: NDArray[np.float32]) -> Embeddings:
    """A model with these scores."""
    labels = scores.shape[1]
    bias, nothing = np.zeros(labels, np.float32), np.empty((0, labels), np.float32)
    return Embeddings(np.eye(labels, dtype=np.float32), bias, scores.astype(np.float32), nothing)


def noise(data: Annotations, scale: float) -> NDArray[np.float32]:
    shape = len(data.images), len(data.labels)
    return np.random.default_rng(8).normal(0.0, scale, shape).astype(np.float32)


def test_lambda_is_found_by_what_the_memory_does_alone(data: Annotations, monkeypatch: pytest.MonkeyPatch) -> None:
    choices = (0.01, 1.0, 5.0, 20.0, 5_000.0)
    monkeypatch.setattr(validation, "_REGULARIZATIONS", choices)
    everything = hold_out(REMEMBERING, data)[0]
    found = {}
    for first in choices:
        monkeypatch.setattr(validation, "_FIRST_REGULARIZATION", first)
        validator = make_validator(REMEMBERING, data)
        train, held_out = validator.data.split

        def worth(one: float, train: Annotations = train, held_out: Annotations = held_out) -> NDArray[np.float64]:
            scorer = FunctionScorer(train.images, train.labels, by_counts(learn(everything, one), 1.0, train))
            found = per_image(evaluate(scorer, train, held_out, workers=1))
            return (found["recall@10"] + found["map"]) / 2

        found[first] = validator.regularization
        assert found[first] == hill_climb(choices, first, worth)
        assert same(validator._label_weights, learn(everything, found[first]))
    assert found[5_000.0] < 5_000.0, "so much says nearly nothing"


def test_lambda_is_not_searched_where_each_try_is_long(data: Annotations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "MAX_SEARCH_LABELS", 59)
    part, validation_set = hold_out(REMEMBERING, data)
    validator = Validator(REMEMBERING, validation_set, part, never, 1)
    assert validator.regularization == validation._FIRST_REGULARIZATION


def never(regularization: float) -> LabelWeights:
    raise NotImplementedError(f"no memory is to be learnt, least of all with {regularization}")


def test_a_judgment_is_what_the_definition_says(data: Annotations) -> None:
    validator = make_validator(REMEMBERING, data)
    train, held_out = validator.data.split
    own = noise(data, 0.5)[validator.data.images]
    found = validator.validate(embeddings_of(own))
    assert found.scale > 0.0
    memory = validator._label_weights
    twin = mean_metrics(by_counts(memory, found.scale, train, own), train, held_out, 1)
    twin["overall"] = (twin["recall@10"] + twin["map"] + twin["auc"]) / 3
    assert found.metrics == pytest.approx({name: twin[name] for name in METRICS}, abs=1e-6)


def test_the_weight_follows_what_the_vectors_know(data: Annotations) -> None:
    validator = make_validator(REMEMBERING, data)
    train, held_out = validator.data.split
    told = np.zeros((len(train.images), len(data.labels)), np.float32)
    told[held_out.image_numbers(), held_out.indices] = 0.1
    knows = validator.validate(embeddings_of(told))
    assert knows.scale < validation._FIRST_SCALE
    assert knows.metrics["map"] > 0.95
    assert validator.scale == knows.scale, "the next search begins there"
    noisy = embeddings_of(noise(data, 5.0)[validator.data.images])
    guesses = validator.validate(noisy)
    assert guesses.scale > validation._FIRST_SCALE


def test_without_a_memory_there_is_no_weight(data: Annotations) -> None:
    part, validation_set = hold_out(PLAIN, data)
    validator = Validator(PLAIN, validation_set, part, never, 1)
    train, held_out = validator.data.split
    found = validator.validate(embeddings_of(noise(train, 1.0)))
    assert found.scale == 0.0
    assert found.metrics["auc"] == pytest.approx(mean_metrics(noise(train, 1.0).__getitem__, train, held_out, 1)["auc"])


@pytest.mark.parametrize("tower", ["features", "id+features", "context+features"])
def test_features_count(tower: str, data: Annotations) -> None:
    """A map of features that knows the held-out labels finds them."""
    plain = make_validator(PLAIN, data).data
    told = np.zeros((len(data.images), len(data.labels)), np.float32)
    told[plain.images, plain.split.test.indices] = 9.0
    validator = make_validator(PLAIN.override(tower=tower), data.with_features(told))
    assert validator.data.split.test == plain.split.test
    labels = len(data.labels)
    knows = Embeddings(
        np.eye(labels, dtype=np.float32),
        np.zeros(labels, np.float32),
        noise(plain.split.train, 1.0) if "id" in tower else np.empty((0, labels), np.float32),
        np.eye(labels, dtype=np.float32),
        *([noise(data, 1.0)[:labels]] if "context" in tower else []),
    )
    assert validator.validate(knows).metrics["recall@5"] > 0.95


def test_workers_do_not_change_a_judgment(data: Annotations) -> None:
    one, three = (make_validator(REMEMBERING, data, workers) for workers in (1, 3))
    own = embeddings_of(noise(one.data.split.train, 0.5))
    assert one.validate(own) == three.validate(own)
    assert one.regularization == three.regularization
    assert same(one._label_weights, three._label_weights)


def test_neighbors_get_the_scale_that_suits_the_model(data: Annotations) -> None:
    validator = make_validator(PLAIN, data)
    train, held_out = validator.data.split
    part = hold_out(PLAIN, data)[0]
    knows, noisy = (np.zeros((len(train.images), len(data.labels)), np.float32) for _ in range(2))
    knows[held_out.image_numbers(), held_out.indices] = 3.0
    assert validator.choose_neighbors_scale(embeddings_of(knows), 0.0).scale < validation._FIRST_NEIGHBOR_SCALE
    found = validator.choose_neighbors_scale(embeddings_of(noisy), 0.0)
    assert found.scale >= validation._FIRST_NEIGHBOR_SCALE
    terms = ImageNeighbors(part, found.scale).terms(Csr(train.indptr, train.indices), validator.images)
    scores = np.zeros_like(noisy)
    scores[np.repeat(np.arange(len(scores)), np.diff(terms.labels.indptr)), terms.labels.indices] = terms.values
    twin = mean_metrics(scores.__getitem__, train, held_out, 1)
    assert found.metrics["map"] == pytest.approx(twin["map"], abs=1e-6)
    assert found.metrics["recall@10"] == pytest.approx(twin["recall@10"], abs=1e-6)
