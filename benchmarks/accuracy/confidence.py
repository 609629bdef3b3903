"""Confidences where the truth is known: labels are removed from generated scenes, and suggested again."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from vse_ens.annotator import Annotator
from vse_ens.curate.suggest import Suggester
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.evaluate.reliability import BINS, binned_calibration_error, reliability
from vse_ens.streams import Streams

_LIMIT = 0.03
_TOP = 5
# No label loses more than this share of its images, so that it can be suggested at all.
_MOST_REMOVED = 0.95
_HEADS = {
    "hit": "hit",
    "estimated": "estimated",
    "given": "given",
    "by label": "given by label",
    "50": "50 verdicts",
    "200": "200 verdicts",
}


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    images: int = 5_000
    rates: tuple[float, ...] = (0.1, 0.3, 0.5)
    seeds: tuple[int, ...] = (10, 11, 12)
    """Seeds 0 to 2 were used while the estimate and the regression were developed."""
    draws: int = 10
    """Samples of verdicts per model."""
    epochs: int | None = None


def measure(sizes: Sizes) -> Raw:
    """Return the calibration errors of the first suggestions by kind and rate of removal, one list per method."""
    cases: Raw = {}
    for by_label in (False, True):
        for rate in sizes.rates:
            name = f"{100 * rate:g} % removed {'by label' if by_label else 'at random'}"
            for seed in sizes.seeds:
                log(f"{name}, seed {seed}")
                for method, value in _measure(sizes, rate, by_label, seed).items():
                    cases.setdefault(name, {}).setdefault(method, []).append(value)
    return {"cases": cases, "draws": sizes.draws, "images": sizes.images, "skipped": []}


def _measure(sizes: Sizes, rate: float, by_label: bool, seed: int) -> dict[str, float]:
    data = scenes(images=sizes.images, seed=seed)
    kept = data.with_pairs(~removed(data, rate, by_label, Streams(seed).child("benchmark", "confidence")))
    model = (Annotator() if sizes.epochs is None else Annotator(epochs=sizes.epochs)).fit(kept, progress=False)
    truth = np.zeros((len(data.images), len(data.labels)), np.bool_)
    truth[data.image_numbers(), data.indices] = True
    numbers = {label: number for number, label in enumerate(data.labels)}
    rows = {image: number for number, image in enumerate(data.images)}
    errors = {"hit": _error(model, truth, "held_out_probabilities"), "estimated": _error(model, truth)}
    completeness = model.calibration_.completeness if model.calibration_ else None
    found = {"completeness": kept.pairs / data.pairs, "estimate": completeness.mean if completeness else np.nan}
    for count in (50, 200):
        drawn = []
        for draw in range(sizes.draws):
            asked = model.calibrate().suggestions_to_judge(count, seed=draw)
            said = [(image, label, bool(truth[rows[image], numbers[label]])) for image, label, _ in asked]
            drawn.append(_error(model.calibrate(verdicts=said), truth))
        errors[str(count)] = mean(drawn)
    errors["given"] = _error(model.calibrate(completeness=found["completeness"]), truth)
    shares = kept.images_per_label / np.maximum(data.images_per_label, 1)
    known = {label: float(share) for label, share in zip(data.labels, shares, strict=True) if share > 0}
    errors["by label"] = _error(model.calibrate(completeness=known), truth)
    return errors | found


def removed(data: Annotations, rate: float, by_label: bool, streams: Streams) -> NDArray[np.bool_]:
    """Return the pairs to remove: of every label the same share, or of each label a random one with the same mean."""
    rates = np.full(len(data.labels), rate)
    if by_label:
        rates = np.minimum(2 * rate * streams.child("rates").uniforms(len(data.labels)), _MOST_REMOVED)
    return streams.child("pairs").uniforms(data.pairs) < rates[data.indices]


def _error(model: Annotator, truth: NDArray[np.bool_], field: str = "confidences") -> float:
    """Return the calibration error of the first suggestions of all images, labels being numbered as in the truth."""
    blocks = list(Suggester(model.loaded_, top=_TOP).suggest())
    labels = np.concatenate([block.labels for block in blocks])
    filled = labels >= 0
    right = truth[np.arange(len(labels))[:, None], labels]
    said = np.concatenate([getattr(block, field) for block in blocks])
    return binned_calibration_error(reliability(said[filled], right[filled]))


def score(raw: Raw) -> Score:
    """Return the mean errors of every case; the estimate must beat the hit, the others a fixed limit."""
    checks, rows = [], []
    for name, facts in raw["cases"].items():
        means = {method: mean(values) for method, values in facts.items()}
        known = "by label" if name.endswith("by label") else "given"
        checks += [
            Check(f"{name}, estimated / hit", means["estimated"] / means["hit"], "at most", 1.0),
            Check(f"{name}, completeness {_HEADS[known]}", means[known], "at most", _LIMIT, digits=3),
            Check(f"{name}, 200 verdicts", means["200"], "at most", _LIMIT, digits=3),
        ]
        shown = (f"{means['completeness']:.2f}", f"{means['estimate']:.2f}")
        rows.append((name, *shown, *(f"{means[method]:.3f}" for method in _HEADS)))
    note = (
        f"Generated scenes of {raw['images']:,} images; the labels that were removed are the truth. At random, every "
        "label loses the same share of its images; by label, each loses a random share between nothing and twice the "
        f"rate. Calibration error of the first {_TOP} suggestions of every image in {BINS} bins, as the mean over the "
        f"seeds and, for verdicts, over {raw['draws']} samples. The columns: the hit taken as a confidence; the "
        "completeness estimated from the pairs; given as one number; given for each label; estimated and corrected by "
        "verdicts. If labels differ that much in completeness, one number for all is not enough."
    )
    table = Table(("removed", "completeness", "estimate", *_HEADS.values()), rows)
    return Score(checks, [table], [note])


CONFIDENCE = Benchmark(
    "confidence",
    "A suggestion with a confidence of 0.3 is right in three of ten cases, also where labels are missing.",
    Sizes(),
    Sizes(300, (0.3,), (10,), draws=1, epochs=2),
    measure,
    score,
    measures=(
        "curate/verdict_calibration",
        "evaluate",
        "kernels",
        "label_weights",
        "model/completeness",
        "presets",
        "train",
    ),
    repetitions=lambda sizes: len(sizes.seeds),
    timed=False,
)
