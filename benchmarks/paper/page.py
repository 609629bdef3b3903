"""The report of a reproduction, built from the content of report.json only, in the order of the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.core.markdown import Bullets
from benchmarks.paper import page_results, page_sampling
from benchmarks.paper.findings import doubt_about_data, is_quiet
from benchmarks.paper.judge import AGREES, CONTRADICTS, UNDECIDED, Outcome
from benchmarks.paper.numbers import (
    ITERATIONS,
    MODELS,
    PAPER,
)
from vse_ens.report.html import Block, Code, Facts, Note, Page, Paragraph, Section
from vse_ens.report.tables import Cell, Table

Document = dict[str, Any]


def reproduction_page(document: Document) -> Page:
    """Return the report of a document, which may be incomplete."""
    page = Page(
        "VSE-ens: the paper's experiments reproduced",
        "The experiments of Guo, Zhai, Yuan, Liu and Wang, “VSE-ens: Visual-Semantic Embeddings with Efficient "
        "Negative Sampling” (AAAI 2018), rerun with vse-ens, in the order of the paper. The paper's value is shown "
        "below ours.",
    )
    sections = (
        Section("Verdicts", *_findings(document)),
        Section("Figure 1: samples that WARP needs", *page_sampling.search_blocks(document)),
        Section("Section 3: is the sampler equivalent to inner products?", *page_sampling.equivalence_blocks(document)),
        Section("Figure 2: the worked example", *page_sampling.example_blocks(document)),
        Section("Table 1: data sets", *page_results.data_blocks(document)),
        Section("Table 2: ranking accuracy", *page_results.accuracy_blocks(document)),
        Section("Tuning, and accuracy by λ", *page_results.tuning_blocks(document)),
        Section("Table 3: time complexity", *page_results.cost_blocks(document)),
        Section("Table 4: training time", *page_results.time_blocks(document)),
        Section("Convergence: time to accuracy", *page_results.convergence_blocks(document)),
        Section("Method", *_method(document)),
    )
    return page.add(*(section for section in sections if section.blocks))


def _findings(document: Document) -> Iterator[Block]:
    if not document["complete"]:
        yield Note("This report is not complete: the run was stopped or is still in progress.", "warning")
    described = document["data_sets"]
    generated = [one["title"] for one in described.values() if one["generated"]]
    if generated:
        yield Note(
            f"No file was given for {', '.join(generated)}, so stand-ins of the paper's shape are used: synthetic data "
            "that shows how the methods scale, and nothing about accuracy on the real data.",
            "warning",
        )
    counted = counts(document)
    yield Paragraph(
        f"{sum(counted.values())} statements were tested on the paper's data or its own numbers: "
        + ", ".join(f"{counted[outcome]} {text}" for outcome, text in _OUTCOMES.items())
        + ". Other data decide nothing and are not counted. Each statement stands once for a data set or model. The "
        "settings it was tested with are below it; those of the "
        "paper's protocol decide, and only if they say the same."
    )
    rows: list[Sequence[Any]] = []
    for one in document["verdicts"]:
        outcome = Cell(one["outcome"], best=one["outcome"] == AGREES, note=one["evidence"])
        rows.append((Cell(one["statement"], note=one["source"]), outcome))
        for group in one.get("groups") or ():
            mark = "" if group["decides"] else "for comparison: "
            rows.append((f"– {mark}{group['name']}", Cell(group["outcome"], note=group["evidence"])))
    yield Table("Verdicts on the paper.", ("statement", "verdict"), rows)


_OUTCOMES: dict[Outcome, str] = {
    AGREES: "agree",
    CONTRADICTS: "are contradicted",
    UNDECIDED: "cannot be decided here",
}


def counts(document: Document) -> dict[Outcome, int]:
    """Return the number of statements with each outcome, without those on stand-ins and samples."""
    outcomes = [
        one["outcome"]
        for one in document["verdicts"]
        if one["data_set"] is None or not doubt_about_data(document, one["data_set"])
    ]
    return {outcome: outcomes.count(outcome) for outcome in _OUTCOMES}


def _provenance(document: Document) -> Iterator[tuple[str, str]]:
    """Yield where the parts come from, which may have been finished in several runs and places."""
    parts = [one for one in (document.get("parts") or {}).values() if one]
    if not parts:
        return
    dates = sorted(one["date"] for one in parts)
    loads = [load for one in parts for load in one["load"]]
    others = [one["others"] for one in parts if one["others"] is not None]
    seconds = sum(one["wall_seconds"] for one in parts)
    yield "parts", f"{len(parts)}, from {dates[0]} to {dates[-1]}, {seconds:,.0f} s in all"
    for name in ("commit", "processor", "python", "numba"):
        counted = Counter(one[name] for one in parts)
        yield name, ", ".join(f"{value} ({number} parts)" for value, number in counted.items())
    yield "load average", f"{min(loads):.1f} to {max(loads):.1f}"
    if others:
        quiet = sum(is_quiet({"provenance": one}) for one in parts)
        text = f"{min(others):.2f} to {max(others):.2f}; {quiet} parts had the machine to themselves"
        yield "cores used by other processes", text


def _method(document: Document) -> Iterator[Block]:
    limits = document["limits"]
    machine = document["machine"]
    yield Facts(
        [
            ("effort", document["effort"]),
            ("time", f"{document['seconds']:,.0f} s, without parts finished in earlier runs"),
            *((name, text) for name, text in machine.items() if not document.get("parts") or name == "vse-ens"),
            *_provenance(document),
        ]
    )
    setup = PAPER["setup"]
    iterations = ", ".join(f"{count} iterations for {MODELS[model]}" for model, count in ITERATIONS.items())
    items = [
        (
            f"The paper's settings: k = {setup['dimensions']}, learning rate {setup['learning_rate']}, regularization "
            f"{setup['regularization']}, {setup['init']}, and {iterations}. The presets paper-vse-ens, paper-warp and "
            "paper-opt-auc have them and run algorithm 1 as printed, one step after the other. Fixed settings have "
            "λ = 0.1; tuned ones the λ found."
        ),
        (
            "An iteration is as many steps as there are training pairs; pairs are drawn with replacement. "
            "docs/training.md lists what the paper leaves open and how it is set here."
        ),
        "The paper's 5.02, 2.5 and 2.06 are compared with the CPU time to 99 % of each model's own best accuracy.",
    ]
    if "seconds" in limits:
        shorter = document["stand_in_seconds"].items()
        on_stand_ins = ", ".join(f"{seconds:,.0f} for {MODELS[model]}" for model, seconds in shorter)
        items.append(
            f"A training ends after the iteration in which it has used {limits['seconds']:,.0f} CPU seconds"
            + (f" (on stand-ins {on_stand_ins})" if on_stand_ins else "")
            + "; the time of all iterations is then projected at the pace of the last."
        )
    if shortlist := document.get("shortlist"):
        listed = "; ".join(
            f"{MODELS[model]}: " + ", ".join(" and ".join(f"{value:g}" for value in one.values()) for one in tried)
            for model, tried in shortlist.items()
        )
        items.append(
            "Tuning tried a list of settings only, the best of an earlier run over the whole grid: λ of VSE-ens, rate "
            f"and regularization of the others ({listed})."
        )
    if left_out := document.get("left_out"):
        items.append(f"For lack of time, these parts were left out: {', '.join(left_out)}.")
    if missing := document.get("missing"):
        listed = "; ".join(f"{title}: {number}" for title, number in missing.items())
        items.append(f"Trainings that are missing ({listed}). What they would decide is left open.")
    yield Bullets(items)
    paths = [f" --{name} {one['path']}" for name, one in document["data_sets"].items() if one["path"]]
    yield Code("vse reproduce" + (" --quick" if document["effort"] == "quick" else "") + "".join(paths))
