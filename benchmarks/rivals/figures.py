"""The tables of the rivals, from stored parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from benchmarks.core.benchmark import Raw, Score, Table
from benchmarks.rivals.base import OURS, TUNED_FOR
from vse_ens.evaluate.rankings import GROUPS

SPLIT_SEED = 2026
"""Of the test labels. No setting of this project was chosen on this split, and no other benchmark uses it."""
METRICS = ("recall@10", "mrr", "ndcg@10", "auc")
HELD_OUT = 5_000
TUNING_IMAGES = 50_000
"""Larger data is tuned on this many of its images, chosen at random."""


class Row(NamedTuple):
    """One rival on one data set."""

    rival: str
    data_set: str
    raw: Raw

    def mean(self, metric: str) -> float:
        """Return the mean over seeds."""
        return float(np.mean([fit[metric] for fit in self.raw["fits"]]))

    def spread(self, metric: str) -> float:
        """Return the standard deviation over seeds; 0 with one seed."""
        values = [fit[metric] for fit in self.raw["fits"]]
        return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0

    def group(self, name: str) -> float | None:
        """Return the mean recall@10 of a group of labels; None if it has no test label."""
        values = [fit["groups"][name]["recall@10"] for fit in self.raw["fits"] if name in fit["groups"]]
        return float(np.mean(values)) if values else None


def part_name(rival: str, data_set: str) -> str:
    """Return the name of a part."""
    return f"{rival} on {data_set}"


def split_name(part: str) -> tuple[str, str]:
    """Return rival and data set of a part."""
    rival, _, data_set = part.rpartition(" on ")
    return rival, data_set


def rows(raw: Raw) -> dict[str, list[Row]]:
    """Return the measured rows by data set, the best recall@10 first."""
    found: dict[str, list[Row]] = {}
    for part, stored in raw["parts"].items():
        if "fits" in stored["raw"]:
            rival, data_set = split_name(part)
            found.setdefault(data_set, []).append(Row(rival, data_set, stored["raw"]))
    return {name: sorted(some, key=lambda row: -row.mean("recall@10")) for name, some in found.items()}


def title(rival: str) -> str:
    """Return the name of a rival as tables show it."""
    return "**`context`, the default**" if rival == OURS else rival


def score(raw: Raw) -> Score:
    """Return where a rival is ahead of the default, and one table per data set."""
    found = rows(raw)
    budgets = " or ".join(f"{budget:g}" for budget in sorted({row.raw["budget"] for row in chain(*found.values())}))
    how = (
        f"Leave-one-out, seed {SPLIT_SEED}, a split that no other benchmark uses and on which nothing was chosen. All "
        "labels except the known ones of an image are ranked. Means over three seeds, with the standard deviation of "
        "recall@10; a method without randomness has none. Head, middle and tail: recall@10 of the held-out labels of "
        "the most common labels that make up a third of all training pairs, of the next third, and of the rest. "
        "Coverage: the share of all labels that are among the first ten of some image."
    )
    tuning = (
        f"Settings of every rival were chosen by {TUNED_FOR} on one label of a third of the images, at most "
        f"{HELD_OUT:,}, held out of the training part, within {budgets} CPU seconds a data set, ranking "
        f"included; data of more than {TUNING_IMAGES:,} images was tuned on that many of them. The default has no "
        "settings: its own validation is part of its fit. Times are CPU seconds on one core that other processes "
        "shared; an answer is the scores of all labels for one image. The size counts the arrays that a "
        "model scores with, without the known pairs."
    )
    remarks = sorted({row.raw["remark"] for row in chain(*found.values()) if row.raw["remark"]})
    tables = [_ahead(found), *(_table(name, some) for name, some in found.items())]
    return Score(tables=tables, notes=[how, tuning, *remarks])


def differences(found: dict[str, list[Row]]) -> Iterator[tuple[str, str, Row, float, float]]:
    """Yield data set, metric, the best rival, its lead over the default, and the standard error of that lead.

    The standard error is over seeds alone: all methods rank the same test labels.
    """
    for data_set, some in found.items():
        ours = next((row for row in some if row.rival == OURS), None)
        others = [row for row in some if row.rival != OURS]
        if ours is None or not others:
            continue
        for metric in METRICS:
            best = max(others, key=lambda row: row.mean(metric))
            error = np.hypot(*(row.spread(metric) / len(row.raw["fits"]) ** 0.5 for row in (best, ours)))
            yield data_set, metric, best, best.mean(metric) - ours.mean(metric), float(error)


def _ahead(found: dict[str, list[Row]]) -> Table:
    cells = [
        (data_set, metric, best.rival, f"{best.mean(metric):.4f}", f"{-lead:+.4f}", f"{error:.4f}", _verdict(lead))
        for data_set, metric, best, lead, error in differences(found)
    ]
    return Table(("data", "metric", "best rival", "its value", "default minus it", "standard error", ""), cells)


def _verdict(lead: float) -> str:
    return "**rival ahead**" if lead > 0 else ""


def _table(data_set: str, some: list[Row]) -> Table:
    best: dict[str, float] = {metric: max(row.mean(metric) for row in some) for metric in METRICS}

    def cell(row: Row, metric: str) -> str:
        shown = f"{row.mean(metric):.4f}"
        if metric == "recall@10" and len(row.raw["fits"]) > 1:
            shown += f" ± {row.spread(metric):.4f}"
        return f"**{shown}**" if row.mean(metric) == best[metric] else shown

    lines = [
        (
            title(row.rival),
            *(cell(row, metric) for metric in METRICS),
            " / ".join("-" if (value := row.group(name)) is None else f"{value:.3f}" for name in GROUPS),
            f"{row.mean('coverage@10'):.0%}",
            f"{row.mean('seconds'):.2g} s" if row.mean("seconds") < 10 else f"{row.mean('seconds'):.0f} s",
            f"{1000 * row.mean('answer_seconds'):.2g} ms",
            _size(row.mean("bytes")),
            f"{row.raw['tried']} in {row.raw['tuning_seconds']:.0f} s" if row.raw["tuning_seconds"] > 0.01 else "-",
        )
        for row in some
    ]
    facts = some[0].raw
    name = f"{data_set}, {facts['images']:,} images, {facts['labels']:,} labels"
    columns = (name, *METRICS, " / ".join(GROUPS), "coverage", "fit", "answer", "size", "settings tried")
    return Table(columns, lines)


def _size(count: float) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


def summary(raw: Raw, names: Callable[[str], str]) -> Table:
    """Return recall@10 / MRR of every rival on every data set, the best of a column in bold."""
    found = rows(raw)
    by_rival: dict[str, dict[str, Row]] = {}
    for data_set, some in found.items():
        for row in some:
            by_rival.setdefault(row.rival, {})[data_set] = row
    best = {data_set: some[0].rival for data_set, some in found.items()}
    highest = {data_set: some[0].mean("recall@10") for data_set, some in found.items()}

    def behind(rival: str) -> float:
        """By how much it is behind the best, on average: a rival need not have run on all data sets."""
        return float(np.mean([highest[name] - row.mean("recall@10") for name, row in by_rival[rival].items()]))

    order = sorted(by_rival, key=behind)

    def cell(rival: str, data_set: str) -> str:
        row = by_rival[rival].get(data_set)
        if row is None:
            return "-"
        shown = f"{row.mean('recall@10'):.3f} / {row.mean('mrr'):.3f}"
        return f"**{shown}**" if best[data_set] == rival else shown

    return Table(
        ("", *map(names, found)), [(title(rival), *(cell(rival, data_set) for data_set in found)) for rival in order]
    )
