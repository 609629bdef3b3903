"""What the paper states, where it is in the code, and which test holds it.

`docs/paper-numbers.md` shows the list with a verdict each. Measured statements take theirs from the results of
`vse reproduce`; the others are held by their test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vse_ens.report.tables import Table


@dataclass(frozen=True)
class Statement:
    """A statement of the paper."""

    text: str
    source: str
    code: str
    """The module, or the function or class after a colon."""
    test: str
    """The test file and the test, separated by two colons."""
    verdict: str = ""
    """The verdict, unless it is measured."""
    key: str = ""
    """The key of the findings in `benchmarks.paper.findings`."""


_HOLDS = "implemented as printed"
_KERNEL_TESTS = "tests/kernels/test_serial.py"
_PAPER_TESTS = "tests/benchmarks/paper"
_RULES = f"{_PAPER_TESTS}/test_findings.py::test_every_rule_says_all_three"

STATEMENTS = (
    Statement(
        "s_i(a) = v_i · v_a",
        "eq. 1",
        "vse_ens.model.embeddings:Embeddings",
        "tests/model/test_embeddings.py::test_vectors_and_scores",
        _HOLDS,
    ),
    Statement(
        "a step descends on the hinge of a violating pair, weighted by L(rank)",
        "eq. 2, and the contribution of a triplet below it",
        "vse_ens.kernels.serial:serial_kernel",
        f"{_KERNEL_TESTS}::test_same_steps_as_algorithm_1",
        "implemented; the division by rank in eq. 2 is that by the number of violating labels, one of which is drawn",
    ),
    Statement(
        "rank counts the labels that violate the margin",
        "eq. 3",
        "vse_ens.kernels.serial:serial_kernel",
        f"{_KERNEL_TESTS}::test_same_steps_as_algorithm_1",
        "estimated as floor((|A| - 1)/N) after N tries, which is Weston's (2011) and not in the paper",
    ),
    Statement(
        "L(k) is a sum of ξ_j; ξ_j = 1/(|A| - 1) optimizes the mean rank",
        "the text below eq. 3",
        "vse_ens.train.sampling:rank_weights",
        "tests/train/test_sampling.py::test_weights_of_ranks",
        "implemented; WARP uses ξ_j = 1/j by default, the paper does not say which it used",
    ),
    Statement(
        "a label violates if 1 + s_i(a_n) > s_i(a_p)",
        "eq. 4",
        "vse_ens.kernels.samplers:draw_warp",
        "tests/kernels/test_samplers.py::test_warp_is_uniform_among_labels_that_violate_the_margin",
        _HOLDS,
    ),
    Statement(
        "WARP comes to need 2,100, 900 and 1,600 samples",
        "figure 1",
        "benchmarks.paper.rules_time:search_length",
        _RULES,
        key="search-length",
    ),
    Statement(
        "over 2,000 samples by iteration 13, and 870 by iteration 15",
        "figure 1",
        "benchmarks.paper.rules_time:search_growth",
        _RULES,
        key="search-growth",
    ),
    Statement(
        "p(a_n) ∝ exp(-r)/λ",
        "eq. 5",
        "vse_ens.train.sampling:rank_probabilities",
        "tests/train/test_sampling.py::test_ranks",
        "misprint: λ cancels; exp(-r/λ) of the sampling steps is implemented, with λ as a share of |A| as in the "
        "authors' Java",
    ),
    Statement(
        "the naive sampler costs O(|A|k + |A| log|A|) per step",
        "section 3",
        "vse_ens.kernels.samplers:label_at_rank",
        "tests/kernels/test_samplers.py::test_naive_draws_by_the_exact_ranking",
        "implemented; it selects the label at rank r instead of sorting all",
    ),
    Statement(
        "s* ranks labels as s does",
        "eq. 6, 7 and 8",
        "benchmarks.paper.equivalence:same_ranking",
        f"{_PAPER_TESTS}/test_equivalence.py::test_the_transformed_score_ranks_as_the_score_does",
        key="rank-invariance",
    ),
    Statement(
        "p(f|i) ∝ |v_if| σ_f, σ_f the standard deviation over labels",
        "eq. 7 and 8",
        "vse_ens.kernels.serial:draw_factor",
        f"{_KERNEL_TESTS}::test_figure_2_draws_ranks_and_factors_by_hand_computed_laws",
        _HOLDS,
    ),
    Statement(
        "position r if v_if > 0, else |A| - r + 1",
        "eq. 9, algorithm 1",
        "vse_ens.kernels.serial:label_at",
        f"{_KERNEL_TESTS}::test_worked_example_of_figure_2",
        _HOLDS,
    ),
    Statement(
        "drawing by factors is equivalent to drawing by inner products",
        "section 1",
        "benchmarks.paper.equivalence:Distributions",
        f"{_PAPER_TESTS}/test_equivalence.py::test_distributions_are_those_that_the_kernel_draws_from",
        key="equivalence",
    ),
    Statement(
        "accuracy comparable to or better than with inner products",
        "section 1",
        "benchmarks.paper.equivalence:sampler_config",
        _RULES,
        key="comparable-accuracy",
    ),
    Statement(
        "rankings are recomputed every |A| log|A| draws",
        "algorithm 1, line 4",
        "vse_ens.train.engines.serial:refresh_period",
        "tests/train/engines/test_serial.py::test_rankings_change_every_a_ln_a_draws_and_only_then",
        _HOLDS + ", with the natural logarithm",
    ),
    Statement(
        "the order changes only little between two refreshes",
        "section 3, process of sampling",
        "benchmarks.paper.rules_time:order_changes_little",
        _RULES,
        key="order-changes-little",
    ),
    Statement(
        "one SGD step per draw; a drawn label is not compared with the image's own labels",
        "algorithm 1",
        "vse_ens.kernels.serial:serial_kernel",
        "tests/train/engines/test_serial.py::test_epochs_are_those_of_algorithm_1",
        _HOLDS + "; redraw_positives=True compares",
    ),
    Statement(
        "5 images, 10 labels, 5 factors; positions 2 and 8",
        "figure 2",
        "benchmarks.paper.example:worked_example",
        f"{_PAPER_TESTS}/test_example.py::test_the_kernel_draws_positions_2_and_9",
        key="worked-example",
    ),
    Statement(
        "images, labels, train and test pairs",
        "table 1",
        "benchmarks.paper.data_sets:load_data_set",
        f"{_PAPER_TESTS}/test_data_sets.py::test_stand_ins_have_the_shapes_of_table_1",
        key="sizes",
    ),
    Statement(
        "an image of IAPR-TC12 has 5.7 labels",
        "section 4, datasets",
        "benchmarks.paper.rules_accuracy:labels_per_image",
        _RULES,
        key="labels-per-image",
    ),
    Statement(
        "the 5.7 labels per image follow from table 1",
        "section 4, datasets; table 1",
        "benchmarks.paper.rules_printed:labels_per_image_of_table",
        _RULES,
        key="labels-per-image-of-table",
    ),
    Statement(
        "leave-one-out: a random annotation of each image",
        "section 4, set-up",
        "vse_ens.data.splits:leave_one_out",
        "tests/data/test_splits.py::test_leave_one_out_takes_one_label_of_every_image_that_has_several",
        "implemented; an image with a single label keeps it",
    ),
    Statement(
        "k = 100, rate 0.01, regularization 0.01, N(0, 0.01)",
        "section 4, set-up",
        "benchmarks.paper.training:paper_config",
        f"{_PAPER_TESTS}/test_training.py::test_settings_are_those_that_the_paper_prints",
        "implemented; both readings of N(0, 0.01) are run; the paper does not say what is regularized when, here every "
        "vector that a step has drawn",
    ),
    Statement(
        "λ tuned from 0.001 to 1.0, rate and regularization of the others from 0.001 to 0.1",
        "section 4, set-up",
        "benchmarks.paper.tuning:candidates",
        f"{_PAPER_TESTS}/test_tuning.py::test_candidates_span_the_ranges_of_the_paper",
        "implemented",
    ),
    Statement(
        "VSE-ens is best on all data sets and metrics",
        "table 2",
        "benchmarks.paper.accuracy:differences",
        _RULES,
        key="best-of-three",
    ),
    Statement(
        "VSE-ens is better than WARP",
        "table 2",
        "benchmarks.paper.rules_accuracy:above_warp",
        _RULES,
        key="above-warp",
    ),
    Statement(
        "adaptive negatives are more effective than uniform ones",
        "section 4, accuracy",
        "benchmarks.paper.rules_accuracy:adaptive_above_uniform",
        _RULES,
        key="adaptive-above-uniform",
    ),
    Statement(
        "WARP is a stronger baseline than Opt-AUC",
        "section 4, accuracy",
        "benchmarks.paper.accuracy:differences",
        _RULES,
        key="warp-above-opt-auc",
    ),
    Statement(
        "the accuracies themselves",
        "table 2",
        "benchmarks.paper.accuracy:accuracy",
        _RULES,
        key="printed-accuracy",
    ),
    Statement(
        "Improve: VSE-ens relative to WARP",
        "table 2",
        "benchmarks.paper.numbers:improvement_from_cells",
        f"{_PAPER_TESTS}/test_numbers.py::test_improve_follows_from_the_cells_relative_to_warp",
        "follows from the printed cells",
    ),
    Statement(
        "AUC takes the full ranking into account",
        "section 4, metrics",
        "vse_ens.evaluate.metrics:auc_at",
        f"{_PAPER_TESTS}/test_numbers.py::test_the_auc_column_is_half_plus_half_the_recall",
        key="auc-column",
    ),
    Statement(
        "Rec@N = TP/(TP + TN)",
        "section 4, metrics",
        "vse_ens.evaluate.metrics:recall",
        "tests/evaluate/test_metrics.py::test_several_held_out_labels_worked_by_hand",
        "misprint: TN must be FN",
    ),
    Statement(
        "a step of VSE-ens costs O(2k), whatever the number of labels",
        "table 3",
        "benchmarks.paper.rules_time:cost_in_labels",
        _RULES,
        key="cost-in-labels",
    ),
    Statement(
        "VSE-ens O(2k), Opt-AUC O(k)",
        "table 3",
        "benchmarks.paper.rules_time:cost_ratio",
        _RULES,
        key="cost-ratio",
    ),
    Statement(
        "WARP O(Tk)",
        "table 3",
        "benchmarks.paper.rules_time:cost_of_warp",
        _RULES,
        key="warp-cost",
    ),
    Statement(
        "VSE-ens scales linearly to large data sets",
        "abstract",
        "benchmarks.paper.rules_time:linear_in_pairs",
        _RULES,
        key="linear-in-pairs",
    ),
    Statement(
        "VSE-ens converges 5.02, 2.5 and 2.06 times as fast as WARP",
        "abstract",
        "benchmarks.paper.rules_time:speed_up",
        _RULES,
        key="speed-up",
    ),
    Statement(
        "VSE-ens converges faster than WARP",
        "abstract; section 1",
        "benchmarks.paper.rules_time:faster_than_warp",
        _RULES,
        key="faster-than-warp",
    ),
    Statement(
        "5.02, 2.5 and 2.06 follow from table 4",
        "abstract, table 4",
        "benchmarks.paper.rules_printed:speed_up_of_hours",
        _RULES,
        key="speed-up-of-hours",
    ),
    Statement(
        "the training times of the three models, relative to VSE-ens",
        "table 4",
        "benchmarks.paper.rules_time:hours",
        _RULES,
        key="hours",
    ),
    Statement(
        "VSE-ens takes less time than Opt-AUC",
        "table 4",
        "benchmarks.paper.rules_time:faster_than_opt_auc",
        _RULES,
        key="faster-than-opt-auc",
    ),
    Statement(
        "VSE-ens needs fewer iterations to converge than Opt-AUC",
        "section 4, time",
        "benchmarks.paper.rules_time:fewer_iterations",
        _RULES,
        key="fewer-iterations",
    ),
    Statement(
        "convergence at about 200, 150 and 800 iterations",
        "section 4, time",
        "benchmarks.paper.rules_time:convergence",
        _RULES,
        key="convergence",
    ),
)


def statement_table(document: dict[str, Any]) -> Table:
    """Return all statements with their place in the code, their test, and the verdict of a document."""
    rows: list[Sequence[str]] = []
    for statement in STATEMENTS:
        verdict = statement.verdict or "; ".join(_measured(document, statement.key)) or "not run"
        rows.append((statement.text, statement.source, statement.code, statement.test, verdict))
    columns = ("statement of the paper", "source", "code", "test", "verdict")
    return Table("Statements of the paper, where they are in the code, and the tests that hold them.", columns, rows)


def _measured(document: dict[str, Any], key: str) -> Iterator[str]:
    """Yield the outcomes, with the number of findings of each."""
    outcomes = [one["outcome"] for one in document["verdicts"] if one["key"] == key]
    for outcome in sorted(set(outcomes)):
        yield f"{outcome} ({outcomes.count(outcome)})" if outcomes.count(outcome) > 1 else outcome
