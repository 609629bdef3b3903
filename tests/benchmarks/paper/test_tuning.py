"""The settings that are tried, and the choice among them."""

from __future__ import annotations

import pytest
from benchmarks.paper.numbers import PAPER, RIVALS
from benchmarks.paper.training import paper_config
from benchmarks.paper.tuning import best_candidate, candidates, is_at_edge, literal_share, tuned_settings


def test_candidates_span_the_ranges_of_the_paper() -> None:
    low, high = map(float, PAPER["setup"]["rivals"])
    for model in RIVALS:
        tried = candidates(model, 291)
        assert len({tuple(one.values()) for one in tried}) == len(tried) == 25
        for name in ("learning_rate", "regularization"):
            values = {one[name] for one in tried}
            assert (min(values), max(values)) == (low, high)
    shares = {one["rank_scale"] for one in candidates("vse-ens", 291)}
    assert (min(shares), max(shares)) == tuple(map(float, PAPER["setup"]["lambda"]))
    assert literal_share(291) in shares


def test_a_small_budget_still_spans_the_ranges() -> None:
    """The nine powers of ten come first."""
    first = [tuple(one.values()) for one in candidates("warp", 291)[:9]]
    assert sorted(first) == [(rate, decay) for rate in (0.001, 0.01, 0.1) for decay in (0.001, 0.01, 0.1)]
    assert [one["rank_scale"] for one in candidates("vse-ens", 291)[:4]] == [0.001, 0.01, 0.1, 1.0]


def test_the_setting_of_the_paper_is_among_the_candidates() -> None:
    for model in RIVALS:
        assert tuned_settings(paper_config(model)) in candidates(model, 291)


def test_choice_is_by_recall() -> None:
    tried = [{"recall@10": 0.3, "map": 0.9}, {"recall@10": 0.5, "map": 0.1}, {"recall@10": 0.4, "map": 0.2}]
    assert best_candidate(tried) is tried[1]
    assert best_candidate([]) is None


@pytest.mark.parametrize(
    ("model", "settings", "edge"),
    [
        ("warp", {"learning_rate": 0.01, "regularization": 0.03}, False),
        ("warp", {"learning_rate": 0.01, "regularization": 0.1}, True),
        ("vse-ens", {"rank_scale": 0.1}, False),
        ("vse-ens", {"rank_scale": 1.0}, True),
    ],
)
def test_a_choice_at_the_edge_is_said(model: str, settings: dict[str, float], edge: bool) -> None:
    assert is_at_edge(model, settings) is edge
