"""Audit: how many planted wrong labels and removed labels it finds."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import real
from vse_ens.annotator import Annotator
from vse_ens.curate.audit.missing import likely_missing
from vse_ens.curate.audit.wrong import Auditor, random_negatives, total_step_size, wrong_confidences
from vse_ens.data.annotations import Annotations
from vse_ens.evaluate.reliability import binned_calibration_error, reliability
from vse_ens.model.loaded import LoadedModel
from vse_ens.streams import Streams

_WRONG, _REMOVED = 0.02, 0.05
_FIRST_WRONG, _FIRST_MISSING = 100, 1_000
# Nobody looks at labels with a confidence below this.
_LIKELY = 0.05


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run. Every seed plants and removes different labels."""

    real: tuple[str, ...] = ("iaprtc12",)
    seeds: tuple[int, ...] = (0, 1)
    epochs: int | None = None


def measure(sizes: Sizes) -> Raw:
    """Measure both kinds on every data set. The model is trained on the pairs it audits."""
    found, skipped = real(sizes.real)
    sets: Raw = {}
    for name, data in found.items():
        sets[name] = {"images": len(data.images), "labels": len(data.labels), "pairs": data.pairs, "runs": []}
        for seed in sizes.seeds:
            log(f"{name}, seed {seed}: wrong labels planted, then labels removed")
            streams = Streams(seed).child("benchmark", "audit")
            runs = {
                "seed": seed,
                "wrong": _find_wrong(data, streams.child("wrong"), sizes.epochs),
                "missing": _find_missing(data, streams.child("missing"), sizes.epochs),
            }
            sets[name]["runs"].append(runs)
    return {"sets": sets, "skipped": skipped}


def plant(data: Annotations, share: float, streams: Streams) -> tuple[Annotations, NDArray[np.bool_]]:
    """Add wrong labels, ``share`` of the pairs, drawn from the labels an image lacks; return also a mask of them."""
    count = round(share * data.pairs)
    images = data.image_numbers()[_sample(data.pairs, count, streams.child("images"))]
    labels = random_negatives(data.rows(images), len(data.labels), streams.child("labels").uniforms(count))
    noisy = Annotations.from_numbers(
        data.images,
        data.labels,
        np.concatenate([data.image_numbers(), images]),
        np.concatenate([data.indices, labels]),
    )
    return noisy, np.isin(_keys(noisy), images.astype(np.int64) * len(data.labels) + labels)


def _find_wrong(data: Annotations, streams: Streams, epochs: int | None) -> Raw:
    noisy, planted = plant(data, _WRONG, streams)
    model = _fit(noisy, epochs)
    began = time.perf_counter()
    step_size = total_step_size(model.config_, model.training_)
    confidences = wrong_confidences(Auditor(LoadedModel(model.model_, noisy, model.calibration_), step_size))
    seconds = time.perf_counter() - began
    first = np.argsort(-confidences, kind="stable")[:_FIRST_WRONG]
    likely = confidences > _LIKELY
    return {
        "pairs": noisy.pairs,
        "planted": int(planted.sum()),
        "auc": area_under_curve(confidences, planted),
        "first": int(planted[first].sum()),
        "mean_confidence": float(confidences[first].mean()),
        "calibration_error": binned_calibration_error(reliability(confidences[likely], planted[likely]))
        if likely.any()
        else 0.0,
        "seconds": seconds,
    }


def _find_missing(data: Annotations, streams: Streams, epochs: int | None) -> Raw:
    removed = np.zeros(data.pairs, bool)
    removed[_sample(data.pairs, round(_REMOVED * data.pairs), streams)] = True
    rest = data.with_pairs(~removed)
    model = _fit(rest, epochs)
    began = time.perf_counter()
    found = likely_missing(LoadedModel(model.model_, rest), _FIRST_MISSING)
    seconds = time.perf_counter() - began
    keys = found.images * len(data.labels) + found.labels
    return {
        "removed": int(removed.sum()),
        "absent": len(data.images) * len(data.labels) - rest.pairs,
        "looked_at": len(keys),
        "first": int(np.isin(keys, _keys(data)[removed]).sum()),
        "seconds": seconds,
    }


def _fit(data: Annotations, epochs: int | None) -> Annotator:
    model = Annotator("context")
    if epochs is not None:
        model.set_params(epochs=epochs)
    return model.fit(data)


def _sample(among: int, count: int, streams: Streams) -> NDArray[np.int64]:
    return np.argsort(streams.words(among), kind="stable")[:count]


def _keys(data: Annotations) -> NDArray[np.int64]:
    return data.image_numbers().astype(np.int64) * len(data.labels) + data.indices


def area_under_curve(confidences: NDArray[np.float32], wrong: NDArray[np.bool_]) -> float:
    """Return the probability that a wrong pair has a higher confidence than another; a tie counts half."""
    values, places = np.unique(confidences, return_inverse=True)
    below = np.concatenate([[0], np.cumsum(np.bincount(places[~wrong], minlength=len(values)))])
    ranks = (below[:-1] + below[1:]) / 2
    return float(ranks[places[wrong]].mean() / (~wrong).sum())


def score(raw: Raw) -> Score:
    """Return checks of the means over seeds."""
    checks, rows, notes = [], [], []
    for name, facts in raw["sets"].items():
        runs = facts["runs"]
        wrong, missing = ([run[kind] for run in runs] for kind in ("wrong", "missing"))
        area = float(np.mean([one["auc"] for one in wrong]))
        lift = [one["first"] / _FIRST_WRONG / (one["planted"] / one["pairs"]) for one in wrong]
        found = [one["first"] / one["looked_at"] / (one["removed"] / one["absent"]) for one in missing]
        checks += [
            Check(f"{name}: area under the ROC curve of likely wrong pairs", area, "at least", 0.92, digits=3),
            Check(
                f"{name}: planted among the first {_FIRST_WRONG} / chance",
                float(np.mean(lift)),
                "at least",
                10.0,
            ),
            Check(
                f"{name}: removed among the first {_FIRST_MISSING:,} missing / chance",
                float(np.mean(found)),
                "at least",
                10.0,
            ),
        ]
        if all("calibration_error" in one for one in wrong):  # results before 2026-11-18 have none
            error = float(np.mean([one["calibration_error"] for one in wrong]))
            text = f"{name}: expected calibration error of confidences above {_LIKELY:g}"
            checks.append(Check(text, error, "at most", 0.1, digits=3))
        rows += [
            (
                name,
                str(run["seed"]),
                f"{run['wrong']['auc']:.3f}",
                f"{run['wrong']['first']} ({run['wrong']['mean_confidence']:.2f})",
                f"{run['missing']['first']} of {run['missing']['looked_at']:,}",
                f"{run['wrong']['seconds']:.1f} s",
                f"{run['missing']['seconds']:.1f} s",
            )
            for run in runs
        ]
        notes.append(
            f"{name}: {facts['images']:,} images, {facts['labels']:,} labels, {facts['pairs']:,} pairs; "
            f"{100 * _WRONG:g} % wrong labels planted, each drawn from the labels its image lacks, or "
            f"{100 * _REMOVED:g} % of the labels removed. Preset `context`, trained on the audited pairs. In brackets: "
            "mean confidence of the first pairs. Wrong labels of the data set itself count as correct."
        )
    heads = ("data", "seed", "AUC", f"planted in first {_FIRST_WRONG}", "removed in first missing", "wrong", "missing")
    return Score(checks, [Table(heads, rows)], notes)


AUDIT = Benchmark(
    "audit",
    "The audit ranks wrong and missing labels first.",
    Sizes(),
    Sizes(("corel5k",), seeds=(0,), epochs=2),
    measure,
    score,
    measures=("curate/audit", "kernels", "label_weights", "presets", "train"),
    repetitions=lambda sizes: len(sizes.seeds),
)
