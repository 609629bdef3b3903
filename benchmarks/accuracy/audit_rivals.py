"""Audit against cleanlab: planted errors of four kinds, found by the audit and by cleanlab.

cleanlab (`cleanlab.multilabel_classification`) ranks the labels of images by probabilities that it is given, here of
two kinds: those of `LabelCompleter`, and those of one logistic regression per label on the other labels. Both are
predicted for images that training did not see, in five folds. Of cleanlab's rankings (by label quality, and with its
label issues first), the better one counts, which favors it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import real
from vse_ens.annotator import Annotator
from vse_ens.curate.audit.missing import likely_missing
from vse_ens.curate.audit.wrong import Auditor, total_step_size, wrong_confidences
from vse_ens.data.annotations import Annotations

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

_PLANTED, _REMOVED = 0.02, 0.05
_FIRST = 100
_FOLDS = 5
# A label is mistaken for one of this many others that are used most alike; an image swaps with one of as many others.
_ALIKE = 10
_METRICS = ("average_precision", "precision")
_NEEDS = ("cleanlab", "sklearn")


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run. Every seed plants other errors."""

    real: tuple[str, ...] = ("iaprtc12", "corel5k")
    seeds: tuple[int, ...] = (0, 1)
    epochs: int | None = None


class Planted(NamedTuple):
    """Pairs with errors, as matrices of images by labels."""

    pairs: Mask
    wrong: Mask
    """Pairs that were added by mistake."""
    missing: Mask
    """Pairs that were removed by mistake."""


# --- errors ---


def plant_random(truth: Mask, rng: np.random.Generator) -> Planted:
    """Add labels that are drawn from all that the image lacks."""
    planted = _copy(truth)
    for image in rng.choice(np.nonzero(truth)[0], _count(truth), replace=False):
        label = rng.choice(np.flatnonzero(~planted.pairs[image]))
        planted.pairs[image, label] = planted.wrong[image, label] = True
    return planted


def plant_confusable(truth: Mask, rng: np.random.Generator) -> Planted:
    """Replace labels by others that are used alike: whose numbers of images shared with each label are similar."""
    together = truth.T.astype(np.float32) @ truth.astype(np.float32)
    np.fill_diagonal(together, 0.0)
    alike = _nearest(together)
    planted = _copy(truth)
    left = _count(truth)
    for image, label in rng.permutation(np.argwhere(truth)).tolist():
        lacking = [other for other in alike[label] if not (truth[image, other] or planted.pairs[image, other])]
        if lacking:
            _move(planted, image, label, image, rng.choice(lacking))
            left -= 1
        if not left:
            break
    return planted


def plant_swapped(truth: Mask, rng: np.random.Generator) -> Planted:
    """Let two similar images exchange a label that the other one lacks."""
    planted = _copy(truth)
    left, used = _count(truth), np.zeros(len(truth), bool)
    rows = truth.astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    for image in rng.permutation(len(truth)).tolist():
        if used[image]:
            continue
        similar = rows @ rows[image]
        similar[image] = 0.0
        for other in np.argsort(-similar, kind="stable")[: 2 * _ALIKE].tolist():
            own, its = np.flatnonzero(truth[image] & ~truth[other]), np.flatnonzero(truth[other] & ~truth[image])
            if len(own) and len(its) and similar[other] > 0.0 and not used[other]:
                _move(planted, image, rng.choice(own), other)
                _move(planted, other, rng.choice(its), image)
                used[[image, other]] = True
                left -= 2
                break
        if left <= 0:
            break
    return planted


def remove_labels(truth: Mask, rng: np.random.Generator) -> Planted:
    """Remove labels at random."""
    planted = _copy(truth)
    pairs = np.argwhere(truth)
    chosen = pairs[rng.choice(len(pairs), round(_REMOVED * len(pairs)), replace=False)]
    planted.pairs[tuple(chosen.T)] = False
    planted.missing[tuple(chosen.T)] = True
    return planted


KINDS: dict[str, Callable[[Mask, np.random.Generator], Planted]] = {
    "random": plant_random,
    "confusable": plant_confusable,
    "swapped": plant_swapped,
    "missing": remove_labels,
}


def _count(truth: Mask) -> int:
    return round(_PLANTED * int(truth.sum()))


def _copy(truth: Mask) -> Planted:
    return Planted(truth.copy(), np.zeros_like(truth), np.zeros_like(truth))


def _move(planted: Planted, image: int, label: int, to_image: int, to_label: int | None = None) -> None:
    to_label = label if to_label is None else to_label
    planted.pairs[image, label], planted.pairs[to_image, to_label] = False, True
    planted.missing[image, label] = planted.wrong[to_image, to_label] = True


def _nearest(rows: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the rows with the highest cosine similarity to each row."""
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    similar = rows @ rows.T
    np.fill_diagonal(similar, -1.0)
    return np.argsort(-similar, axis=1, kind="stable")[:, :_ALIKE]


# --- methods: a matrix with a higher number where an error is more likely ---


def by_audit(data: Annotations, kind: str, epochs: int | None) -> list[Floats]:
    """Return what the audit says of known labels or, for missing ones, of the others."""
    settings: dict[str, Any] = {} if epochs is None else {"epochs": epochs}
    model = Annotator("context", **settings).fit(data)
    found = np.zeros((len(data.images), len(data.labels)))
    if kind == "missing":
        missing = likely_missing(model.loaded_, found.size)
        found[missing.images, missing.labels] = missing.confidences
    else:
        step_size = total_step_size(model.config_, model.training_)
        auditor = Auditor(model.loaded_, step_size)
        found[data.image_numbers(), data.indices] = wrong_confidences(auditor)
    return [found]


def by_cleanlab(pairs: Mask, probabilities: Floats) -> list[Floats]:
    """Return both rankings of cleanlab."""
    from cleanlab.multilabel_classification.filter import find_multilabel_issues_per_class
    from cleanlab.multilabel_classification.rank import get_label_quality_scores_per_class

    labels = [np.flatnonzero(row).tolist() for row in pairs]
    quality = np.asarray(get_label_quality_scores_per_class(labels, probabilities))
    issues = np.asarray(find_multilabel_issues_per_class(labels, probabilities, n_jobs=1))
    return [-quality, issues - quality]


def completer_probabilities(pairs: Mask, epochs: int | None) -> Floats:
    """Return the probabilities of `LabelCompleter`, of images that it did not see."""
    from sklearn.model_selection import cross_val_predict

    from vse_ens.completer import LabelCompleter

    settings: dict[str, Any] = {} if epochs is None else {"epochs": epochs}
    found = cross_val_predict(LabelCompleter(**settings), pairs.astype(np.int8), cv=_folds(), method="predict_proba")
    return np.asarray(found, np.float64)


def logistic_probabilities(pairs: Mask) -> Floats:
    """Return the probabilities of one logistic regression per label, of images that it did not see."""
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression

    found = np.zeros(pairs.shape)
    for train, test in _folds().split(pairs):
        known, new = (sparse.csc_array(pairs[rows].astype(np.float64)) for rows in (train, test))
        for label in range(pairs.shape[1]):
            target = pairs[train, label]
            if not target.any() or target.all():
                found[test, label] = target.mean()
                continue
            others = np.arange(pairs.shape[1]) != label
            model = LogisticRegression(solver="liblinear").fit(known[:, others].tocsr(), target)
            found[test, label] = model.predict_proba(new[:, others].tocsr())[:, 1]
    return found


def _folds() -> Any:
    from sklearn.model_selection import KFold

    return KFold(_FOLDS, shuffle=True, random_state=0)


# --- measuring ---


def measure(sizes: Sizes) -> Raw:
    """Plant errors of each kind and rank the labels by each method."""
    lacking = [name for name in _NEEDS if not find_spec(name)]
    if lacking:
        return {"runs": [], "skipped": [f"the comparison with cleanlab: pip install {' '.join(lacking)}"]}
    found, skipped = real(sizes.real)
    runs = []
    for name, data in found.items():
        truth = data.to_matrix().toarray() > 0
        for seed in sizes.seeds:
            for number, (kind, plant) in enumerate(KINDS.items()):
                log(f"{name}, seed {seed}: {kind}")
                planted = plant(truth, np.random.default_rng([seed, number]))
                for method, values in compare(data, planted, kind, sizes.epochs).items():
                    runs.append({"data_set": name, "seed": seed, "kind": kind, "method": method} | values)
    return {"runs": runs, "skipped": skipped}


def compare(data: Annotations, planted: Planted, kind: str, epochs: int | None) -> dict[str, dict[str, float]]:
    """Return precision and average precision of every method."""
    images, labels = np.nonzero(planted.pairs)
    noisy = Annotations.from_numbers(data.images, data.labels, images, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cleanlab and scikit-learn warn of labels with few images
        rankings = {
            "audit": by_audit(noisy, kind, epochs),
            "cleanlab, LabelCompleter": by_cleanlab(planted.pairs, completer_probabilities(planted.pairs, epochs)),
            "cleanlab, logistic regression": by_cleanlab(planted.pairs, logistic_probabilities(planted.pairs)),
        }
    candidates, errors = (~planted.pairs, planted.missing) if kind == "missing" else (planted.pairs, planted.wrong)
    found = {}
    for method, some in rankings.items():
        measured = [_precisions(one[candidates], errors[candidates]) for one in some]
        found[method] = {name: max(one[name] for one in measured) for name in measured[0]}
    return found


def _precisions(values: Floats, errors: Mask) -> dict[str, float]:
    from sklearn.metrics import average_precision_score

    first = np.argsort(-values, kind="stable")[:_FIRST]
    return {
        "precision": float(errors[first].mean()),
        "average_precision": float(average_precision_score(errors, values)),
    }


def score(raw: Raw) -> Score:
    """Return how the audit compares with the better of the two others, by the mean over seeds."""
    checks, rows = [], []
    for name in dict.fromkeys(run["data_set"] for run in raw["runs"]):
        for kind in KINDS:
            runs = [run for run in raw["runs"] if (run["data_set"], run["kind"]) == (name, kind)]
            means = {
                method: [
                    fmean(run[m] for run in runs if run["method"] == method) for m in ("average_precision", "precision")
                ]
                for method in dict.fromkeys(run["method"] for run in runs)
            }
            rivals = max(values[0] for method, values in means.items() if method != "audit")
            ratio = means["audit"][0] / rivals
            checks.append(Check(f"{name}, {kind}: average precision, audit / cleanlab", ratio, "at least", 1.0))
            rows += [(name, kind, method, f"{ap:.3f}", f"{first:.2f}") for method, (ap, first) in means.items()]
    note = (
        f"{100 * _PLANTED:g} % wrong labels planted (random: drawn from all that the image lacks; confusable: in "
        "place of a label that is used alike; swapped: exchanged between two similar images), or "
        f"{100 * _REMOVED:g} % of the labels removed (missing). Means over seeds. Wrong labels of the data sets "
        "themselves count as correct. Of cleanlab's two rankings the better one is shown. Nearly all images of corel5k "
        "have at most four labels: one more is itself a hint at a random error, which the audit and the logistic "
        "regressions can see. The audit judges by the same companions as the planting which labels are used alike, "
        "which helps it with confusable errors."
    )
    heads = ("data set", "errors", "method", "average precision", f"precision at {_FIRST}")
    return Score(checks, [Table(heads, rows)], [note])


AUDIT_RIVALS = Benchmark(
    "audit-rivals",
    "The audit finds planted errors at least as well as cleanlab.",
    Sizes(),
    Sizes(("corel5k",), seeds=(0,), epochs=1),
    measure,
    score,
    measures=("curate/audit", "kernels", "label_weights", "presets", "train"),
    repetitions=lambda sizes: len(sizes.seeds),
)
