from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.errors import ConfigError, DataError
from vse_ens.evaluate.rank import FunctionScorer, Scorer, evaluate, mean_metrics
from vse_ens.evaluate.rankings import Rankings

KNOWN = Annotations.from_pairs([("a", "sea"), ("a", "sand"), ("b", "sea"), ("c", "wood")])


def scorer(known: Annotations = KNOWN, fill: float | None = None) -> Scorer:
    """Labels in the order of their numbers, the last one best; or all alike."""
    line = np.arange(len(known.labels), dtype=np.float32) if fill is None else np.full(len(known.labels), fill, "f4")
    return FunctionScorer(known.images, known.labels, lambda images: np.tile(line, (len(images), 1)))


def same(one: Rankings, other: Rankings) -> bool:
    arrays = ("candidates", "top", "indptr", "label", "above", "tied", "seen")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)


def test_every_held_out_label_gets_its_place_by_id() -> None:
    # Ranked for a: wood. For b: wood, sand. The test has its own numbers: c comes first there, and so does wood.
    held_out = Annotations.from_pairs([("a", "wood"), ("b", "sand"), ("b", "zebra"), ("z", "sea")])
    found = evaluate(scorer(), KNOWN, held_out, top=2)
    assert list(found.images) == ["a", "b", "z"]
    assert found.labels.ids(found.label) == ["wood", "sand", "zebra", "sea"]
    assert found.above.tolist() == [0, 1, 2, 0]
    assert found.tied.tolist() == [1, 1, 0, 0]
    assert found.seen.tolist() == [1, 1, 0, 2]
    assert found.candidates.tolist() == [1, 2, -1]
    assert [[found.labels.id(one) for one in row if one >= 0] for row in found.top] == [["wood"], ["wood", "sand"], []]
    assert found.ranked_labels == 3


def test_images_without_a_held_out_label_are_not_evaluated() -> None:
    found = evaluate(scorer(), KNOWN, Annotations.from_pairs([("c", "sea")]))
    assert (list(found.images), found.above.tolist()) == (["c"], [0])


def test_an_image_with_every_label_known_ranks_nothing() -> None:
    known = Annotations.from_pairs([("a", "sea"), ("a", "sand")])
    found = evaluate(scorer(known), known, Annotations.from_pairs([("a", "wood")]))
    assert (found.candidates.tolist(), found.tied.tolist(), found.top.max()) == ([0], [0], -1)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("memory", [1, 20_000, 1_000_000_000])
def test_neither_memory_nor_workers_change_anything(workers: int, memory: int) -> None:
    split = scenes(images=300, seed=1).leave_one_out()
    numbers = np.random.default_rng(0)
    vectors = numbers.normal(size=(300, 20)).astype(np.float32)
    label_vectors = numbers.normal(size=(len(split.train.labels), 20)).astype(np.float32)
    products = FunctionScorer(split.train.images, split.train.labels, lambda images: vectors[images] @ label_vectors.T)
    expected = evaluate(products, *split, workers=2, memory=100_000)
    assert same(evaluate(products, *split, workers=workers, memory=memory), expected)


def test_memory_bounds_the_rows_scored_at_a_time() -> None:
    split = scenes(images=300, seed=1).leave_one_out()
    asked: list[int] = []

    def scores(images: NDArray[np.int64]) -> NDArray[np.float32]:
        asked.append(len(images))
        return np.zeros((len(images), len(split.train.labels)), np.float32)

    done: list[int] = []
    memory = 50 * 4 * len(split.train.labels)
    counting = FunctionScorer(split.train.images, split.train.labels, scores)
    evaluate(counting, *split, memory=memory, progress=done.append)
    images = np.count_nonzero(split.test.labels_per_image)
    assert sum(asked) == done[-1] == images
    assert done == np.cumsum(asked).tolist()
    assert max(asked) <= 50
    # No block of a few rows: BLAS rounds those in another way.
    assert min(asked) >= 40


def test_the_scores_of_a_model_are_not_changed() -> None:
    table = np.ones((3, 3), np.float32)
    table.flags.writeable = False
    shared = FunctionScorer(KNOWN.images, KNOWN.labels, lambda images: table[: len(images)])
    assert evaluate(shared, KNOWN, Annotations.from_pairs([("a", "wood"), ("b", "sand")])).tied.tolist() == [1, 2]


def test_nothing_held_out_is_an_error() -> None:
    with pytest.raises(DataError, match="no held-out pair"):
        evaluate(scorer(), KNOWN, KNOWN.with_pairs(np.zeros(KNOWN.pairs, bool)))


def test_a_label_both_known_and_held_out_is_named() -> None:
    with pytest.raises(DataError, match="label 'sand' of image 'a' is both held out and known"):
        evaluate(scorer(), KNOWN, Annotations.from_pairs([("a", "sand"), ("a", "wood")]))


def test_scores_that_are_not_numbers_are_an_error() -> None:
    with pytest.raises(DataError, match="scores of image 'b' are not all numbers"):
        evaluate(scorer(fill=np.nan), KNOWN, Annotations.from_pairs([("b", "sand")]))


def test_scores_of_the_wrong_shape_are_an_error() -> None:
    short = FunctionScorer(KNOWN.images, KNOWN.labels, lambda images: np.zeros((len(images), 2), np.float32))
    with pytest.raises(ConfigError, match=r"wrong shape \(1, 2\)"):
        evaluate(short, KNOWN, Annotations.from_pairs([("b", "sand")]))


def test_known_pairs_of_other_ids_are_an_error() -> None:
    other = Annotations.from_pairs([("a", "sea")])
    with pytest.raises(ConfigError, match="must have the image and label ids of the model"):
        evaluate(scorer(), other, Annotations.from_pairs([("b", "sand")]))


def test_a_list_of_no_labels_is_an_error() -> None:
    with pytest.raises(ConfigError, match="top must be at least 1, got 0"):
        evaluate(scorer(), KNOWN, Annotations.from_pairs([("b", "sand")]), top=0)


def test_mean_metrics_are_means_over_images() -> None:
    held_out = Annotations.from_pairs([("a", "wood"), ("b", "sand"), ("c", "sand")])
    found = mean_metrics(scorer().scores, KNOWN, held_out)
    assert found["recall@1"] == pytest.approx(1 / 3)
    assert found["map"] == found["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
