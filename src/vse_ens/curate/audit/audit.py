"""Audit of known pairs: labels likely wrong, likely missing, and likely duplicate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.curate.audit.duplicates import Duplicate, near_duplicates
from vse_ens.curate.audit.missing import Missing, likely_missing
from vse_ens.curate.audit.wrong import Auditor, images_of, without_label, wrong_confidences
from vse_ens.curate.explain import Reason, contributions, reasons_text
from vse_ens.data.annotations import Annotations
from vse_ens.data.arrow import rows_to_frame
from vse_ens.data.io.write import write_csv
from vse_ens.display import Table, TableRepr, rounded
from vse_ens.errors import ConfigError
from vse_ens.kernels.arrays import Csr
from vse_ens.model.embeddings import Floats
from vse_ens.model.loaded import LoadedModel

# Reasons per finding, and the minimum contribution of a reason.
_REASONS = 3
_MIN_SHARE = 0.05
_NO_SUPPORT = "no known label supports it"
# Below this confidence, a missing label is not worth a look.
_MIN_CONFIDENCE = 0.05
# Findings of each kind that are shown.
_SHOWN = 10
# Columns of audit.csv, and the values of ``kind`` for duplicates.
_COLUMNS = ("kind", "image", "label", "other_label", "confidence", "reason")
_KINDS = {"same": "duplicate", "alike": "alike"}


@dataclass(frozen=True)
class Finding:
    """A label of an image that may be wrong, or one that may be missing."""

    image: str
    label: str
    confidence: float
    reason: str
    because: tuple[Reason, ...]
    """The known labels and label pairs that contribute most against or for the label."""

    def __repr__(self) -> str:
        return f"Finding({self.image!r}, {self.label!r}, confidence={rounded(self.confidence)}, {self.reason!r})"


@dataclass(frozen=True, repr=False)
class Audit(TableRepr):
    """Findings for a curator, each list with the most certain first; shown as three tables."""

    wrong: list[Finding]
    missing: list[Finding]
    duplicates: list[Duplicate]

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Return plain lists and dictionaries, for JSON."""
        return {
            "wrong": [_to_dict(finding) for finding in self.wrong],
            "missing": [_to_dict(finding) for finding in self.missing],
            "duplicates": [asdict(duplicate) for duplicate in self.duplicates],
        }

    def to_frame(self, backend: str = "arrow") -> Any:
        """Return one row per finding: kind, image, label, other_label, confidence and reason.

        The kinds are ``wrong``, ``missing``, ``duplicate`` and ``alike``. ``backend`` is "arrow", "pandas" or "polars".
        """
        return rows_to_frame(self._rows(), dict.fromkeys(_COLUMNS, "large_string") | {"confidence": "float64"}, backend)

    def _rows(self) -> list[tuple[str, str | None, str, str | None, float | None, str]]:
        rows = [
            (kind, one.image, one.label, None, one.confidence, one.reason)
            for kind, findings in (("wrong", self.wrong), ("missing", self.missing))
            for one in findings
        ]
        return rows + [(_KINDS[one.kind], None, one.label, one.other, None, one.reason) for one in self.duplicates]

    def _tables(self) -> list[Table]:
        names = ("image", "label", "confidence", "reason")
        tables = [
            Table(
                names,
                [(one.image, one.label, one.confidence, one.reason) for one in findings],
                f"{len(findings):,} labels that are likely {kind}",
                bars=("confidence",),
            ).cut(_SHOWN)
            for kind, findings in (("wrong", self.wrong), ("missing", self.missing))
        ]
        same = [(one.label, one.other, one.reason) for one in self.duplicates]
        title = f"{len(same):,} pairs of labels that are the same or used alike"
        return [*tables, Table(("label", "other label", "reason"), same, title).cut(_SHOWN)]

    def write_csv(self, path: str | Path, *, defuse_formulas: bool = False) -> None:
        """Write one line per finding, atomically; the column ``decision`` is empty, for the curator.

        ``defuse_formulas`` puts an apostrophe before text that a spreadsheet would run as a formula.
        """
        rows = (
            (*texts, None if confidence is None else f"{confidence:.4f}", reason, "")
            for *texts, confidence, reason in self._rows()
        )
        write_csv(Path(path), (*_COLUMNS, "decision"), rows, defuse_formulas=defuse_formulas)


def audit_rows(known: Annotations) -> int:
    """Return how many rows of scores an audit computes: one per known label that can be tested, and one per image."""
    counts = known.labels_per_image
    return int(counts[counts > 1].sum()) + len(counts)


def audit_labels(
    loaded: LoadedModel,
    *,
    top: int = 50,
    wrong_share: float = 0.02,
    step_size: float = 0.0,
    progress: Callable[[int], None] | None = None,
) -> Audit:
    """Return up to ``top`` findings of each kind in the pairs that a model knows, while there is evidence for them.

    ``wrong_share`` is the expected fraction of wrong labels; it changes the confidences, not their order. ``step_size``
    is the `vse_ens.curate.audit.wrong.total_step_size` of training on these pairs. ``progress`` is called with numbers
    of finished rows of scores; `audit_rows` is their total.
    """
    if top < 1:
        raise ConfigError(f"top must be at least 1, got {top}")
    if not 0.0 < wrong_share < 1.0:
        raise ConfigError(f"wrong_share must lie between 0 and 1, got {wrong_share}")
    known = loaded.known
    confidences = wrong_confidences(Auditor(loaded, step_size), wrong_share, progress)
    pairs = np.argsort(-confidences, kind="stable")[:top]
    # Labels that cannot be tested have a confidence of wrong_share.
    pairs = pairs[confidences[pairs] > wrong_share]
    images = images_of(known, pairs)
    labels = known.indices[pairs].astype(np.int64)
    missing = likely_missing(loaded, top, progress)
    if loaded.calibration is not None:  # else the confidence is a share, which has no such limit
        sure = missing.confidences >= _MIN_CONFIDENCE
        missing = Missing(missing.images[sure], missing.labels[sure], missing.confidences[sure])
    return Audit(
        _findings(_wrong_reason, loaded, images, labels, confidences[pairs], without_label(known, pairs)),
        _findings(_missing_reason, loaded, *missing, known.rows(missing.images)),
        near_duplicates(loaded.model.embeddings, known, top),
    )


def _findings(
    reason_of: Callable[[Sequence[Reason]], tuple[str, tuple[Reason, ...]]],
    loaded: LoadedModel,
    images: NDArray[np.int64],
    labels: NDArray[np.int64],
    confidences: Floats,
    others: Csr,
) -> list[Finding]:
    known = loaded.known
    parts = contributions(loaded.model, others, labels, loaded.own_vectors(images))
    findings = []
    for image, label, confidence, part in zip(
        known.images.ids(images), known.labels.ids(labels), confidences.tolist(), parts, strict=True
    ):
        reason, because = reason_of(part.label_reasons(known.labels))
        findings.append(Finding(image, label, confidence, reason, because))
    return findings


def _wrong_reason(reasons: Sequence[Reason]) -> tuple[str, tuple[Reason, ...]]:
    against = sorted((reason for reason in reasons if reason.share < -_MIN_SHARE), key=lambda reason: reason.share)
    if against:
        return f"contradicted by {reasons_text(against[:_REASONS])}", tuple(against[:_REASONS])
    support = _support(reasons)
    return f"weakly supported by {reasons_text(support)}" if support else _NO_SUPPORT, support


def _missing_reason(reasons: Sequence[Reason]) -> tuple[str, tuple[Reason, ...]]:
    support = _support(reasons)
    return f"supported by {reasons_text(support)}" if support else _NO_SUPPORT, support


def _support(reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    return tuple(reason for reason in reasons if reason.share > _MIN_SHARE)[:_REASONS]


def _to_dict(finding: Finding) -> dict[str, Any]:
    because = [{"labels": list(reason.labels), "share": reason.share} for reason in finding.because]
    return {
        "image": finding.image,
        "label": finding.label,
        "confidence": finding.confidence,
        "reason": finding.reason,
        "because": because,
    }
