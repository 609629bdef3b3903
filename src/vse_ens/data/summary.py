"""Counts that describe a data set at a glance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vse_ens.display import Table, TableRepr
from vse_ens.errors import ConfigError

_FACETS_SHOWN = 10

if TYPE_CHECKING:
    from vse_ens.data.annotations import Annotations


@dataclass(frozen=True, repr=False)
class Summary(TableRepr):
    """The size and shape of a data set; `text` prints it as a short table."""

    images: int
    labels: int
    pairs: int
    labels_per_image: dict[str, float]
    images_per_label: dict[str, float]
    images_without_labels: int
    labels_without_images: int
    most_used: list[tuple[str, int]]
    least_used: list[tuple[str, int]]
    notes: tuple[str, ...]
    facets: dict[str, dict[str, int]] = field(default_factory=dict)
    """Labels and pairs of each namespace or top of a hierarchy, such as ``place|``, most used first."""

    @classmethod
    def of(cls, data: Annotations, shown: int = 5) -> Summary:
        """Summarize ``data``, with the ``shown`` most and least used labels."""
        if shown < 1:
            raise ConfigError(f"shown must be at least 1, got {shown}")
        counts = data.images_per_label
        used = np.flatnonzero(counts)
        # Most used first; ties in the order of ids, so that the text is the same on every run.
        order = used[np.argsort(-counts[used], kind="stable")]
        named = [(data.labels.id(int(n)), int(counts[n])) for n in [*order[:shown], *order[shown:][-shown:]]]
        return cls(
            images=len(data.images),
            labels=len(data.labels),
            pairs=data.pairs,
            labels_per_image=_spread(data.labels_per_image),
            images_per_label=_spread(counts),
            images_without_labels=int(np.count_nonzero(data.labels_per_image == 0)),
            labels_without_images=len(counts) - len(used),
            most_used=named[:shown],
            least_used=named[shown:],
            notes=data.notes,
            facets=_facets(data),
        )

    def rows(self) -> list[tuple[str, str]]:
        """Return the name and the text of each line of the table."""
        rows = [
            ("images", f"{self.images:,}" + _aside(self.images_without_labels, "without a label")),
            ("labels", f"{self.labels:,}" + _aside(self.labels_without_images, "without an image")),
            ("pairs", f"{self.pairs:,}"),
            ("labels per image", _spread_text(self.labels_per_image)),
            ("images per label", _spread_text(self.images_per_label)),
            ("most used labels", ", ".join(f"{label} {count:,}" for label, count in self.most_used)),
            ("least used labels", ", ".join(f"{label} {count:,}" for label, count in self.least_used)),
        ]
        if self.facets:
            shown = [f"{name}* {_facet_text(counts)}" for name, counts in list(self.facets.items())[:_FACETS_SHOWN]]
            more = len(self.facets) - len(shown)
            rows.append(("facets", ", ".join([*shown, f"and {more:,} more"] if more else shown)))
        notes = [*self.notes, *unlabeled_note(self.images_without_labels, self.images)]
        return [row for row in rows if row[1]] + [("note", note) for note in notes]

    def _tables(self) -> list[Table]:
        return [Table(("", ""), self.rows())]

    def text(self) -> str:
        """Return the table as plain text."""
        return "\n".join(f"{name:<18} {text}" for name, text in self.rows())


def unlabeled_note(unlabeled: int, images: int) -> list[str]:
    """Return a note on images without labels, if there are any: what can be suggested for them, and what helps."""
    note = f"images without a label: {unlabeled:,} of {images:,}; only frequent labels are suggested for them, "
    note += "with low confidences; give each one or two, or train with features: --nearby (folder and time), "
    note += "--embed NETWORK or --features FILE"
    return [note] if unlabeled else []


def _spread(counts: NDArray[np.int64]) -> dict[str, float]:
    if not len(counts):
        return {"mean": 0.0, "min": 0, "median": 0.0, "max": 0}
    return {
        "mean": round(float(counts.mean()), 3),
        "min": int(counts.min()),
        "median": float(np.median(counts)),
        "max": int(counts.max()),
    }


def _spread_text(spread: dict[str, float]) -> str:
    return f"mean {spread['mean']:,.2f}, min {spread['min']:,}, median {spread['median']:,g}, max {spread['max']:,}"


def _facets(data: Annotations) -> dict[str, dict[str, int]]:
    from vse_ens.data.filters import facet

    counts = data.images_per_label.tolist()
    found: dict[str, dict[str, int]] = {}
    for label, pairs in zip(data.labels, counts, strict=True):
        if ("|" in label or ":" in label) and (name := facet(label)):
            one = found.setdefault(name, {"labels": 0, "pairs": 0})
            one["labels"] += 1
            one["pairs"] += pairs
    return dict(sorted(found.items(), key=lambda item: (-item[1]["pairs"], item[0])))


def _facet_text(counts: dict[str, int]) -> str:
    labels, pairs = counts["labels"], counts["pairs"]
    return f"{labels:,} label{'s' * (labels != 1)} in {pairs:,} pair{'s' * (pairs != 1)}"


def _aside(count: int, text: str) -> str:
    return f" ({count:,} {text})" if count else ""
