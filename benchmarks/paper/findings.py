"""What the paper states, and what the results say about it.

Every statement has one finding per data set or model, with one of three outcomes: `benchmarks.paper.judge` says how
intervals decide. The groups below a finding are the settings it was tested with. Those of the paper's protocol decide,
and only together; fixed settings are shown for comparison. Results on a stand-in, on a data set of another size, of
trainings that diverged or ran out of time, and of fewer seeds than three decide nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.paper.data_sets import is_of_paper_size, marked_titles
from benchmarks.paper.judge import MIN_SEEDS, UNDECIDED, Estimate, Outcome, unanimous
from benchmarks.paper.numbers import MODELS, PAPER

Document = dict[str, Any]

GROUPS = {
    "tuned": "tuned by the last iteration, N(0, 0.01) as standard deviation 0.01",
    "early": "tuned by the best iteration and stopped there, standard deviation 0.01",
    "tuned-variance": "tuned by the last iteration, N(0, 0.01) as variance 0.01",
    "early-variance": "tuned by the best iteration and stopped there, variance 0.01",
    "deviation": "fixed settings, standard deviation 0.01",
    "variance": "fixed settings, variance 0.01",
}
"""The groups of trainings that table 2 compares, the paper's protocol first."""
PROTOCOL = ("tuned", "early", "tuned-variance", "early-variance")
"""The groups that decide: the paper tunes all models. It leaves the reading of N(0, 0.01) and stopping open."""

BUSY = 1.5
"""How far apart the CPU times of one training may be on a machine with other work, or on one that is not known."""
_OTHERS = 0.15  # cores that other processes use on a quiet machine, as in benchmarks.core.load


@dataclass(frozen=True)
class Group:
    """The outcome with one group of settings."""

    name: str
    outcome: Outcome
    evidence: str
    decides: bool = True


@dataclass(frozen=True)
class Finding:
    """A statement of the paper with the outcome of its test."""

    key: str
    """The statement in `benchmarks.paper.statements`."""
    statement: str
    source: str
    outcome: Outcome
    evidence: str
    data_set: str | None = None
    groups: tuple[Group, ...] = ()


def findings_of(document: Document) -> list[Finding]:
    """Return the findings of all results so far, in the order of the paper."""
    from benchmarks.paper import rules_accuracy, rules_printed, rules_time

    rules: tuple[Callable[[Document], Iterator[Finding]], ...] = (
        rules_time.speed_up,
        rules_time.faster_than_warp,
        rules_printed.speed_up_of_hours,
        rules_time.linear_in_pairs,
        rules_time.search_length,
        rules_time.search_growth,
        rules_accuracy.rank_invariance,
        rules_accuracy.equivalence,
        rules_accuracy.comparable,
        rules_time.order_changes_little,
        rules_printed.worked_example,
        rules_accuracy.sizes,
        rules_accuracy.labels_per_image,
        rules_printed.labels_per_image_of_table,
        rules_accuracy.best_of_three,
        rules_accuracy.above_warp,
        rules_accuracy.warp_above_opt_auc,
        rules_accuracy.adaptive_above_uniform,
        rules_accuracy.printed_values,
        rules_printed.auc_column,
        rules_time.cost_in_labels,
        rules_time.cost_ratio,
        rules_time.cost_of_warp,
        rules_time.hours,
        rules_time.faster_than_opt_auc,
        rules_time.fewer_iterations,
        rules_time.convergence,
    )
    return [finding for rule in rules for finding in rule(document)]


# --- reading the document ---


def each(document: Document) -> Iterator[tuple[str, str]]:
    """Yield the data sets in the order of the paper, with their titles."""
    yield from marked_titles(document["data_sets"]).items()


def groups_of(document: Document, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the groups of table 2 that have all three models."""
    for group in GROUPS:
        found = document["runs"].get(name, {}).get(group)
        if found is not None and MODELS.keys() <= found["models"].keys():
            yield group, found


def runs_of(group: dict[str, Any], *models: str) -> list[tuple[dict[str, Any], ...]]:
    """Return the runs of models by seed, for the seeds that all have: a run in progress may have more of one."""
    return list(zip(*(group["models"][model]["runs"] for model in models), strict=False))


def doubt_about_data(document: Document, name: str) -> str:
    """Return why results on a data set decide nothing about the paper; empty if they do."""
    described, paper = document["data_sets"][name], PAPER["table1"][name]
    if described["generated"]:
        return "This is a stand-in, not the paper's data."
    if not is_of_paper_size(name, described):
        return (
            f"This is another data set: {described['images']:,} images and {described['labels']:,} labels, where table "
            f"1 has {paper['images']:,} and {paper['labels']:,}."
        )
    return ""


def doubt(document: Document, name: str, group: dict[str, Any], *models: str, seeds: int = MIN_SEEDS) -> str:
    """Return why the trainings of models decide nothing; empty if they do."""
    if why := doubt_about_data(document, name):
        return why
    runs = [run for model in models for run in group["models"][model]["runs"]]
    for ending, text in (("out of time", "ran out of time"), ("diverged", "diverged")):
        if any(run["ending"] == ending for run in runs):
            return f"A training {text}."
    if min(len(group["models"][model]["runs"]) for model in models) < seeds:
        return f"Fewer than {seeds} seeds."
    return ""


def is_quiet(measured: dict[str, Any]) -> bool:
    """Return whether a measurement is known to have had the machine to itself."""
    others = (measured.get("provenance") or {}).get("others")
    return others is not None and others <= _OTHERS


def timed(ratio: Estimate, measured: Iterable[dict[str, Any]]) -> tuple[Estimate, str]:
    """Return a ratio of CPU times, with a wider interval if the machine had other work, and the words that say so."""
    if all(is_quiet(one) for one in measured):
        return ratio, ""
    return ratio.widened(BUSY), (
        f"The machine had other work, so that the interval is wider by a factor of {BUSY:g} on both sides."
    )


def settled(
    key: str, statement: str, source: str, groups: Sequence[tuple[str, Outcome, str]], name: str | None
) -> Iterator[Finding]:
    """Yield the finding that groups of settings make together: those of the paper's protocol must say the same."""
    if not groups:
        return
    marked = tuple(Group(GROUPS[one], outcome, text, one in PROTOCOL) for one, outcome, text in groups)
    deciding = [group for group in marked if group.decides]
    outcome = unanimous(group.outcome for group in deciding) if deciding else UNDECIDED
    if not deciding:
        evidence = "No settings were tuned, as the paper's were."
    elif len({group.outcome for group in deciding}) > 1:
        counted = Counter(group.outcome for group in deciding)
        differ = ", ".join(f"{number} × {one}" for one, number in counted.items())
        evidence = f"It depends on the reading of N(0, 0.01), or on when a training is stopped: {differ}."
    else:
        evidence = deciding[0].evidence
    yield Finding(key, statement, source, outcome, evidence, name, marked)
