"""Statements that the paper's own numbers decide, and the worked example."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.paper.findings import Document, Finding
from benchmarks.paper.judge import AGREES, CONTRADICTS, UNDECIDED, Estimate, Outcome, equal
from benchmarks.paper.numbers import DATA_SETS, MODELS, PAPER, number, printed, rounding

# A row whose AUC is off the identity by more than this has the AUC of a longer list than ten labels.
_AUC_MARGIN = 0.02


def speed_up_of_hours(_document: Document) -> Iterator[Finding]:
    """The quotient of the printed hours rounds to the stated speed-up, or no hours that are printed so can."""
    for name in DATA_SETS:
        stated = PAPER["abstract"]["speed_up"][name]
        warp, ours = (PAPER["table4"][model][name] for model in ("warp", "vse-ens"))
        quotient = quotient_of(warp, ours)
        half = rounding(stated)
        outcome = equal(quotient, number(stated) - half, number(stated) + half)
        if outcome == UNDECIDED and abs(quotient.mean - number(stated)) <= half:
            outcome = AGREES
        yield Finding(
            "speed-up-of-hours",
            f"The speed-up of {stated} on {DATA_SETS[name]} follows from table 4.",
            "abstract, table 4",
            outcome,
            f"Table 4 gives {warp} / {ours} = {quotient.mean:.4f}; with hours before rounding, {quotient.low:.3f} to "
            f"{quotient.high:.3f}.",
        )


def quotient_of(first: str, second: str) -> Estimate:
    """Return the quotient of two printed numbers, with the smallest and largest that round to them."""
    (a, half_a), (b, half_b) = ((number(text), rounding(text)) for text in (first, second))
    return Estimate(a / b, (a - half_a) / (b + half_b), (a + half_a) / (b - half_b))


def worked_example(document: Document) -> Iterator[Finding]:
    """The kernel draws the stated position; without a draw with r = 2 and f = 3 it is open."""
    for case, sign in (("positive", ">"), ("negative", "<")):
        stated = PAPER["figure2"][f"position_if_{case}"]
        position = document["example"]["cases"][case].get("position")
        outcome: Outcome = UNDECIDED if position is None else AGREES if position == stated else CONTRADICTS
        yield Finding(
            "worked-example",
            f"With r = 2, f = 3 and v_13 {sign} 0 the negative is at position {stated} of 10.",
            PAPER["figure2"]["source"],
            outcome,
            (
                "No draw of the training kernel has r = 2 and f = 3; "
                if position is None
                else f"The training kernel returns the label at position {position}; "
            )
            + ("algorithm 1 has r = 2." if case == "positive" else "algorithm 1 has |A| - r + 1 = 9."),
        )


def labels_per_image_of_table(_document: Document) -> Iterator[Finding]:
    """The labels per image in the text follow from the pairs of table 1."""
    for name, stated in PAPER["table1"]["labels_per_image"].items():
        sizes = PAPER["table1"][name]
        pairs = sizes["train"] + sizes["test"]
        found = pairs / sizes["images"]
        half = rounding(stated)
        # Counts are exact, so that only a table without images leaves it open.
        outcome: Outcome = UNDECIDED if pairs == 0 else AGREES if abs(found - number(stated)) <= half else CONTRADICTS
        yield Finding(
            "labels-per-image-of-table",
            f"The {stated} labels per image of {DATA_SETS[name]} follow from table 1.",
            "section 4, datasets; table 1",
            outcome,
            f"Table 1 has {sizes['train']:,} + {sizes['test']:,} pairs and {sizes['images']:,} images: {found:.2f}.",
        )


def auc_column(_document: Document) -> Iterator[Finding]:
    """An AUC of the first ten labels is 0.5 + R/2 - R (r - 1) / (|C| - 1) with a mean rank r of hits from 1 to 10."""
    gaps, possible = [], []
    for name in DATA_SETS:
        for model in MODELS:
            cells = {metric: number(text) for metric, text in printed(name, model).items()}
            gap = 0.5 + cells["recall@10"] / 2.0 - cells["auc"]
            most = 9.0 * cells["recall@10"] / (PAPER["table1"][name]["labels"] - 1)
            gaps.append(gap)
            possible.append(-0.0001 <= gap <= most + 0.0001)
    outcome: Outcome = UNDECIDED
    if all(possible):
        outcome = CONTRADICTS
    elif max(map(abs, gaps)) > _AUC_MARGIN:
        outcome = AGREES
    yield Finding(
        "auc-column",
        "AUC takes the full ranking into account.",
        "section 4, evaluation metrics",
        outcome,
        f"In {sum(possible)} of nine rows of table 2 the printed AUC is one that the first ten labels can have, auc@10 "
        f"here: 0.5 + Rec@10 / 2 less {min(gaps):.4f} to {max(gaps):.4f}.",
    )
