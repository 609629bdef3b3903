"""Fold-in lands where training would have, and depends on nothing but the labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.support.kernel_problems import DIMENSIONS, annotations, make_batch, make_problem, random_state
from tests.support.training_runs import bytes_of, finished, small_config, small_data
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels import samplers
from vse_ens.kernels.softmax import softmax_kernel
from vse_ens.kernels.two_phase import LabelGradients
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.run.threads import Workers
from vse_ens.train.fold_in import FoldIn

METHODS = [("uniform", "logistic"), ("vse-ens", "hinge"), ("warp", "warp"), ("vse-ens", "softmax")]
FEATURES = np.random.default_rng(4).normal(size=(80, 6)).astype(np.float32)


def groups() -> Annotations:
    """Four groups of twenty images, each of which lacks one of the five labels of its group."""
    return annotations([[g * 5 + a for a in range(5) if a != i % 5] for g in range(4) for i in range(20)], 20)


def trained(sampler: str, loss: str, **settings: object) -> tuple[Config, Annotations, Embeddings]:
    config = small_config(sampler=sampler, loss=loss, **{"epochs": 30, "learning_rate": 0.1, **settings})
    data = groups().with_features(FEATURES)
    return config, data, finished(config, data).embeddings.with_features(FEATURES)


def folded(
    config: Config, data: Annotations, embeddings: Embeddings, rows: list[list[int]], workers: int = 1
) -> Floats:
    images = annotations(rows, len(data.labels))
    with Workers(workers) as team:
        return FoldIn(config, data, embeddings, team).vectors(images.indptr, images.indices)


def rows_of(data: Annotations) -> list[list[int]]:
    return [data.label_numbers(image).tolist() for image in range(len(data.images))]


def cosines(ours: Floats, theirs: Floats) -> Floats:
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return np.asarray((ours * theirs).sum(axis=1) / lengths)


@pytest.mark.unhurried
@pytest.mark.parametrize(("sampler", "loss"), METHODS)
def test_a_trained_image_lands_where_training_put_it(sampler: str, loss: str) -> None:
    config, data, embeddings = trained(sampler, loss)
    before = bytes_of(embeddings)
    ours = folded(config, data, embeddings, rows_of(data))
    assert ours.shape == embeddings.image_vectors.shape
    assert ours.dtype == np.float32
    assert cosines(ours, embeddings.image_vectors).mean() > 0.9
    assert bytes_of(embeddings) == before


@pytest.mark.parametrize("tower", ["features", "id+features"])
def test_an_image_without_features_gets_a_free_vector(tower: str) -> None:
    config, data, embeddings = trained("uniform", "logistic", tower=tower)
    scores = embeddings.scores(folded(config, data, embeddings, [[0, 1, 2, 3]]))[0]
    assert 4 in np.argsort(-scores)[:5]


@pytest.mark.parametrize(("sampler", "loss"), METHODS)
def test_the_same_labels_give_the_same_vector(sampler: str, loss: str) -> None:
    config, data, embeddings = trained(sampler, loss, epochs=3)
    rows = rows_of(small_data()) * 2
    together = folded(config, data, embeddings, rows, workers=3)
    assert (together[:40] == together[40:]).all()
    assert (folded(config, data, embeddings, rows[::-1]) == together[::-1]).all()
    for image in (0, 17):
        assert (folded(config, data, embeddings, [rows[image]])[0] == together[image]).all()
    other = folded(replace(config, seed=1), data, embeddings, rows[:5])
    assert not (other == together[:5]).all()


def test_images_with_no_label_or_with_all_get_zeros() -> None:
    config, data, embeddings = trained("uniform", "logistic", epochs=3)
    ours = folded(config, data, embeddings, [[], list(range(20)), [3]])
    assert not ours[:2].any()
    assert ours[2].any()
    assert folded(config, data, embeddings, []).shape == (0, DIMENSIONS)


def test_vectors_are_as_long_as_the_models() -> None:
    config, data, embeddings = trained("uniform", "logistic", epochs=3, dimensions=5)
    assert folded(config, data, embeddings, [[1, 2]]).shape == (1, 5)


def test_with_the_right_age_no_other_is_closer() -> None:
    config, data, embeddings = trained("uniform", "logistic")
    images = annotations(rows_of(data), len(data.labels))
    with Workers(1) as team:
        fold_in = FoldIn(config, data, embeddings, team)
        found, distances = fold_in.visits, {}
        for age in (max(1, found // 3), found, 3 * found):
            fold_in.__dict__["visits"] = age
            ours = fold_in.vectors(images.indptr, images.indices)
            distances[age] = np.square(ours - embeddings.image_vectors).sum()
    assert 1 < found <= config.epochs
    assert min(distances, key=lambda age: distances[age]) == found


def test_an_old_vector_is_where_the_expected_loss_has_no_slope() -> None:
    config, data, embeddings = trained("uniform", "logistic", epochs=10)
    config = replace(config, learning_rate=0.01, regularization=0.2)
    positives = [2, 3, 11]
    row = annotations([positives], 20)
    with Workers(1) as team:
        fold_in = FoldIn(config, data, embeddings, team)
        fold_in.__dict__["visits"] = 4_000
        vector = fold_in.vectors(row.indptr, row.indices)[0].astype(np.float64)
    others = np.setdiff1d(np.arange(20), positives)
    labels, scores = embeddings.label_vectors, embeddings.scores(vector[None].astype(np.float32))[0]
    slopes = 1.0 / (1.0 + np.exp(scores[positives][:, None] - scores[others]))
    wanted = slopes.mean(axis=1) @ labels[positives] - slopes.sum(axis=0) @ labels[others] / len(others)
    assert_allclose(vector, wanted / (len(positives) * config.regularization), atol=0.05 * np.linalg.norm(vector))


def test_softmax_takes_the_steps_of_training_on_own_states() -> None:
    data = annotations([[0, 3, 7], [2], [1, 5, 8, 9, 11]], 12)
    problems = [make_problem(Config(sampler="vse-ens", loss="softmax"), data) for _ in range(2)]
    visits = np.array([0, 2, 0, 0, 1, 2])

    first, second = problems
    no_changes = np.empty((0, DIMENSIONS), np.float32)
    layout, cursor, _ = make_batch(first.pairs, [visits], [0], [[], []])
    layout = layout._replace(random_states=np.array([[7], [8], [9]], np.uint64), first_draws=np.zeros(2, np.int64))
    assert softmax_kernel(DIMENSIONS, samplers.VSE_ENS, has_ids=True, has_features=False, frozen=True)(
        first.arrays,
        LabelGradients.allocate(1, 4, DIMENSIONS),
        no_changes,
        first.sampling,
        first.step(),
        first.scratch(),
        layout,
        cursor,
    )
    states = [random_state(seed) for seed in (7, 8, 9)]
    for image in visits:
        layout, cursor, _ = make_batch(second.pairs, [np.array([image])], [0], [[], []])
        assert softmax_kernel(DIMENSIONS, samplers.VSE_ENS, has_ids=True, has_features=False)(
            second.arrays,
            LabelGradients.allocate(5, 4, DIMENSIONS),
            no_changes,
            second.sampling,
            second.step(),
            second.scratch(),
            layout._replace(random_states=states[image][None]),
            cursor,
        )
    assert_allclose(problems[0].image_vectors, problems[1].image_vectors, rtol=1e-6)
