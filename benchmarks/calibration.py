"""Confidences: whether suggestions are right as often as the model says."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.benchmark import Benchmark, Check, Raw, Score, Table, say
from benchmarks.data_sets import real
from vse_ens.config import configure
from vse_ens.data.annotations import Split
from vse_ens.data.rows import Rows
from vse_ens.evaluate.calibrator import without
from vse_ens.evaluate.reliability import BINS, Reliability, mean_distance, reliability
from vse_ens.model.ranking import top_labels
from vse_ens.train.trainer import Trainer

_TOPS = (1, 5, 10)
_LIMIT = 0.03
# Of which number of suggestions the table shows the bins: what `annotate` gives by default.
_SHOWN = "5"
_BLOCK = 512


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    real: tuple[str, ...] = ("iaprtc12", "mirflickr25k")
    seeds: tuple[int, ...] = (0, 1)
    """Of the splits; the second was never looked at while confidences were made what they are."""
    epochs: int | None = None


def measure(sizes: Sizes) -> Raw:
    """The preset `context` on every data set."""
    found, skipped = real(sizes.real)
    sets: Raw = {}
    for name, data in found.items():
        for seed in sizes.seeds:
            say(f"context on {name}, split {seed}")
            confidences, hits = _suggest(data.leave_one_out(seed=seed), sizes.epochs)
            sets[f"{name}, split {seed}"] = {
                "images": len(hits),
                "tops": {
                    str(top): [asdict(one) for one in reliability(confidences[:, :top], hits[:, :top])] for top in _TOPS
                },
            }
    return {"sets": sets, "skipped": skipped}


def _suggest(split: Split, epochs: int | None) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The confidences of the best suggestions of every image with a held-out label, and which are that label."""
    trainer = Trainer(configure("context").override(epochs=epochs), split.train)
    for _ in trainer.epochs():
        pass
    calibration, model = trainer.calibration, trainer.model
    if calibration is None:
        raise ValueError("confidence is learnt where labels are held out")
    images = np.flatnonzero(split.test.labels_per_image)
    confidences, hits = [], []
    for first in range(0, len(images), _BLOCK):
        block = images[first : first + _BLOCK]
        scores = without(model.scores(block, split.train), Rows(*split.train.rows(block)))
        labels, found = top_labels(scores, max(_TOPS))
        counts = split.train.labels_per_image[block]
        totals = calibration.log_totals(scores, counts)
        confidences.append(calibration.confidences(found, totals[:, None], counts[:, None]))
        hits.append(labels == split.test.indices[first : first + _BLOCK, None])
    return np.concatenate(confidences), np.concatenate(hits)


def score(raw: Raw) -> Score:
    """The expected calibration error of the first suggestions, and the reliability of the default number of them."""
    checks, rows = [], []
    for name, facts in raw["sets"].items():
        for top, found in facts["tops"].items():
            points = [Reliability(**one) for one in found]
            what = "first suggestion" if top == "1" else f"first {top} suggestions"
            checks.append(Check(f"{name}: error of the {what}", mean_distance(points), "at most", _LIMIT, digits=4))
            rows += [
                (name, top, f"{one.count:,}", f"{one.confidence:.3f}", f"{one.right:.3f}")
                for one in points
                if top == _SHOWN
            ]
    note = (
        "Leave-one-out: right is a suggestion that is the held-out label. Error: the expected calibration "
        f"error, the mean distance of confidence and part that was right over {BINS} bins of about as many suggestions "
        "each."
    )
    table = Table(("data", "first", "suggestions", "mean confidence", "right"), rows)
    return Score(checks, [table], [note])


CALIBRATION = Benchmark(
    "calibration",
    "Of suggestions with a confidence of 0.3, three in ten are right.",
    Sizes(),
    Sizes(("corel5k",), (0,), epochs=3),
    measure,
    score,
)
