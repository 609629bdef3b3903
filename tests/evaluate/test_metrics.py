from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.brute_force import Problem, as_mapping, problems
from vse_ens.errors import ConfigError
from vse_ens.evaluate.metrics import coverage, per_image

TOPS = (1, 2, 3, 10)


def values_of(problem: Problem, image: int = 0, tops: tuple[int, ...] = TOPS) -> dict[str, float]:
    return as_mapping(per_image(problem.rank(), tops), image)


def one_image(scores: list[float], held_out: set[int], known: set[int] = frozenset()) -> Problem:  # type: ignore[assignment]
    """One image; labels by number."""
    return Problem(
        {"image": {f"{label:03}": score for label, score in enumerate(scores)}},
        {"image": {f"{label:03}" for label in known}},
        {"image": {f"{label:03}" for label in held_out}},
    )


@given(problems())
def test_every_metric_is_its_mean_over_all_orders_of_ties(problem: Problem) -> None:
    found = per_image(problem.rank(), TOPS)
    for row, (_, expected) in enumerate(problem.expected(TOPS)):
        assert as_mapping(found, row) == pytest.approx(expected, abs=1e-12)


@given(problems(levels=1))
def test_when_all_scores_are_equal_too(problem: Problem) -> None:
    found = per_image(problem.rank(), TOPS)
    for row, (_, expected) in enumerate(problem.expected(TOPS)):
        assert as_mapping(found, row) == pytest.approx(expected, abs=1e-12)


@given(problems(levels=4))
def test_coverage_counts_the_labels_of_the_lists_a_user_sees(problem: Problem) -> None:
    rankings = problem.rank()
    for top in TOPS:
        shown = set()
        for image, held_out in problem.held_out.items():
            if held_out and image in problem.scores:
                scores = problem.scores[image]
                free = sorted(scores.keys() - problem.known[image], key=lambda label: (-scores[label], label))
                shown |= set(free[:top])
        assert coverage(rankings, top) == len(shown) / len(problem.labels)


def test_several_held_out_labels_worked_by_hand() -> None:
    # The order is 4 3 2 1 0; label 4 is known, so that 3 2 1 0 are places 1 to 4; 2 and 0 are held out.
    found = values_of(one_image([0.0, 1.0, 2.0, 3.0, 4.0], {0, 2}, {4}))
    assert found == pytest.approx(
        {
            "precision@1": 0,
            "precision@2": 1 / 2,
            "precision@3": 1 / 3,
            "precision@10": 2 / 10,
            "recall@1": 0,
            "recall@2": 1 / 2,
            "recall@3": 1 / 2,
            "recall@10": 1,
            "hit@1": 0,
            "hit@2": 1,
            "hit@3": 1,
            "hit@10": 1,
            "ndcg@1": 0,
            "ndcg@2": (1 / np.log2(3)) / (1 + 1 / np.log2(3)),
            "ndcg@3": (1 / np.log2(3)) / (1 + 1 / np.log2(3)),
            "ndcg@10": (1 / np.log2(3) + 1 / np.log2(5)) / (1 + 1 / np.log2(3)),
            "auc@1": 1 / 2,
            "auc@2": (1 / 2 + 1 / 2) / 2,
            "auc@3": (1 / 2 + 1 / 2) / 2,
            "auc@10": (1 / 2 + 0) / 2,
            "map": (1 / 2 + 2 / 4) / 2,
            "mrr": 1 / 2,
            "auc": 1 / 4,
        }
    )


def test_a_tie_worked_by_hand() -> None:
    # One label above, then three tied, one of them held out: its place is 2, 3 or 4.
    found = values_of(one_image([9.0, 5.0, 5.0, 5.0], {2}))
    assert found["recall@1"] == 0
    assert found["recall@2"] == pytest.approx(1 / 3)
    assert found["recall@3"] == pytest.approx(2 / 3)
    assert found["mrr"] == found["map"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3)
    assert found["auc"] == pytest.approx(1 - (1 + 2 / 2) / 3)


def test_reciprocal_rank_in_a_tie_worked_by_hand() -> None:
    # Of five tied labels two are held out. The first of them is at 1 in 4 of 10 cases, at 2 in 3, at 3 in 2, at 4 in 1.
    found = values_of(one_image([5.0] * 5, {1, 3}))
    assert found["mrr"] == pytest.approx(4 / 10 + 3 / 10 / 2 + 2 / 10 / 3 + 1 / 10 / 4)


@given(
    st.lists(st.integers(0, 5), min_size=2, max_size=40),
    st.integers(0, 39),
)
def test_auc_is_pair_counting(scores: list[int], held_out: int) -> None:
    held_out %= len(scores)
    own, others = scores[held_out], scores[:held_out] + scores[held_out + 1 :]
    pairs = [1.0 if own > other else 0.5 if own == other else 0.0 for other in others]
    assert values_of(one_image(list(map(float, scores)), {held_out}))["auc"] == pytest.approx(np.mean(pairs))


@given(st.permutations(range(30)), st.integers(0, 29), st.integers(1, 30))
def test_auc_at_n_of_one_label_follows_from_recall_and_rank(order: list[int], held_out: int, top: int) -> None:
    """The paper's AUC column: 0.5 + Rec@10 / 2, to within Rec@10 (10 - 1) / (candidates - 1)."""
    found = values_of(one_image([-float(place) for place in order], {held_out}), tops=(top,))
    recall, above = found[f"recall@{top}"], order[held_out]
    assert found[f"auc@{top}"] == pytest.approx(0.5 + recall / 2 - recall * above / 29)
    short = 0.5 + recall / 2 - found[f"auc@{top}"]
    assert -1e-12 <= short <= recall * (top - 1) / 29 + 1e-12


def test_a_label_that_is_not_ranked_is_a_miss_at_any_depth() -> None:
    problem = Problem({"image": {"a": 1.0, "b": 0.0}}, {"image": set()}, {"image": {"unheard of"}})
    found = values_of(problem)
    assert {name: value for name, value in found.items() if value} == {f"auc@{top}": 0.5 for top in TOPS}


def test_an_image_that_is_not_known_is_all_misses() -> None:
    problem = Problem({"image": {"a": 1.0, "b": 0.0}}, {"image": set(), "stranger": set()}, {"stranger": {"a"}})
    found = values_of(problem)
    assert {name: value for name, value in found.items() if value} == {f"auc@{top}": 0.5 for top in TOPS}


def test_where_every_candidate_is_held_out_nothing_can_be_wrong() -> None:
    found = values_of(one_image([1.0, 1.0, 1.0], {0, 2}, {1}))
    assert found["auc"] == found["map"] == found["mrr"] == found["recall@2"] == found["ndcg@10"] == 1


def test_one_label_only() -> None:
    found = values_of(one_image([0.0], {0}))
    assert {name: value for name, value in found.items() if value != 1} == pytest.approx(
        {"precision@2": 1 / 2, "precision@3": 1 / 3, "precision@10": 1 / 10}
    )


@pytest.mark.parametrize("tops", [(), (0,), (5, -1)])
def test_tops_that_make_no_sense_are_refused(tops: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="top must be whole numbers of at least 1"):
        per_image(one_image([0.0, 1.0], {0}).rank(), tops)


class TestAgainstScikitLearn:
    """Where scikit-learn defines the same thing it gives the same number."""

    @given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=3, max_size=30))
    def test_auc_and_ndcg_with_ties(self, labels: list[tuple[int, bool]]) -> None:
        sklearn = pytest.importorskip("sklearn.metrics")
        scores, truth = [float(score) for score, _ in labels], [relevant for _, relevant in labels]
        truth[0], truth[1] = True, False
        found = values_of(one_image(scores, set(np.flatnonzero(truth).tolist())))
        assert found["auc"] == pytest.approx(sklearn.roc_auc_score(truth, scores))
        for top in TOPS:
            assert found[f"ndcg@{top}"] == pytest.approx(sklearn.ndcg_score([truth], [scores], k=top))

    @given(st.permutations(range(20)), st.sets(st.integers(0, 19), min_size=1, max_size=8))
    def test_average_precision_without_ties(self, order: list[int], held_out: set[int]) -> None:
        sklearn = pytest.importorskip("sklearn.metrics")
        scores, truth = list(map(float, order)), [label in held_out for label in range(20)]
        found = values_of(one_image(scores, held_out))
        assert found["map"] == pytest.approx(sklearn.average_precision_score(truth, scores))
        assert found["map"] == pytest.approx(sklearn.label_ranking_average_precision_score([truth], [scores]))

    @given(st.permutations(range(12)), st.integers(0, 11))
    def test_recall_of_one_label_without_ties(self, order: list[int], held_out: int) -> None:
        sklearn = pytest.importorskip("sklearn.metrics")
        found = values_of(one_image(list(map(float, order)), {held_out}))
        for top in TOPS:
            expected = sklearn.top_k_accuracy_score([held_out], [order], k=top, labels=range(12))
            assert found[f"recall@{top}"] == found[f"hit@{top}"] == expected
