"""The results of an evaluation: metrics with intervals, overall and by label frequency."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.arrow import rows_to_frame
from vse_ens.display import Table, TableRepr, Value, aligned, short
from vse_ens.evaluate import metrics
from vse_ens.evaluate.bootstrap import Sample, intervals
from vse_ens.evaluate.metrics import TOPS, Numbers
from vse_ens.evaluate.rankings import GROUPS, Rankings, group_of
from vse_ens.streams import Streams

GROUP_METRICS = ("recall@10", "map", "mrr")

Interval = tuple[float, float]


@dataclass(frozen=True)
class Group:
    """Results for the held-out pairs of one group of labels: head, middle or tail."""

    labels: int
    """Number of different labels."""
    pairs: int
    images: int
    metrics: dict[str, float]
    intervals: dict[str, Interval]


@dataclass(frozen=True, repr=False)
class Report(TableRepr, Mapping[str, float]):
    """Metrics by name, as in ``report["recall@10"]``; shown as tables.

    All are means over images. ``intervals`` are 95 % bootstrap intervals over images. ``groups`` are the same results
    by frequency of the held-out label in training: head, middle and tail; groups without pairs are left out.
    """

    images: int
    pairs: int
    labels: int
    """Number of labels of the model."""
    unknown_images: int
    """Number of images that the model does not have; they count as misses."""
    unknown_labels: int
    """Number of held-out pairs of the other images with a label that the model does not have; they count as misses."""
    metrics: dict[str, float]
    intervals: dict[str, Interval]
    groups: dict[str, Group]

    def __getitem__(self, name: str) -> float:
        return self.metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain dictionaries, for JSON."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))  # lists in place of tuples
        return found

    def to_frame(self, backend: str = "arrow") -> Any:
        """Return one row per group and metric, with the ends of its interval; the group of all labels is ``all``.

        ``backend`` is "arrow", "pandas" or "polars".
        """
        parts = {"all": (self.metrics, self.intervals)}
        parts |= {name: (group.metrics, group.intervals) for name, group in self.groups.items()}
        rows = [
            (group, metric, value, *intervals.get(metric, (None, None)))
            for group, (metrics, intervals) in parts.items()
            for metric, value in metrics.items()
        ]
        numbers = dict.fromkeys(("value", "low", "high"), "float64")
        return rows_to_frame(rows, {"group": "string", "metric": "string", **numbers}, backend)

    def notes(self) -> list[str]:
        """Return one sentence each for unknown images and unknown labels, if there are any."""
        unknown = [(self.unknown_images, self.images, "images"), (self.unknown_labels, self.pairs, "held-out labels")]
        return [
            f"{count:,} of {total:,} {name} are unknown to the model and count as misses"
            for count, total, name in unknown
            if count
        ]

    def headline(self) -> str:
        """Return the result as one sentence; empty without a recall."""
        recalls = [
            (name.partition("@")[2], value) for name, value in self.metrics.items() if name.startswith("recall@")
        ]
        if not recalls:
            return ""
        whose = "the held-out labels" if self.pairs == self.images else "an image's held-out labels, on average,"
        first, *others = [f"{value:.0%} {{}}among the first {top}" for top, value in recalls[-2:]]
        return " and ".join([first.format(f"of {whose} are "), *(one.format("") for one in others)]) + " suggestions."

    def folded(self) -> list[tuple[str, ...]]:
        """Return the names of metrics, those that are the same number by definition together.

        With one held-out label per image, recall, hit rate and N times precision are one number, and so are map and
        mrr.
        """
        if self.pairs != self.images:
            return [(name,) for name in self.metrics]
        groups: dict[str, list[str]] = {}
        for name in self.metrics:
            if not name.startswith("precision@"):
                groups.setdefault(name.replace("hit@", "recall@").replace("mrr", "map"), []).append(name)
        return [tuple(names) for names in groups.values()]

    def group_metrics(self) -> tuple[str, ...]:
        """Return the metrics of groups; mrr is left out where it is the same number as map."""
        return GROUP_METRICS if self.pairs != self.images else tuple(one for one in GROUP_METRICS if one != "mrr")

    def __str__(self) -> str:
        metrics, groups = self._tables()
        lines = [metrics.title, *self.notes()]
        for table in (metrics, groups):
            lines += ["", *aligned([table.names, *([_four_decimals(value) for value in row] for row in table.rows)])]
        if groups.note:
            lines += ["", *textwrap.wrap(groups.note, 80)]
        return "\n".join(lines)

    def _tables(self) -> list[Table]:
        shown = self.group_metrics()
        rows = [
            (" = ".join(names), self.metrics[names[0]], _interval_text(self.intervals.get(names[0])))
            for names in self.folded()
        ]
        groups: list[Sequence[Value]] = [
            (name, group.labels, group.pairs, *(group.metrics[one] for one in shown))
            for name, group in self.groups.items()
        ]
        title = f"{self.images:,} images, {self.pairs:,} held-out labels, ranked among {self.labels:,} labels"
        notes = "; ".join(self.notes())
        return [
            Table(("metric", "value", "95 % interval"), rows, title, note=notes),
            Table(("group", "labels", "pairs", *shown), groups, note=self.headline()),
        ]

    __repr__ = __str__


def summarize(rankings: Rankings, *, tops: Sequence[int] = TOPS, seed: int = 0, workers: int | None = None) -> Report:
    """Compute all metrics from rankings; ``seed`` is the seed of the bootstrap."""
    images = len(rankings.images)
    values = metrics.per_image(rankings, tops)
    parts = _parts(rankings)
    samples = [Sample(np.arange(images), _table(values)), *(Sample(part.rows, _table(part.values)) for part in parts)]
    ends, *ends_of_parts = intervals(images, samples, Streams(seed).child("bootstrap"), workers)
    unknown = rankings.candidates < 0
    return Report(
        images=images,
        pairs=rankings.pairs,
        labels=rankings.ranked_labels,
        unknown_images=int(np.count_nonzero(unknown)),
        unknown_labels=int(np.count_nonzero((rankings.tied == 0) & ~np.repeat(unknown, rankings.held_out))),
        metrics=_means(values) | {f"coverage@{top}": metrics.coverage(rankings, top) for top in sorted(set(tops))},
        intervals=_named(values, ends),
        groups={
            part.name: Group(
                part.labels, part.pairs, len(part.rows), _means(part.values), _named(part.values, own_ends)
            )
            for part, own_ends in zip(parts, ends_of_parts, strict=True)
        },
    )


class _Part(NamedTuple):
    """A group of labels, with metric values per image."""

    name: str
    labels: int
    pairs: int
    rows: NDArray[np.int64]
    values: dict[str, Numbers]


def _parts(rankings: Rankings) -> list[_Part]:
    group = group_of(rankings.seen, rankings.common)
    parts = []
    for number, name in enumerate(GROUPS):
        keep = group == number
        if keep.any():
            part = rankings.only(keep)
            values = metrics.per_image(part, (10,))
            rows = np.flatnonzero(np.logical_or.reduceat(keep, rankings.indptr[:-1]))
            chosen = {metric: values[metric] for metric in GROUP_METRICS}
            parts.append(_Part(name, len(np.unique(part.label)), part.pairs, rows, chosen))
    return parts


def _table(values: Mapping[str, Numbers]) -> Numbers:
    return np.column_stack(list(values.values()))


def _means(values: Mapping[str, Numbers]) -> dict[str, float]:
    return {name: float(per_image.mean()) for name, per_image in values.items()}


def _named(values: Mapping[str, Numbers], ends: Numbers) -> dict[str, Interval]:
    return {name: (float(low), float(high)) for name, (low, high) in zip(values, ends, strict=True)}


def _four_decimals(value: Value) -> str:
    return f"{value:.4f}" if isinstance(value, float) else short(value)


def _interval_text(ends: Interval | None) -> str:
    return f"{ends[0]:.4f} to {ends[1]:.4f}" if ends else ""
