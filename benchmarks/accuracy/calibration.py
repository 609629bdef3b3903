"""Calibration of confidences: the share of correct suggestions by confidence."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import real
from vse_ens.annotator import Annotator
from vse_ens.evaluate.reliability import BINS, Reliability, binned_calibration_error

_TOPS = (1, 5, 10)
_LIMIT = 0.03
# The table shows the bins for the default number of suggestions.
_SHOWN = "5"


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    real: tuple[str, ...] = ("iaprtc12", "mirflickr25k")
    seeds: tuple[int, ...] = (0, 1)
    """Seeds of the splits. The second was not used while the calibration was developed."""
    epochs: int | None = None


def measure(sizes: Sizes) -> Raw:
    """Return the reliability of the preset `context` on every data set."""
    found, skipped = real(sizes.real)
    sets: Raw = {}
    for name, data in found.items():
        for seed in sizes.seeds:
            log(f"context on {name}, split {seed}")
            split = data.leave_one_out(seed=seed)
            model = (Annotator() if sizes.epochs is None else Annotator(epochs=sizes.epochs)).fit(split.train)
            tops = {str(top): [asdict(one) for one in model.reliability(split.test, top=top)] for top in _TOPS}
            sets[f"{name}, split {seed}"] = {"images": len(split.test.images), "tops": tops}
    return {"sets": sets, "skipped": skipped}


def score(raw: Raw) -> Score:
    """Return the expected calibration error of the first suggestions, and their reliability by bin."""
    checks, rows = [], []
    for name, facts in raw["sets"].items():
        for top, found in facts["tops"].items():
            points = [Reliability(**one) for one in found]
            what = "first suggestion" if top == "1" else f"first {top} suggestions"
            checks.append(
                Check(
                    f"{name}: calibration error of the {what}",
                    binned_calibration_error(points),
                    "at most",
                    _LIMIT,
                    digits=4,
                )
            )
            rows += [
                (name, top, f"{one.count:,}", f"{one.confidence:.3f}", f"{one.right:.3f}")
                for one in points
                if top == _SHOWN
            ]
    note = (
        "Leave-one-out: a suggestion is correct if it is the held-out label. The expected calibration error is the "
        f"mean distance between confidence and share of correct suggestions over {BINS} bins of about equal size."
    )
    table = Table(("data", "first", "suggestions", "mean confidence", "share correct"), rows)
    return Score(checks, [table], [note])


CALIBRATION = Benchmark(
    "calibration",
    "Of suggestions with a confidence of 0.3, three in ten are correct.",
    Sizes(),
    Sizes(("corel5k",), (0,), epochs=3),
    measure,
    score,
    measures=("evaluate", "kernels", "label_weights", "presets", "train"),
    repetitions=lambda sizes: len(sizes.seeds),
    timed=False,
)
