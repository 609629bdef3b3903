"""A batch of the context tower against its slow twin, what it leaves out, and the slopes it follows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.support.context_problems import Batch, ContextProblem, compute, make_context_problem
from tests.support.context_twin import SlowContext
from tests.support.kernel_problems import DIMENSIONS, JIT, annotations, random_annotations
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import DRAWS, GIVEN_UP, REJECTED, TRIES, VIOLATIONS
from vse_ens.kernels.context import context_vectors
from vse_ens.kernels.context_losses import MAX_SHARING

IMAGES, LABELS = (40, 20) if JIT else (10, 20)
# Every sampler and every loss once; each is compiled on its own.
PAIRS = [
    ("uniform", "hinge"),
    ("uniform", "logistic"),
    ("uniform", "softmax"),
    ("popularity", "softmax"),
    ("vse-ens", "softmax"),
    ("dns", "softmax"),
    ("naive", "hinge"),
    ("warp", "warp"),
]


def softmax(**settings: object) -> Config:
    return Config(**{"sampler": "uniform", "loss": "softmax", "tower": "context", "label_pairs": 60, **settings})  # type: ignore[arg-type]


def train_both(
    config: Config, data: Annotations | None = None, rate: float = 0.05, share: int = 8, sharing: int = MAX_SHARING
) -> tuple[Batch, SlowContext]:
    problem = make_context_problem(config, data or random_annotations(IMAGES, LABELS, 6), share=share)
    problem.sharing = sharing
    images = np.random.default_rng(1).permutation(len(problem.pairs.indptr) - 1)
    chunks, states = np.array_split(images, 3), [7, 8, 9]
    twin = SlowContext(problem, problem.step(rate))
    twin.train(chunks, states)
    batch = compute(problem, chunks, states, rate)
    batch.apply()
    assert batch.counts.tolist() == twin.counts
    assert batch.loss == pytest.approx(twin.loss, rel=1e-4, abs=1e-6)
    for name, theirs in twin.trained.items():
        assert_allclose(problem.trained[name], theirs, rtol=2e-4, atol=2e-5, err_msg=name)
    return batch, twin


@pytest.mark.parametrize(("sampler", "loss"), PAIRS)
def test_equals_the_slow_twin(sampler: str, loss: str) -> None:
    batch, _ = train_both(softmax(sampler=sampler, loss=loss, candidates=3))
    assert batch.counts[DRAWS] == len(batch.problem.pairs.indices)
    assert 0 < batch.counts[VIOLATIONS] <= batch.counts[DRAWS]


@pytest.mark.parametrize("sharing", [1, 2])
def test_equals_the_slow_twin_where_few_positives_share(sharing: int) -> None:
    train_both(softmax(sampler="vse-ens"), sharing=sharing)


@pytest.mark.parametrize(("tower", "label_pairs"), [("context", 0), ("context+id", 60), ("context+features", 60)])
def test_equals_the_slow_twin_for_every_tower(tower: str, label_pairs: int) -> None:
    train_both(softmax(tower=tower, label_pairs=label_pairs))


def test_equals_the_slow_twin_with_unused_label_pairs() -> None:
    data = annotations([list(range(9)), [0, 1, 4, 8], [2, 3]], LABELS)
    batch, twin = train_both(softmax(label_pairs=30), data, share=1)
    assert len(batch.problem.label_pairs) == 30
    assert len(twin.weights(0)) == 9 + 9


def test_equals_the_slow_twin_for_images_with_almost_all_labels() -> None:
    for loss in ("softmax", "hinge"):
        batch, _ = train_both(softmax(loss=loss), annotations([[0, 1, 2, 3], [0, 1, 2], [3]], 4))
        assert batch.counts[GIVEN_UP] == 4


def test_equals_the_slow_twin_for_an_image_with_most_labels() -> None:
    data = annotations([list(range(90 if JIT else 30)), [5], [0, 7]], 100)
    train_both(softmax(label_pairs=3_000), data, rate=0.002)


# --- the positive is left out -------------------------------------------------------------------------------------


def vectors_of(problem: ContextProblem, image: int) -> dict[int, np.ndarray]:
    """The vector that each label of an image is judged by."""
    batch = compute(problem, [np.array([image])], [3])
    return dict(zip(problem.positives(image).tolist(), batch.changes.vectors.copy(), strict=True))


def test_a_label_does_not_speak_for_itself() -> None:
    data = annotations([[0, 1, 2, 4], [1, 3]], LABELS)
    problem = make_context_problem(softmax(label_pairs=99), data)
    before = vectors_of(problem, 0)
    problem.context.inputs[2] += 1.0
    with_it = [number for number, pair in enumerate(problem.label_pairs) if 2 in pair]
    assert len(with_it) == 3
    problem.context.inputs[problem.labels + np.array(with_it)] -= 2.0
    after = vectors_of(problem, 0)
    assert_allclose(after[2], before[2], atol=1e-5)
    for other in (0, 1, 4):
        # Three labels are left for each, two of the three combinations left have label 2 in them.
        assert_allclose(after[other] - before[other], 1.0 * 3**-0.5 - 2 * 2.0 * 3**-0.5, atol=1e-5)


@pytest.mark.parametrize("tower", ["context", "context+id", "context+features"])
def test_an_image_with_one_label_has_its_own_part_alone(tower: str) -> None:
    problem = make_context_problem(softmax(tower=tower), annotations([[3], [0, 1]], LABELS))
    own = problem.vector(0)
    start = {name: table.copy() for name, table in problem.trained.items()}
    batch = compute(problem, [np.array([0])], [3])
    assert_allclose(batch.changes.vectors[0], own, rtol=1e-5, atol=1e-6)
    assert batch.input_changes.filled.tolist() == [0], "no input has a part in it"
    batch.apply()
    assert (problem.context.inputs == start["inputs"]).all()
    assert (problem.context.input_squares == start["input_squares"]).all()
    assert (problem.tables.bias != start["bias"]).any()


def test_of_two_labels_each_is_scored_by_the_other_alone() -> None:
    problem = make_context_problem(softmax(), annotations([[2, 5]], LABELS))
    assert problem.label_pairs.tolist() == [[2, 5]]
    start = problem.context.inputs.copy()
    batch = compute(problem, [np.array([0])], [3])
    assert_allclose(batch.changes.vectors, start[[5, 2]], rtol=1e-6)
    batch.apply()
    assert_allclose(problem.context.inputs[LABELS], start[LABELS], rtol=1e-6)
    assert (problem.context.inputs[[2, 5]] != start[[2, 5]]).any(axis=1).all()


def test_the_vector_of_all_labels_is_what_models_score_with() -> None:
    data = random_annotations(IMAGES, LABELS, 9)
    for share in (1, 8):
        problem = make_context_problem(softmax(), data, share=share)
        vectors = np.ones((IMAGES, DIMENSIONS), np.float32)
        context_vectors(problem.pairs, problem.context.inputs, problem.context.label_pairs, vectors)
        twin = SlowContext(problem, problem.step())
        assert_allclose(vectors, 1.0 + np.array([twin.built(image) for image in range(IMAGES)]), rtol=1e-4, atol=1e-5)


def test_images_without_labels_or_label_pairs_have_vectors() -> None:
    problem = make_context_problem(softmax(label_pairs=0), annotations([[], [4], [1, 2]], LABELS))
    vectors, inputs = np.zeros((3, DIMENSIONS), np.float32), problem.context.inputs
    context_vectors(problem.pairs, inputs, problem.context.label_pairs, vectors)
    assert_allclose(vectors, [np.zeros(DIMENSIONS), inputs[4], (inputs[1] + inputs[2]) * 2**-0.5], atol=1e-6)


# --- decay and steps ----------------------------------------------------------------------------------------------


def test_without_a_negative_there_is_decay_and_no_step() -> None:
    config = softmax(loss="hinge", regularization=0.5, bias_regularization=0.25, label_pairs=99)
    for loss in ("hinge", "softmax"):
        problem = make_context_problem(config.override(loss=loss), annotations([[0, 1, 2, 3]], 4))
        start = {name: table.copy() for name, table in problem.trained.items()}
        batch = compute(problem, [np.array([0])], [1], rate=0.01)
        assert (batch.changes.rows[:, 1:] == -1).all()
        assert (batch.loss, batch.counts[VIOLATIONS]) == (0.0, 0)
        assert batch.counts[DRAWS] == batch.counts[GIVEN_UP] == 4
        assert batch.counts[TRIES] == batch.counts[REJECTED]
        batch.apply()
        # A label is touched once; its input serves the three others, a combination the two not in it.
        times = np.repeat([3, 2], [4, 6])
        for rows, squares, touched in (("labels", "label_squares", 1), ("inputs", "input_squares", times)):
            assert (problem.trained[squares] == start[squares]).all()
            decay = 1.0 - 0.01 * 0.5 * touched / np.sqrt(start[squares])
            assert_allclose(problem.trained[rows], start[rows] * decay[:, None], rtol=1e-5)
        assert_allclose(problem.tables.bias, start["bias"] * (1.0 - 0.01 * 0.25), rtol=1e-6)


def test_decay_never_takes_a_vector_beyond_zero() -> None:
    """An image with many labels decays the input of each by all the others: the sum may exceed 1."""
    config = softmax(tower="context+id", regularization=10.0, label_pairs=99)
    problem = make_context_problem(config, annotations([[0, 1, 2, 3]], 4))
    problem.context.input_squares[:2] = 0.01, 400.0
    start = problem.context.inputs.copy()
    compute(problem, [np.array([0])], [1], rate=0.05).apply()
    decay = 0.05 * 10.0 * 3 / np.array([0.1, 20.0])  # of three other labels
    assert decay[0] > 2.0 > 1.0 > decay[1]
    assert (problem.context.inputs[0] == 0.0).all()
    assert_allclose(problem.context.inputs[1], start[1] * (1.0 - decay[1]), rtol=1e-5)
    assert (problem.image_vectors[0] == 0.0).all(), "four labels decay the image's own vector by 0.5 each"


def test_steps_shrink_with_the_squares_of_all_slopes_so_far() -> None:
    problem = make_context_problem(softmax(regularization=0.0), annotations([[2, 5, 6]], LABELS))
    start = {name: table.copy() for name, table in problem.trained.items()}
    lengths = []
    for _ in range(4):
        before = problem.tables.labels[2].copy(), problem.context.label_squares[2].copy()
        batch = compute(problem, [np.array([0])], [3], rate=0.05)
        batch.apply()
        slope = batch.changes.slopes[0, 0] * batch.changes.vectors[0]
        assert problem.context.label_squares[2] == pytest.approx(before[1] + np.mean(slope**2), rel=1e-5)
        step = problem.tables.labels[2] - before[0]
        assert_allclose(step, 0.05 / np.sqrt(problem.context.label_squares[2]) * slope, rtol=1e-3, atol=1e-6)
        lengths.append(np.linalg.norm(step) / np.linalg.norm(slope))
    assert lengths == sorted(lengths, reverse=True)
    assert (problem.context.input_squares >= start["input_squares"]).all()
    untouched = np.setdiff1d(
        np.arange(len(problem.context.inputs)), [*problem.positives(0), *range(LABELS, LABELS + 3)]
    )
    assert (problem.context.inputs[untouched] == start["inputs"][untouched]).all()


def test_scores_too_large_for_the_exponential_do_no_harm() -> None:
    problem = make_context_problem(softmax(), random_annotations(IMAGES, LABELS, 6), scale=30.0)
    batch = compute(problem, [np.arange(IMAGES)], [5], rate=1e-4)
    batch.apply()
    assert np.isfinite(batch.loss)
    assert all(np.isfinite(table).all() for table in problem.trained.values())


def test_a_chunk_of_no_images_does_nothing() -> None:
    problem = make_context_problem(softmax(), random_annotations(5, LABELS, 3))
    start = problem.tables.labels.copy()
    batch = compute(problem, [np.empty(0, np.int64)], [5])
    batch.apply()
    assert (batch.loss, batch.counts.any(), batch.input_changes.filled[0]) == (0.0, False, 0)
    assert (problem.tables.labels == start).all()
