"""The best labels are what sorting all scores gives, in any company and by any number of workers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.random_models import KINDS, Case, random_case, scores_of_unknown, warm
from vse_ens.errors import ConfigError
from vse_ens.kernels.arrays import Csr
from vse_ens.model import topk
from vse_ens.model.topk import TopKScorer, TopLabels
from vse_ens.run.threads import Workers


def joined(blocks: list[TopLabels]) -> TopLabels:
    return TopLabels(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def assert_same(one: TopLabels, other: TopLabels) -> None:
    for mine, theirs in zip(one[:4], other[:4], strict=True):
        assert mine.tobytes() == theirs.tobytes()


def brute_force(case: Case, top: int, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    scores = scores_of_unknown(case)
    if allowed is not None:
        scores[:, ~allowed] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
    found = np.take_along_axis(scores, order, axis=1)
    return np.where(found > -np.inf, order, -1), found


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_what_sorting_all_scores_gives(kind: str) -> None:
    case = random_case(kind)
    labels, scores = brute_force(case, 7)
    found = joined(list(TopKScorer(case.model, 7).of_images(case.known)))
    np.testing.assert_array_equal(found.images, np.arange(60))
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.scores, scores, rtol=1e-5, atol=1e-5)
    free = scores_of_unknown(case).astype(np.float64)[1:] / warm(case.known.labels_per_image[1:, None])
    totals = joined(list(TopKScorer(case.model, 1, temperature=warm).of_images(case.known))).log_totals
    np.testing.assert_allclose(totals[1:], np.log(np.exp(free).sum(axis=1)), rtol=1e-5, atol=1e-5)
    assert totals[0] == -np.inf


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("labels", "dimensions"), [(7, 19), (201, 19), (201, 600)])
def test_all_one_by_one_streamed_and_shared_out_are_the_same_bytes(
    kind: str, labels: int, dimensions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = random_case(kind, images=600, labels=labels, dimensions=dimensions)
    images = np.arange(600)[::-1].copy()
    whole = joined(list(TopKScorer(case.model, 5).of_images(case.known, images)))
    singles = [next(TopKScorer(case.model, 5).of_images(case.known, images[n : n + 1])) for n in range(600)]
    assert_same(joined(singles), whole)
    monkeypatch.setattr(topk, "_TASKS_PER_BLOCK", 2)
    blocks = list(TopKScorer(case.model, 5).of_images(case.known, images))
    assert [len(block.images) for block in blocks] == [512, 88]
    assert_same(joined(blocks), whole)
    monkeypatch.setattr(topk, "_MAX_TASK_BYTES", 0)
    with Workers(3) as team:
        blocks = list(TopKScorer(case.model, 5, run=team.run).of_images(case.known, images))
    assert {len(block.images) for block in blocks} == {32, 24}
    assert_same(joined(blocks), whole)


def test_only_allowed_labels_are_suggested_and_all_count_for_the_total() -> None:
    case = random_case("context with weights")
    allowed = np.zeros(40, np.bool_)
    allowed[[3, 17, 22]] = True
    labels, _ = brute_force(case, 5, allowed)
    found = joined(list(TopKScorer(case.model, 5, allowed=allowed).of_images(case.known)))
    np.testing.assert_array_equal(found.labels, labels)
    assert set(found.labels.ravel().tolist()) == {-1, 3, 17, 22}
    every = joined(list(TopKScorer(case.model, 5).of_images(case.known)))
    np.testing.assert_array_equal(found.log_totals, every.log_totals)
    nothing = joined(list(TopKScorer(case.model, 2, allowed=np.zeros(40, np.bool_)).of_images(case.known)))
    assert set(nothing.labels.ravel().tolist()) == {-1}


def test_equal_scores_come_in_the_order_of_numbers() -> None:
    model, known = random_case("id")
    model.embeddings.label_vectors[:] = 0.0
    model.embeddings.label_bias[:] = 1.0
    (found,) = TopKScorer(model, 3).of_images(known, np.array([59]))
    assert found.labels.tolist() == [[0, 1, 2]]


def test_images_that_are_known_by_rows_alone_get_the_same() -> None:
    model, known = random_case("context with weights")
    rows = Csr(known.indptr, known.indices)
    by_rows = joined(list(TopKScorer(model, 4).of_rows(model.embeddings.context(*rows), rows)))
    assert_same(by_rows, joined(list(TopKScorer(model, 4).of_images(known))))


def test_no_images_give_no_blocks_and_no_more_labels_than_there_are() -> None:
    model, known = random_case("id")
    assert list(TopKScorer(model, 3).of_images(known, np.empty(0, np.int64))) == []
    (found,) = TopKScorer(model, 1000).of_images(known, np.array([59]))
    assert found.labels.shape == (1, 40)
    with pytest.raises(ConfigError, match="top must be at least 1, got 0"):
        TopKScorer(model, 0)
