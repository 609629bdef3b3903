"""Confidences: whether suggestions are right as often as the model says."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, say
from benchmarks.core.data_sets import real
from vse_ens.annotator import Annotator
from vse_ens.evaluate.reliability import BINS, Reliability, mean_distance

_TOPS = (1, 5, 10)
_LIMIT = 0.03
# Of which number of suggestions the table shows the bins: what `annotate` gives by default.
_SHOWN = "5"


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
            split = data.leave_one_out(seed=seed)
            model = (Annotator() if sizes.epochs is None else Annotator(epochs=sizes.epochs)).fit(split.train)
            tops = {str(top): [asdict(one) for one in model.reliability(split.test, top=top)] for top in _TOPS}
            sets[f"{name}, split {seed}"] = {"images": len(split.test.images), "tops": tops}
    return {"sets": sets, "skipped": skipped}


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
