"""An audit: labels likely wrong, labels likely missing, labels that could be one."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.curate.audit.duplicates import Duplicate, near_duplicates
from vse_ens.curate.audit.missing import likely_missing
from vse_ens.curate.audit.wrong import Auditor, FoldIn, images_of, without_label, wrong_confidences
from vse_ens.curate.explain import Reason, own_parts, shares
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError
from vse_ens.kernels.arrays import Csr
from vse_ens.model.calibration import Calibration
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model
from vse_ens.storage.atomic import replace_file

# Reasons kept with a finding: what a person reads at a glance. Smaller shares than the second say nothing.
_REASONS = 3
_FAINT = 0.05
_NOTHING = "no known label speaks for it"


@dataclass(frozen=True)
class Finding:
    """A label of an image that may be wrong, or one that may be missing."""

    image: str
    label: str
    confidence: float
    reason: str
    because: tuple[Reason, ...]
    """The known labels, and combinations of two, that speak most against it or for it."""


@dataclass(frozen=True)
class Audit:
    """What a curator should look at, each list with the surest first."""

    wrong: list[Finding]
    missing: list[Finding]
    duplicates: list[Duplicate]

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """As plain lists and dictionaries, for JSON."""
        return {
            "wrong": [_plain(finding) for finding in self.wrong],
            "missing": [_plain(finding) for finding in self.missing],
            "duplicates": [asdict(duplicate) for duplicate in self.duplicates],
        }

    def write_csv(self, path: str | Path) -> None:
        """One line a finding, whole or not at all; the column ``decision`` is left for the curator."""
        with replace_file(Path(path)) as partial, partial.open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(("kind", "image", "label", "other_label", "confidence", "reason", "decision"))
            for kind, findings in (("wrong", self.wrong), ("missing", self.missing)):
                lines.writerows(
                    (kind, one.image, one.label, "", f"{one.confidence:.4f}", one.reason, "") for one in findings
                )
            lines.writerows(
                ("duplicate", "", one.label, one.other, f"{one.confidence:.4f}", one.reason, "")
                for one in self.duplicates
            )


def audit_rows(known: Annotations) -> int:
    """How many rows of scores an audit looks at: one a known label with company, and one an image."""
    counts = known.labels_per_image
    return int(counts[counts > 1].sum()) + len(counts)


def audit(
    model: Model,
    known: Annotations,
    *,
    top: int = 50,
    calibration: Calibration | None = None,
    wrong_share: float = 0.02,
    steps: float = 0.0,
    fold_in: FoldIn | None = None,
    progress: Callable[[int], None] | None = None,
) -> Audit:
    """The ``top`` findings of each kind in pairs whose labels, and images where these have vectors, are the model's.

    ``wrong_share`` is how many of all labels are expected to be wrong: it sets the level of that confidence, not the
    order. ``steps`` tells how far the model was trained on these pairs (`vse_ens.curate.audit.wrong.steps_of`), ``fold_in``
    finds vectors of images without a context tower. ``progress`` is called with the number of rows of scores that were
    looked at, of `audit_rows` in all.
    """
    if top < 1:
        raise ConfigError(f"top must be at least 1, got {top}")
    if not 0.0 < wrong_share < 1.0:
        raise ConfigError(f"wrong_share must lie between 0 and 1, got {wrong_share}")
    confidences = wrong_confidences(Auditor(model, known, steps, fold_in), wrong_share, progress)
    places = np.argsort(-confidences, kind="stable")[:top]
    # The labels that could not be judged keep the share they came with.
    places = places[confidences[places] > wrong_share]
    images = images_of(known, places)
    labels = known.indices[places].astype(np.int64)
    missing = likely_missing(model, known, top, calibration, progress)
    return Audit(
        _findings(_wrong_reason, model, known, images, labels, confidences[places], without_label(known, places)),
        _findings(_missing_reason, model, known, *missing, known.rows(missing.images)),
        near_duplicates(model.embeddings, known, top),
    )


def _findings(
    tell: Callable[[Sequence[Reason]], tuple[str, tuple[Reason, ...]]],
    model: Model,
    known: Annotations,
    images: NDArray[np.int64],
    labels: NDArray[np.int64],
    confidences: Floats,
    others: Csr,
) -> list[Finding]:
    parts = shares(model, others, labels, own_parts(model.embeddings, images))
    found = []
    for image, label, confidence, part in zip(
        known.images.ids(images), known.labels.ids(labels), confidences.tolist(), parts, strict=True
    ):
        reason, because = tell(part.by_labels(known.labels))
        found.append(Finding(image, label, confidence, reason, because))
    return found


def _wrong_reason(reasons: Sequence[Reason]) -> tuple[str, tuple[Reason, ...]]:
    against = sorted((reason for reason in reasons if reason.share < -_FAINT), key=lambda reason: reason.share)
    if against:
        return f"speaking against it: {_named(against[:_REASONS])}", tuple(against[:_REASONS])
    favour = _favour(reasons)
    return f"weak support by {_named(favour)}" if favour else _NOTHING, favour


def _missing_reason(reasons: Sequence[Reason]) -> tuple[str, tuple[Reason, ...]]:
    favour = _favour(reasons)
    return f"speaking for it: {_named(favour)}" if favour else _NOTHING, favour


def _favour(reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    return tuple(reason for reason in reasons if reason.share > _FAINT)[:_REASONS]


def _named(reasons: Sequence[Reason]) -> str:
    return ", ".join(f"{' + '.join(reason.labels)} ({reason.share:+.2f})" for reason in reasons)


def _plain(finding: Finding) -> dict[str, Any]:
    because = [{"labels": list(reason.labels), "share": reason.share} for reason in finding.because]
    return {
        "image": finding.image,
        "label": finding.label,
        "confidence": finding.confidence,
        "reason": finding.reason,
        "because": because,
    }
