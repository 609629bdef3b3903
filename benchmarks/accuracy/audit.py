"""The audit: wrong labels that were planted, and labels that were taken away, are found again."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, say
from benchmarks.core.data_sets import real
from vse_ens.annotator import Annotator
from vse_ens.curate.decoys import random_absent
from vse_ens.curate.missing import likely_missing
from vse_ens.curate.wrong import Auditor, steps_of, wrong_confidences
from vse_ens.data.annotations import Annotations
from vse_ens.streams import Streams

_WRONG, _REMOVED = 0.02, 0.05
_FIRST_WRONG, _FIRST_MISSING = 100, 1_000


@dataclass(frozen=True)
class Sizes:
    """How much is measured; every seed plants and removes others."""

    real: tuple[str, ...] = ("iaprtc12",)
    seeds: tuple[int, ...] = (0, 1)
    epochs: int | None = None


def measure(sizes: Sizes) -> Raw:
    """Both kinds on every data set: the model is trained on the very pairs it audits."""
    found, skipped = real(sizes.real)
    sets: Raw = {}
    for name, data in found.items():
        sets[name] = {"images": len(data.images), "labels": len(data.labels), "pairs": data.pairs, "runs": []}
        for seed in sizes.seeds:
            say(f"{name}, seed {seed}: wrong labels planted, then labels removed")
            streams = Streams(seed).child("benchmark", "audit")
            runs = {
                "seed": seed,
                "wrong": _find_wrong(data, streams.child("wrong"), sizes.epochs),
                "missing": _find_missing(data, streams.child("missing"), sizes.epochs),
            }
            sets[name]["runs"].append(runs)
    return {"sets": sets, "skipped": skipped}


def plant(data: Annotations, share: float, streams: Streams) -> tuple[Annotations, NDArray[np.bool_]]:
    """Add wrong labels, ``share`` of the known ones, each drawn from what its image has not; and say which they are."""
    count = round(share * data.pairs)
    images = data.image_numbers()[_some(data.pairs, count, streams.child("images"))]
    labels = random_absent(data.rows(images), len(data.labels), streams.child("labels").uniforms(count))
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
    steps = steps_of(model.config_, model.training_["best_epoch"])
    confidences = wrong_confidences(Auditor(model.model_, noisy, steps))
    seconds = time.perf_counter() - began
    first = np.argsort(-confidences, kind="stable")[:_FIRST_WRONG]
    return {
        "pairs": noisy.pairs,
        "planted": int(planted.sum()),
        "auc": area_under_curve(confidences, planted),
        "first": int(planted[first].sum()),
        "mean_confidence": float(confidences[first].mean()),
        "seconds": seconds,
    }


def _find_missing(data: Annotations, streams: Streams, epochs: int | None) -> Raw:
    removed = np.zeros(data.pairs, bool)
    removed[_some(data.pairs, round(_REMOVED * data.pairs), streams)] = True
    rest = data.with_pairs(~removed)
    model = _fit(rest, epochs)
    began = time.perf_counter()
    found = likely_missing(model.model_, rest, _FIRST_MISSING)
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


def _some(among: int, count: int, streams: Streams) -> NDArray[np.int64]:
    return np.argsort(streams.words(among), kind="stable")[:count]


def _keys(data: Annotations) -> NDArray[np.int64]:
    return data.image_numbers().astype(np.int64) * len(data.labels) + data.indices


def area_under_curve(confidences: NDArray[np.float32], wrong: NDArray[np.bool_]) -> float:
    """How often a wrong one is surer than another; a tie counts half."""
    values, places = np.unique(confidences, return_inverse=True)
    below = np.concatenate([[0], np.cumsum(np.bincount(places[~wrong], minlength=len(values)))])
    standing = (below[:-1] + below[1:]) / 2
    return float(standing[places[wrong]].mean() / (~wrong).sum())


def score(raw: Raw) -> Score:
    """The means over seeds against the promises."""
    checks, rows, notes = [], [], []
    for name, facts in raw["sets"].items():
        runs = facts["runs"]
        wrong, missing = ([run[kind] for run in runs] for kind in ("wrong", "missing"))
        area = float(np.mean([one["auc"] for one in wrong]))
        richer = [one["first"] / _FIRST_WRONG / (one["planted"] / one["pairs"]) for one in wrong]
        found = [one["first"] / one["looked_at"] / (one["removed"] / one["absent"]) for one in missing]
        checks += [
            Check(f"{name}: area under the curve of likely wrong", area, "at least", 0.92, digits=3),
            Check(
                f"{name}: planted among the first {_FIRST_WRONG}, times chance",
                float(np.mean(richer)),
                "at least",
                10.0,
            ),
            Check(
                f"{name}: removed among the first {_FIRST_MISSING:,} missing, times chance",
                float(np.mean(found)),
                "at least",
                10.0,
            ),
        ]
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
            f"{100 * _WRONG:g} % more labels planted, each drawn from all that its image has not, or "
            f"{100 * _REMOVED:g} % removed. Preset `context` is trained on what is audited. In brackets the mean "
            "confidence of those first; labels that were wrong before anything was planted count as right."
        )
    heads = ("data", "seed", "area", f"planted in first {_FIRST_WRONG}", "removed in first missing", "wrong", "missing")
    return Score(checks, [Table(heads, rows)], notes)


AUDIT = Benchmark(
    "audit",
    "Of a data set with wrong and missing labels, the audit names these first.",
    Sizes(),
    Sizes(("corel5k",), seeds=(0,), epochs=2),
    measure,
    score,
)
